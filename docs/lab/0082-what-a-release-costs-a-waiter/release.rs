//! What a release costs a waiter (0082): a copy of std's mutex, with its release as a parameter, beside ours, std's and
//! parking_lot's.
//!
//! In the project's folder: `cargo new ../release && cd ../release && cargo add parking_lot@0.13 libc`, and `cargo add
//! --path` with the project's `crates/turnwise`; `[features] random = []` in its Cargo.toml; this file as `src/main.rs`;
//! `cargo run --release -- THREADS INSIDE_NS OUTSIDE_NS [PERCENT]`. With `--features random` each thread draws a random
//! number for each section, and lengths vary evenly by PERCENT either way.
use std::arch::asm;
use std::cell::UnsafeCell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// What a lock protects: a count, its copy, the seed of the work inside, the thread that had it last, and how often that
/// changed.
#[derive(Default)]
struct Data([u64; 5]);

#[inline(never)]
fn work(seed: u64, steps: u32) -> u64 {
    (0..steps).fold(seed | 1, |x, _| (x ^ (x >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Steps of `work` that take so long.
fn steps(ns: f64) -> u32 {
    let time = || {
        let start = Instant::now();
        black_box(work(1, black_box(1_000_000)));
        start.elapsed().as_nanos() as f64 / 1e6
    };
    (ns / (0..20).map(|_| time()).fold(f64::INFINITY, f64::min)) as u32
}

trait Lock: Send + Sync + 'static {
    fn new() -> Self;
    fn with(&self, section: impl FnOnce(&mut Data));
}

macro_rules! lock {
    ($lock:ty, $guard:ident => $locked:expr) => {
        impl Lock for $lock {
            fn new() -> Self {
                <$lock>::new(Data::default())
            }
            #[inline(always)]
            fn with(&self, section: impl FnOnce(&mut Data)) {
                let $guard = self;
                section(&mut $locked);
            }
        }
    };
}
lock!(turnwise::Mutex<Data>, lock => lock.lock());
lock!(std::sync::Mutex<Data>, lock => lock.lock().unwrap());
lock!(parking_lot::Mutex<Data>, lock => lock.lock());

const XCHG: u32 = 0;
const AND: u32 = 1;
const XADD: u32 = 2;
const CMPXCHG: u32 = 3;
const AND_REGISTER: u32 = 4;

/// 0: free, 1: taken, 2: taken, and somebody sleeps.
#[repr(C)]
struct Copy<const RELEASE: u32>(AtomicU32, UnsafeCell<Data>);
// SAFETY: `with` lets one thread at a time in.
unsafe impl<const RELEASE: u32> Sync for Copy<RELEASE> {}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    // SAFETY: the word is borrowed; no time-out.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation | libc::FUTEX_PRIVATE_FLAG,
            value,
            0_usize,
        )
    };
}

#[cold]
#[inline(never)]
fn wait(word: &AtomicU32) {
    let look = || {
        (0..100).find_map(|_| {
            Some(word.load(Relaxed)).filter(|v| {
                *v != 1 || {
                    spin_loop();
                    false
                }
            })
        })
    };
    let mut found = look().unwrap_or(1);
    if found == 0 {
        match word.compare_exchange(0, 1, Acquire, Relaxed) {
            Ok(_) => return,
            Err(other) => found = other,
        }
    }
    while found == 2 || word.swap(2, Acquire) != 0 {
        futex(word, libc::FUTEX_WAIT, 2);
        found = look().unwrap_or(1);
    }
}

impl<const RELEASE: u32> Lock for Copy<RELEASE> {
    fn new() -> Self {
        Copy(AtomicU32::new(0), UnsafeCell::default())
    }

    #[inline(always)]
    fn with(&self, section: impl FnOnce(&mut Data)) {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            wait(&self.0);
        }
        // SAFETY: the lock is held.
        section(unsafe { &mut *self.1.get() });
        let sleeps = match RELEASE {
            XCHG => self.0.swap(0, Release) == 2,
            XADD => self.0.fetch_sub(1, Release) == 2,
            CMPXCHG => self.0.compare_exchange(1, 0, Release, Relaxed).is_err(),
            _ => {
                let left: u8;
                // SAFETY: an atomic operation on a word of ours.
                unsafe {
                    if RELEASE == AND {
                        asm!("lock and dword ptr [{}], -2", "setne {}", in(reg) self.0.as_ptr(), out(reg_byte) left);
                    } else {
                        asm!("lock and dword ptr [{}], {:e}", "setne {}", in(reg) self.0.as_ptr(), in(reg) -2_i32, out(reg_byte) left);
                    }
                }
                left != 0
            }
        };
        if sleeps {
            if RELEASE != XCHG {
                self.0.store(0, Release);
            }
            futex(&self.0, libc::FUTEX_WAKE, 1);
        }
    }
}

#[repr(align(128))]
struct Apart<T>(T);

/// How much lengths vary, in 256ths.
static VARIES: AtomicU32 = AtomicU32::new(0);

/// About this many steps.
#[inline(always)]
fn about(random: &mut u32, steps: u32) -> u32 {
    if cfg!(not(feature = "random")) {
        return steps;
    }
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    let varies = VARIES.load(Relaxed);
    (steps * (256 - varies + ((*random >> 16) * 2 * varies >> 16))) >> 8
}

/// Nanoseconds for an operation, and how many of a thousand came after another thread's.
fn run<L: Lock>(threads: usize, inside: u32, outside: u32) -> (f64, u64) {
    let shared = Arc::new((
        Apart(L::new()),
        Apart(AtomicBool::new(false)),
        Barrier::new(threads + 1),
    ));
    let threads: Vec<_> = (0..threads)
        .map(|number| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                let (lock, stop, barrier) = &*shared;
                barrier.wait();
                let (mut count, mut own, mut random) = (0_u64, 1, number as u32 * 77 + 1);
                while !stop.0.load(Relaxed) {
                    lock.0.with(|Data(data)| {
                        let before = data[0];
                        data[2] = work(data[2], about(&mut random, inside));
                        let data = black_box(data);
                        data[0] = before + 1;
                        data[1] += 1;
                        data[4] += u64::from(data[3] != number as u64);
                        data[3] = number as u64;
                    });
                    own = black_box(work(own, black_box(about(&mut random, outside))));
                    count += 1;
                }
                count
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(2));
    let start = Instant::now();
    shared.2.wait();
    std::thread::sleep(Duration::from_millis(30));
    shared.1.0.store(true, Relaxed);
    let count: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let ns = start.elapsed().as_nanos() as f64 / count as f64;
    let mut changes = 0;
    shared.0.0.with(|Data(data)| changes = data[4]);
    (ns, changes * 1000 / count)
}

fn main() {
    let words: Vec<f64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (threads, inside, outside) = (words[0] as usize, steps(words[1]), steps(words[2]));
    VARIES.store((words.get(3).unwrap_or(&0.0) * 2.56) as u32, Relaxed);
    let locks: [(&str, fn(usize, u32, u32) -> (f64, u64)); 8] = [
        ("mutex", run::<turnwise::Mutex<Data>>),
        ("std", run::<std::sync::Mutex<Data>>),
        ("parking_lot", run::<parking_lot::Mutex<Data>>),
        ("copy, xchg", run::<Copy<XCHG>>),
        ("copy, lock and", run::<Copy<AND>>),
        ("copy, lock xadd", run::<Copy<XADD>>),
        ("copy, lock cmpxchg", run::<Copy<CMPXCHG>>),
        ("copy, lock and by register", run::<Copy<AND_REGISTER>>),
    ];
    let mut all = vec![Vec::new(); locks.len()];
    for _ in 0..25 {
        for (of_lock, (_, run)) in all.iter_mut().zip(&locks) {
            of_lock.push(run(threads, inside, outside));
        }
    }
    for (mut of_lock, (name, _)) in all.into_iter().zip(&locks) {
        of_lock.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [low, middle, high] = [6, 12, 18].map(|n| of_lock[n].0);
        println!(
            "{name:28} {middle:6.1} [{low:.1}, {high:.1}] ns, {} of 1000 after another thread",
            of_lock[12].1
        );
    }
}
