//! Threads that take a lock again and again, with builds of the crate side by side, and what a hand-over takes.
//!
//! `hand-overs 'std;pl;tw;new;new2;mcs' 'KIND,THREADS,INSIDE_NS,OUTSIDE_NS,READS;...' ROUNDS MS`: the first two are the
//! peers, and `tw` is what others are compared with. In a crate that depends on `parking_lot`, and on `turnwise` as of
//! three trees: `turnwise`, `turnwise_new` and `turnwise_new2`, whose versions must differ, since a lock file names
//! packages by version. A hand-over is what passes from the last tick of one owner's section to the
//! first of the next one's; `others` is what else used the CPUs meanwhile.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What the lock guards.
#[repr(align(128))]
struct Data {
    x: u64,
    left: u64,
    by: usize,
}
thread_local! {
    static HAND: std::cell::Cell<(u64, u64, u64)> = const { std::cell::Cell::new((0, 0, 0)) };
}
static HANDS: [std::sync::atomic::AtomicU64; 3] = [const { std::sync::atomic::AtomicU64::new(0) }; 3];
static PROBE: AtomicBool = AtomicBool::new(false);
fn tsc() -> u64 {
    // SAFETY: every x86-64 CPU has the instructions.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}
fn inside_of(d: &mut Data, steps: u32) {
    if !PROBE.load(Relaxed) {
        d.x = work(d.x, steps);
        return;
    }
    let me = HAND.with(|h| h.as_ptr() as usize);
    let now = tsc();
    let (mut n, mut t, mut own) = HAND.get();
    if d.by == me {
        own += 1
    } else if d.by != 0 {
        n += 1;
        t += now.saturating_sub(d.left).min(1_000_000)
    }
    HAND.set((n, t, own));
    d.x = work(d.x, steps);
    d.by = me;
    d.left = tsc();
}

#[inline(never)]
fn work(seed: u64, steps: u32) -> u64 {
    (0..steps).fold(seed | 1, |x, _| (x ^ (x >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// How many steps of [`work`] take so long.
fn steps(ns: u64) -> u32 {
    static PER_STEP: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    let once = || {
        let begin = Instant::now();
        black_box(work(black_box(1), black_box(100_000)));
        begin.elapsed().as_nanos() as f64 / 100_000.0
    };
    let per = PER_STEP.get_or_init(|| {
        // All CPUs busy, as they will be.
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 1..std::thread::available_parallelism().unwrap().get() {
                scope.spawn(|| {
                    while !stop.load(Relaxed) {
                        black_box(work(1, 1000));
                    }
                });
            }
            let mut all: Vec<f64> = (0..400).map(|_| once()).collect();
            stop.store(true, Relaxed);
            all.sort_by(f64::total_cmp);
            println!("a step takes {:.3} ns, least {:.3}", all[200], all[0]);
            all[200]
        })
    });
    (ns as f64 / per) as u32
}

#[derive(Clone, Copy)]
struct Cell {
    threads: u64,
    inside: u32,
    outside: u32,
    reads: u64,
    time: Duration,
}

struct Sample {
    ns: f64,
    cpu_ns: f64,
    fairness: f64,
    longest_us: f64,
}

fn cpu_ns() -> f64 {
    let mut time = [0_i64; 2];
    // SAFETY: as POSIX declares it.
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    // SAFETY: 2 is CLOCK_PROCESS_CPUTIME_ID, and a timespec is two numbers of 64 bits here.
    unsafe { clock_gettime(2, &raw mut time) };
    time[0] as f64 * 1e9 + time[1] as f64
}

type Section<'a> = Box<dyn Fn(u32, bool) + Sync + 'a>;

/// What one thread does until `stop`: how many operations, and the longest wait if it is `timed`.
fn run(section: &Section<'_>, cell: Cell, stop: &AtomicBool, seed: u64, timed: bool) -> (u64, Duration) {
    let (mut count, mut x, mut longest, mut choice) = (0, 1, Duration::ZERO, seed);
    while !stop.load(Relaxed) {
        choice = choice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let read = (choice >> 33) % 100 < cell.reads;
        let begin = timed.then(Instant::now);
        section(cell.inside, read);
        longest = longest.max(begin.map_or(Duration::ZERO, |begin| begin.elapsed()));
        x = work(x, cell.outside);
        count += 1;
    }
    black_box(x);
    let (n, t, own) = HAND.get();
    for (sum, v) in HANDS.iter().zip([n, t, own]) {
        sum.fetch_add(v, Relaxed);
    }
    (count, longest)
}

fn sample(section: &Section<'_>, cell: Cell, timed: bool) -> Sample {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(cell.threads as usize + 1));
    std::thread::scope(|scope| {
        let (stop, start) = (&stop, &start);
        let thread = |seed| {
            scope.spawn(move || {
                start.wait();
                run(section, cell, stop, seed, timed)
            })
        };
        let all: Vec<_> = (0..cell.threads).map(thread).collect();
        start.wait();
        let (begin, cpu) = (Instant::now(), cpu_ns());
        std::thread::sleep(cell.time);
        stop.store(true, Relaxed);
        let (took, cpu) = (begin.elapsed().as_nanos() as f64, cpu_ns() - cpu);
        let results: Vec<_> = all.into_iter().map(|thread| thread.join().unwrap()).collect();
        let counts = || results.iter().map(|(count, _)| *count as f64);
        let (least, most) = (counts().fold(f64::MAX, f64::min), counts().fold(0.0, f64::max));
        let sum: f64 = counts().sum();
        let longest = results.iter().map(|(_, longest)| *longest).max().unwrap();
        Sample { ns: took / sum, cpu_ns: cpu / sum, fairness: least / most, longest_us: longest.as_secs_f64() * 1e6 }
    })
}

fn subject(name: &str, rw: bool) -> Section<'static> {
    let data = || Data { x: 1, left: 0, by: 0 };
    let read = |d: &Data, inside| drop(black_box(work(d.x, inside)));
    match (name, rw) {
        ("std", true) => {
            let l = std::sync::RwLock::new(data());
            Box::new(move |i, r| if r { read(&l.read().unwrap(), i) } else { inside_of(&mut l.write().unwrap(), i) })
        }
        ("std", false) => {
            let l = std::sync::Mutex::new(data());
            Box::new(move |i, _| inside_of(&mut l.lock().unwrap(), i))
        }
        ("pl", true) => {
            let l = parking_lot::RwLock::new(data());
            Box::new(move |i, r| if r { read(&l.read(), i) } else { inside_of(&mut l.write(), i) })
        }
        ("pl", false) => {
            let l = parking_lot::Mutex::new(data());
            Box::new(move |i, _| inside_of(&mut l.lock(), i))
        }
        ("mcs", _) => {
            let l = turnwise::McsLock::new(data());
            Box::new(move |i, _| l.with(|d| inside_of(d, i)))
        }
        ("new", true) => {
            let l = turnwise_new::RwLock::new(data());
            Box::new(move |i, r| if r { read(&l.read(), i) } else { inside_of(&mut l.write(), i) })
        }
        ("new", false) => {
            let l = turnwise_new::Mutex::new(data());
            Box::new(move |i, _| inside_of(&mut l.lock(), i))
        }
        ("new2", true) => {
            let l = turnwise_new2::RwLock::new(data());
            Box::new(move |i, r| if r { read(&l.read(), i) } else { inside_of(&mut l.write(), i) })
        }
        ("new2", false) => {
            let l = turnwise_new2::Mutex::new(data());
            Box::new(move |i, _| inside_of(&mut l.lock(), i))
        }
        (_, true) => {
            let l = turnwise::RwLock::new(data());
            Box::new(move |i, r| if r { read(&l.read(), i) } else { inside_of(&mut l.write(), i) })
        }
        (_, false) => {
            let l = turnwise::Mutex::new(data());
            Box::new(move |i, _| inside_of(&mut l.lock(), i))
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(cell: Cell, rw: bool, names: &[String], rounds: usize) {
    let subjects: Vec<_> = names.iter().map(|n| (n.as_str(), subject(n, rw))).collect();
    let mut found: Vec<Vec<(Sample, f64)>> = subjects.iter().map(|_| vec![]).collect();
    let mut hands = vec![[0_u64; 3]; subjects.len()];
    for round in 0..rounds {
        for place in (0..subjects.len()).map(|place| (place * 11 + round * 3) % subjects.len()) {
            let (_, section) = &subjects[place];
            let untimed = sample(section, cell, false);
            HANDS.iter().for_each(|h| h.store(0, Relaxed));
            PROBE.store(true, Relaxed);
            let timed = sample(section, Cell { time: cell.time / 2, ..cell }, true);
            PROBE.store(false, Relaxed);
            for (sum, h) in hands[place].iter_mut().zip(&HANDS) {
                *sum += h.load(Relaxed);
            }
            found[place].push((untimed, timed.longest_us));
        }
    }
    let ours = names.iter().position(|n| n.starts_with("tw")).unwrap();
    let best = |round: usize| found[..2].iter().map(|peer| peer[round].0.ns).fold(f64::MAX, f64::min);
    for (((name, _), rows), [n, t, own]) in subjects.iter().zip(&found).zip(&hands) {
        let ratio = |q: usize| {
            let mut r: Vec<f64> = (0..rounds).map(|k| found[ours][k].0.ns / rows[k].0.ns).collect();
            r.sort_by(f64::total_cmp);
            r[(rounds * q / 4).min(rounds - 1)]
        };
        println!(
            "  {name:34} {:7.0} ns | vs peer {:.3} | vs tw {:.3} ({:.2}-{:.2}) | f{:.2} CPU {:.0} w{:.0} \
             | hand-over {:.0} ticks, own {:.2}",
            median(rows.iter().map(|(s, _)| s.ns)),
            median(rows.iter().enumerate().map(|(r, (s, _))| best(r) / s.ns)),
            ratio(2),
            ratio(1),
            ratio(3),
            median(rows.iter().map(|(s, _)| s.fairness)),
            median(rows.iter().map(|(s, _)| s.cpu_ns)),
            median(rows.iter().map(|(_, l)| *l)),
            *t as f64 / (*n).max(1) as f64,
            *own as f64 / (*own + *n).max(1) as f64
        );
    }
}

/// Busy seconds of the machine, stolen ones, own ones, and the clock.
fn busy() -> (f64, f64, f64, f64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let v: Vec<f64> =
        text.lines().next().unwrap().split_whitespace().skip(1).map(|w| w.parse::<f64>().unwrap() / 100.0).collect();
    let clock: f64 =
        std::fs::read_to_string("/proc/uptime").unwrap().split_whitespace().next().unwrap().parse().unwrap();
    (v[0] + v[1] + v[2] + v[5] + v[6], v[7], cpu_ns() / 1e9, clock)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<String> = words[0].split(';').map(String::from).collect();
    let time = Duration::from_millis(words[3].parse().unwrap());
    println!("line {} ns", <turnwise::platform::DefaultPlatform as turnwise::platform::Platform>::line_ns());
    for text in words[1].split(';') {
        println!("{text}");
        let mut parts = text.split(',');
        let rw = parts.next() == Some("rw");
        let [threads, inside, outside, reads] =
            std::array::from_fn(|_| parts.next().map_or(0, |number| number.parse().unwrap()));
        let cell = Cell { threads, inside: steps(inside), outside: steps(outside), reads, time };
        let before = busy();
        compare(cell, rw, &names, words[2].parse().unwrap());
        let after = busy();
        let (all, steal, own) = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
        println!(
            "  others {:.1}% of 2 CPUs, steal {:.1}%",
            (all - own) * 50.0 / (after.3 - before.3),
            steal * 50.0 / (after.3 - before.3)
        );
    }
    println!("line {} ns", <turnwise::platform::DefaultPlatform as turnwise::platform::Platform>::line_ns());
}
