//! Threads that take a lock again and again: ours under policies, std's and parking_lot's, in turn in one process.
//!
//! `loop 'NAME=VALUE ...;...' 'KIND,THREADS,INSIDE_NS,OUTSIDE_NS,READS;...' ROUNDS MS`: KIND is `mutex` or `rw`, READS
//! of 100 operations read. In a crate that depends on `turnwise` with feature `set-policy` and on `parking_lot`.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::wait::{Field, Policy, set_policy};

#[inline(never)]
fn work(seed: u64, steps: u32) -> u64 {
    (0..steps).fold(seed | 1, |x, _| (x ^ (x >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// How many steps of [`work`] take so long.
fn steps(ns: u64) -> u32 {
    let once = |_| {
        let begin = Instant::now();
        black_box(work(black_box(1), black_box(100_000)));
        begin.elapsed().as_nanos() as f64 / 100_000.0
    };
    (ns as f64 / (0..10).map(once).fold(f64::MAX, f64::min)) as u32
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

fn peers(rw: bool) -> [(String, Section<'static>); 2] {
    use parking_lot::{Mutex, RwLock};
    let names = ["std", "parking_lot"].map(String::from);
    let sections: [Section<'static>; 2] = if rw {
        let (std, other) = (std::sync::RwLock::new(1), RwLock::new(1));
        [
            Box::new(move |inside, read| match read {
                true => drop(black_box(work(*std.read().unwrap(), inside))),
                false => std.write().map(|mut data| *data = work(*data, inside)).unwrap(),
            }),
            Box::new(move |inside, read| match read {
                true => drop(black_box(work(*other.read(), inside))),
                false => Some(other.write()).map(|mut data| *data = work(*data, inside)).unwrap(),
            }),
        ]
    } else {
        let (std, other) = (std::sync::Mutex::new(1), Mutex::new(1));
        [
            Box::new(move |inside, _| std.lock().map(|mut data| *data = work(*data, inside)).unwrap()),
            Box::new(move |inside, _| Some(other.lock()).map(|mut data| *data = work(*data, inside)).unwrap()),
        ]
    };
    let mut both = names.into_iter().zip(sections);
    [both.next().unwrap(), both.next().unwrap()]
}

fn ours(rw: bool) -> Section<'static> {
    if rw {
        let lock = turnwise::RwLock::new(1_u64);
        Box::new(move |inside, read| match read {
            true => drop(black_box(work(*lock.read(), inside))),
            false => Some(lock.write()).map(|mut data| *data = work(*data, inside)).unwrap(),
        })
    } else {
        let lock = turnwise::Mutex::new(1_u64);
        Box::new(move |inside, _| Some(lock.lock()).map(|mut data| *data = work(*data, inside)).unwrap())
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(cell: Cell, rw: bool, policies: &[(String, &'static Policy)], rounds: usize) {
    let peers = peers(rw).into_iter().map(|(name, section)| (name, None, section));
    let ours = policies.iter().map(|(name, policy)| (name.clone(), Some(*policy), ours(rw)));
    let subjects: Vec<_> = peers.chain(ours).collect();
    let mut found: Vec<Vec<(Sample, f64)>> = subjects.iter().map(|_| vec![]).collect();
    for round in 0..rounds {
        for place in (0..subjects.len()).map(|place| (place + round) % subjects.len()) {
            let (_, policy, section) = &subjects[place];
            policy.into_iter().for_each(|policy| set_policy(policy));
            let untimed = sample(section, cell, false);
            let timed = sample(section, Cell { time: cell.time / 2, ..cell }, true);
            found[place].push((untimed, timed.longest_us));
        }
    }
    let best = |round: usize| found[..2].iter().map(|peer| peer[round].0.ns).fold(f64::MAX, f64::min);
    println!("  best peer: {:.3} ns", median((0..rounds).map(best)));
    for ((name, ..), found) in subjects.iter().zip(&found) {
        println!(
            "  {name} speed {:.3}, fairness {:.2}, CPU {:.0} ns/op, longest wait {:.0} us",
            median(found.iter().enumerate().map(|(round, (sample, _))| best(round) / sample.ns)),
            median(found.iter().map(|(sample, _)| sample.fairness)),
            median(found.iter().map(|(sample, _)| sample.cpu_ns)),
            median(found.iter().map(|(_, longest)| *longest)),
        );
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let policy = |text: &str| {
        let mut policy = Policy::DEFAULT;
        for (name, value) in text.split_whitespace().map(|set| set.split_once('=').unwrap()) {
            Field::named(name).unwrap().set(&mut policy, value.parse().unwrap()).unwrap();
        }
        (format!("ours {text}"), &*Box::leak(Box::new(policy)))
    };
    let policies: Vec<_> = words[0].split(';').map(policy).collect();
    let time = Duration::from_millis(words[3].parse().unwrap());
    for text in words[1].split(';') {
        println!("{text}");
        let mut parts = text.split(',');
        let rw = parts.next() == Some("rw");
        let [threads, inside, outside, reads] =
            std::array::from_fn(|_| parts.next().map_or(0, |number| number.parse().unwrap()));
        let cell = Cell { threads, inside: steps(inside), outside: steps(outside), reads, time };
        compare(cell, rw, &policies, words[2].parse().unwrap());
    }
}
