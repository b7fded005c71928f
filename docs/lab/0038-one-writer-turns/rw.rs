//! rw LOCK WRITERS READERS INSIDE OUTSIDE MS: operations, the writers' share and CPU time, after 0.3 s of warm-up.
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::{Builder, scope, sleep};
use std::time::{Duration, Instant};

trait Lock: Sync {
    fn read(&self, inside: u64);
    fn write(&self, inside: u64);
}

macro_rules! lock {
    ($type:ty, |$it:ident| $read:expr, $write:expr) => {
        impl Lock for $type {
            #[inline(always)]
            fn read(&self, inside: u64) {
                let $it = self;
                let guard = $read;
                black_box(guard.iter().sum::<u64>());
                work(inside);
            }

            #[inline(always)]
            fn write(&self, inside: u64) {
                let $it = self;
                let mut guard = $write;
                black_box(&mut *guard).iter_mut().for_each(|word| *word += 1);
                work(inside);
            }
        }
    };
}

lock!(turnwise::RwSem<[u64; 4]>, |lock| lock.read(), lock.write());
lock!(turnwise::Mutex<[u64; 4]>, |lock| lock.lock(), lock.lock());
lock!(parking_lot::RwLock<[u64; 4]>, |lock| lock.read(), lock.write());
lock!(std::sync::RwLock<[u64; 4]>, |lock| lock.read().unwrap(), lock.write().unwrap());

fn work(steps: u64) {
    (0..steps).for_each(|step| _ = black_box(step));
}

/// The calling thread's CPU time and its switches, voluntary and not.
fn usage() -> [f64; 3] {
    // SAFETY: a struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it is alive.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    [seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nvcsw as f64, usage.ru_nivcsw as f64]
}

static PHASE: AtomicU32 = AtomicU32::new(0);

/// One thread: its operations in phase 1, and what it used in it.
fn run(start: &Barrier, operation: impl Fn()) -> [f64; 4] {
    start.wait();
    let (mut count, mut measured, mut before) = (0_u64, false, [0.0; 3]);
    loop {
        match PHASE.load(Relaxed) {
            1 if !measured => (measured, count, before) = (true, 0, usage()),
            2 => break,
            _ => {}
        }
        operation();
        count += 1;
    }
    let after = usage();
    [count as f64, after[0] - before[0], after[1] - before[1], after[2] - before[2]]
}

fn measure(lock: &impl Lock, [writers, readers, inside, outside, ms]: [u64; 5]) {
    let start = Barrier::new((writers + readers) as usize + 1);
    let (results, seconds) = scope(|scope| {
        let threads: Vec<_> = (0..writers + readers)
            .map(|n| {
                let name = if n < writers { "writer".to_string() } else { format!("r{n}") };
                let start = &start;
                let body = move || {
                    run(start, || {
                        if n < writers {
                            lock.write(inside)
                        } else {
                            lock.read(inside)
                        }
                        work(outside);
                    })
                };
                Builder::new().name(name).spawn_scoped(scope, body).unwrap()
            })
            .collect();
        start.wait();
        sleep(Duration::from_millis(300));
        let begin = Instant::now();
        PHASE.store(1, Relaxed);
        sleep(Duration::from_millis(ms));
        let seconds = begin.elapsed().as_secs_f64();
        PHASE.store(2, Relaxed);
        (threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>(), seconds)
    });
    let (of_writers, of_readers) = results.split_at(writers as usize);
    let sum = |of: &[[f64; 4]], n: usize| of.iter().map(|thread| thread[n]).sum::<f64>();
    let (writes, reads) = (sum(of_writers, 0), sum(of_readers, 0));
    let share = writes / (writes + reads) * (writers + readers) as f64 / writers as f64;
    println!(
        "reads {:.2} writes {:.3} share {share:.3} wcpu {:.3} wvol {} winv {} rvol {} rinv {} ",
        reads / seconds / 1e6,
        writes / seconds / 1e6,
        sum(of_writers, 1) / seconds,
        sum(of_writers, 2),
        sum(of_writers, 3),
        sum(of_readers, 2),
        sum(of_readers, 3),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers = std::array::from_fn(|n| arguments[n + 1].parse().expect("a number"));
    match arguments[0].as_str() {
        "ours" => measure(&turnwise::RwSem::new([0; 4]), numbers),
        "mutex" => measure(&turnwise::Mutex::new([0; 4]), numbers),
        "parking_lot" => measure(&parking_lot::RwLock::new([0; 4]), numbers),
        "std" => measure(&std::sync::RwLock::new([0; 4]), numbers),
        other => panic!("no lock {other}"),
    }
}
