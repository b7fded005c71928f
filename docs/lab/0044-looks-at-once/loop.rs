//! The loop of 0044: threads that take a mutex again and again, ours under settings of `looks.patch`, and std's.
//!
//! `loop EARLY,MODE,EVERY;... THREADS,INSIDE_NS,OUTSIDE_NS;... ROUNDS MS`, in a crate that depends on the patched
//! `turnwise`: the settings are statics there.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::platform::{EARLY, EVERY, MODE};

#[inline(never)]
fn work(seed: u64, steps: u32) -> u64 {
    (0..steps).fold(seed | 1, |x, _| (x ^ (x >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// How many steps of [`work`] take so long.
fn steps(ns: f64) -> u32 {
    let once = |_| {
        let begin = Instant::now();
        black_box(work(black_box(1), black_box(100_000)));
        begin.elapsed().as_nanos() as f64 / 100_000.0
    };
    (ns / (0..10).map(once).fold(f64::MAX, f64::min)) as u32
}

/// Threads, steps inside and outside, and the length of a sample.
#[derive(Clone, Copy)]
struct Cell(usize, u32, u32, Duration);

/// Time an operation in nanoseconds, and the operations of the least busy thread over those of the busiest.
fn sample(section: impl Fn(u32) + Sync, Cell(threads, inside, outside, time): Cell) -> (f64, f64) {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(threads + 1));
    let run = || {
        start.wait();
        let (mut count, mut x) = (0_u64, 1);
        while !stop.load(Relaxed) {
            section(inside);
            x = work(x, outside);
            count += 1;
        }
        black_box(x);
        count
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        start.wait();
        let begin = Instant::now();
        std::thread::sleep(time);
        stop.store(true, Relaxed);
        let took = begin.elapsed().as_nanos() as f64;
        let counts: Vec<u64> = all.into_iter().map(|thread| thread.join().unwrap()).collect();
        let fairness = *counts.iter().min().unwrap() as f64 / *counts.iter().max().unwrap() as f64;
        (took / counts.iter().sum::<u64>() as f64, fairness)
    })
}

/// Median and quartiles.
fn middle(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[values.len() * quarter / 4];
    format!("{:.3} ({:.3} to {:.3})", at(2), at(1), at(3))
}

fn compare(cell: Cell, settings: &[Vec<u32>], rounds: usize) {
    let (ours, std) = (turnwise::Mutex::new(1_u64), std::sync::Mutex::new(1_u64));
    let mut speeds = vec![(Vec::new(), Vec::new()); settings.len()];
    let mut references = Vec::new();
    for round in 0..rounds {
        let (reference, _) = sample(
            |inside| {
                let mut data = std.lock().unwrap();
                *data = work(*data, inside);
            },
            cell,
        );
        references.push(reference);
        for place in (0..settings.len()).map(|place| (place + round) % settings.len()) {
            for (to, value) in [&EARLY, &MODE, &EVERY].into_iter().zip(&settings[place]) {
                to.store(*value, Relaxed);
            }
            let (time, fairness) = sample(
                |inside| {
                    let mut data = ours.lock();
                    *data = work(*data, inside);
                },
                cell,
            );
            speeds[place].0.push(reference / time);
            speeds[place].1.push(fairness);
        }
    }
    println!("  std: {} ns", middle(references));
    for (setting, (speed, fairness)) in settings.iter().zip(speeds) {
        println!("  {setting:?}: speed {}, fairness {}", middle(speed), middle(fairness));
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let lists = |text: &str| -> Vec<Vec<u32>> {
        text.split(';').map(|list| list.split(',').map(|number| number.parse().unwrap()).collect()).collect()
    };
    let time = Duration::from_millis(words[3].parse().unwrap());
    for cell in lists(&words[1]) {
        println!("{cell:?}");
        let cell = Cell(cell[0] as usize, steps(cell[1].into()), steps(cell[2].into()), time);
        compare(cell, &lists(&words[0]), words[2].parse().unwrap());
    }
}
