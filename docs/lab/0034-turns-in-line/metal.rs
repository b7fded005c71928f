//! metal THREADS INSIDE_NS OUTSIDE_NS MS: nanoseconds for an acquisition, and fairness.
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

static LOCK: turnwise::Mutex<u64> = turnwise::Mutex::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn work(steps: u32, from: u64) -> u64 {
    (0..steps).fold(from, |x, _| black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)))
}

fn acquire_until_stopped(inside: u32, outside: u32) -> u64 {
    let (mut count, mut own) = (0, 0);
    while !STOP.load(Relaxed) {
        let mut guard = LOCK.lock();
        *guard = work(inside, *guard);
        drop(guard);
        own = work(outside, own);
        count += 1;
    }
    count
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let [threads, inside, outside, ms] = numbers[..] else { panic!("four numbers") };
    let begin = Instant::now();
    black_box(work(10_000_000, 1));
    let steps = |ns: u64| (ns as f64 * 1e7 / begin.elapsed().as_nanos() as f64) as u32;
    let (inside, outside) = (steps(inside), steps(outside));
    let begin = Instant::now();
    let counts: Vec<u64> = scope(|s| {
        let all: Vec<_> = (0..threads).map(|_| s.spawn(|| acquire_until_stopped(inside, outside))).collect();
        sleep(Duration::from_millis(ms));
        STOP.store(true, Relaxed);
        all.into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    let (sum, least, most) = (counts.iter().sum::<u64>(), counts.iter().min().unwrap(), counts.iter().max().unwrap());
    println!("{:.2} {:.3}", begin.elapsed().as_nanos() as f64 / sum as f64, *least as f64 / *most as f64);
}
