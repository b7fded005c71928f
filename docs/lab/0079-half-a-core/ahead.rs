// What a loop of sections gains whose work outside does not need that inside: chained and apart, with the state in
// registers (as `calibrate` has it) and in memory (as the benchmark has it); ns a round, median and nine tenths.
// rustc -C opt-level=3 ahead.rs && taskset -c 0 ./ahead
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Instant;
#[inline(never)]
fn arithmetic(seed: u64, steps: u32) -> u64 {
    (0..black_box(steps)).fold(seed | 1, |x, _| (x ^ x >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
#[inline(never)]
fn work(seed: u64, steps: u32) -> u64 {
    let mut x = seed | 1;
    for _ in 0..steps {
        x ^= x >> 29;
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    x
}
fn run(name: &str, mut f: impl FnMut()) -> f64 {
    let mut v: Vec<f64> = (0..200)
        .map(|_| {
            let b = Instant::now();
            for _ in 0..500 {
                f()
            }
            b.elapsed().as_secs_f64() * 1e9 / 500.0
        })
        .collect();
    v.sort_by(|a, b| a.total_cmp(b));
    println!("{name}: {:.1} ({:.1} .. {:.1})", v[100], v[10], v[190]);
    v[100]
}
fn main() {
    for (i, o) in [(128, 128), (32, 65), (32, 32), (64, 64)] {
        println!("steps {i} {o}");
        {
            let w = AtomicU64::new(0);
            let (mut inside, mut outside) = (1u64, 1u64);
            let mut round = |chained: bool| {
                w.fetch_add(1, AcqRel);
                let seed = if chained { outside } else { 1 };
                inside = arithmetic(black_box(&w).load(Relaxed) ^ seed, i);
                w.fetch_add(1, AcqRel);
                outside = arithmetic(if chained { inside } else { outside }, o);
            };
            let a = run("chained", || round(true));
            let b = run("apart", || round(false));
            println!("  register gains {:.1}", a - b);
            black_box((inside, outside));
        }
        {
            let w = AtomicU64::new(0);
            let mut local = 1u64;
            let mut chain = 1u64;
            let a = run("boxed chained", || {
                w.swap(1, Acquire);
                let d = black_box(&mut chain);
                *d = work(*d ^ local, i);
                w.store(0, Release);
                let c = chain;
                w.swap(0, AcqRel);
                local = black_box(work(local ^ c, o));
            });
            let b = run("boxed apart", || {
                w.swap(1, Acquire);
                let d = black_box(&mut chain);
                *d = work(*d, i);
                w.swap(0, Release);
                local = black_box(work(local, o));
            });
            println!("  boxed gains {:.1}", a - b);
            let b = run("boxed apart, store", || {
                w.swap(1, Acquire);
                let d = black_box(&mut chain);
                *d = work(*d, i);
                w.store(0, Release);
                local = black_box(work(local, o));
            });
            println!("  boxed store-release gains {:.1}", a - b);
        }
        for (name, steps) in [("inside alone", i), ("outside alone", o)] {
            run(name, || {
                black_box(work(1, steps));
            });
        }
    }
}
