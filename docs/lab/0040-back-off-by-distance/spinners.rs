//! One spin lock with exponential back-off: `spinners THREADS INSIDE OUTSIDE MS`, the work in steps of about 1 ns.
//! Prints nanoseconds for an acquisition of all threads, and fairness. An example of turnwise.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use turnwise::{SpinLock, backoff::Exponential};

static LOCK: SpinLock<u64, Exponential> = SpinLock::with_backoff(0);
static STOP: AtomicBool = AtomicBool::new(false);

fn work(steps: u64, mut x: u64) -> u64 {
    for _ in 0..steps {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    x
}

fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let [threads, inside, outside, ms] = args[..] else { panic!("THREADS INSIDE OUTSIDE MS") };
    let start = Barrier::new(threads as usize + 1);
    let body = || {
        start.wait();
        let (mut count, mut x) = (0_u64, 1);
        while !STOP.load(Relaxed) {
            let mut guard = LOCK.lock();
            *guard = work(inside, *guard);
            drop(guard);
            count += 1;
            x = work(outside, x);
        }
        (count, x)
    };
    let counts: Vec<u64> = std::thread::scope(|s| {
        let all: Vec<_> = (0..threads).map(|_| s.spawn(body)).collect();
        start.wait();
        std::thread::sleep(Duration::from_millis(ms));
        STOP.store(true, Relaxed);
        all.into_iter().map(|thread| thread.join().expect("no panic").0).collect()
    });
    let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&1));
    let all: u64 = counts.iter().sum();
    println!("{:.2} {:.2}", ms as f64 * 1e6 / all as f64, *least as f64 / *most as f64);
}
