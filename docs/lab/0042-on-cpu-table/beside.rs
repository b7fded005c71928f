//! One mutex beside busy processes: `beside THREADS BUSY pinned|free INSIDE_NS OUTSIDE_NS MS`. Prints nanoseconds for
//! an operation of all threads, the 50th, 99th and 99.9th percentile and the longest of the waits (us), fairness, and
//! CPU time of the threads for an operation (ns).

use std::process::{Child, Command};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::Mutex;

static LOCK: Mutex<u64> = Mutex::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

fn work(iterations: u64, mut x: u64) -> u64 {
    for _ in 0..iterations {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    x
}

/// Iterations of `work` in 1000 ns.
fn speed() -> u64 {
    let fastest = (0..50).map(|_| {
        let begin = Instant::now();
        work(10_000, 1);
        begin.elapsed().as_nanos() as u64
    });
    10_000_000 / fastest.min().unwrap_or(1).max(1)
}

fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the result is writable.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn busy(number: usize, pinned: bool) -> Child {
    let mut command = if pinned { Command::new("taskset") } else { Command::new("sh") };
    if pinned {
        command.args(["-c", &(number % 2).to_string(), "sh"]);
    }
    command.args(["-c", "while :; do :; done"]).spawn().expect("a busy process")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| args[n].parse::<u64>().expect("a number");
    let (threads, pinned) = (number(0) as usize, args[2] == "pinned");
    let per_us = speed();
    let (inside, outside) = (number(3) * per_us / 1000, number(4) * per_us / 1000);
    let mut beside: Vec<Child> = (0..number(1) as usize).map(|n| busy(n, pinned)).collect();
    std::thread::sleep(Duration::from_millis(50));
    let start = Barrier::new(threads + 1);
    let (begin, results) = std::thread::scope(|s| {
        let body = |seed: u64| {
            let mut waits = Vec::with_capacity(1 << 22);
            let mut x = seed;
            start.wait();
            while !STOP.load(Relaxed) {
                let asked = Instant::now();
                let mut guard = LOCK.lock();
                let wait = asked.elapsed().as_nanos() as u32;
                *guard = work(inside, *guard);
                drop(guard);
                waits.push(wait);
                x = work(outside, x);
            }
            (waits, cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID))
        };
        let all: Vec<_> = (0..threads).map(|n| s.spawn(move || body(n as u64))).collect();
        start.wait();
        let begin = Instant::now();
        std::thread::sleep(Duration::from_millis(number(5)));
        STOP.store(true, Relaxed);
        let took = begin.elapsed();
        (took, all.into_iter().map(|t| t.join().expect("no panic")).collect::<Vec<_>>())
    });
    for child in &mut beside {
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    let counts: Vec<usize> = results.iter().map(|r| r.0.len()).collect();
    let cpu: u64 = results.iter().map(|r| r.1).sum();
    let mut waits: Vec<u32> = results.into_iter().flat_map(|r| r.0).collect();
    waits.sort_unstable();
    let at = |q: f64| f64::from(waits[((waits.len() as f64 * q) as usize).min(waits.len() - 1)]) / 1000.0;
    let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&1));
    println!(
        "{:.1} {:.2} {:.2} {:.2} {:.1} {:.2} {:.0}",
        begin.as_nanos() as f64 / waits.len() as f64,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        *least as f64 / (*most).max(1) as f64,
        cpu as f64 / waits.len() as f64,
    );
}
