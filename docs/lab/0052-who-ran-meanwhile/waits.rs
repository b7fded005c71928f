//! `waits THREADS INSIDE OUTSIDE MS`: threads that take one mutex again and again, with so many steps of work inside
//! and outside it (1.4 ns each on the EPYC here). Operations, the fewest and the most of a thread, the longest wait.
//!
//! In a crate that depends on `turnwise`.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::Mutex;

fn work(seed: u64, steps: u64) -> u64 {
    (0..steps).fold(seed | 1, |x, _| (x ^ (x >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns how many operations the thread made, and its longest wait in microseconds.
fn thread(lock: &Mutex<u64>, stop: &AtomicBool, inside: u64, outside: u64, mut seed: u64) -> (u64, u128) {
    let (mut count, mut longest) = (0, 0);
    while !stop.load(Relaxed) {
        let begin = Instant::now();
        let mut data = lock.lock();
        longest = longest.max(begin.elapsed().as_micros());
        *data = work(*data, inside);
        drop(data);
        seed = work(seed, outside);
        count += 1;
    }
    black_box(seed);
    (count, longest)
}

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().expect("a number")).collect();
    let &[threads, inside, outside, ms] = words.as_slice() else { panic!("waits THREADS INSIDE OUTSIDE MS") };
    let (lock, stop) = (Mutex::new(0), AtomicBool::new(false));
    let counts: Vec<(u64, u128)> = std::thread::scope(|scope| {
        let start = |n| {
            scope.spawn({
                let (lock, stop) = (&lock, &stop);
                move || thread(lock, stop, inside, outside, n)
            })
        };
        let threads: Vec<_> = (0..threads).map(start).collect();
        std::thread::sleep(Duration::from_millis(ms));
        stop.store(true, Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let all: u64 = counts.iter().map(|count| count.0).sum();
    let (least, most) = (counts.iter().map(|count| count.0).min(), counts.iter().map(|count| count.0).max());
    let longest = counts.iter().map(|count| count.1).max();
    println!("{all} operations, {least:?} to {most:?} a thread, longest wait {longest:?} us");
}
