//! What feature `order-check` costs per acquisition: run with and without it.
//!
//! ```sh
//! cargo run --release -p turnwise --example order_cost
//! cargo run --release -p turnwise --example order_cost --features order-check
//! ```

use std::hint::black_box;
use std::time::Instant;
use turnwise::Mutex;

const ROUNDS: u32 = 2_000;

/// Nanoseconds per call of `section`: the best of many runs, each short beside a time slice.
fn ns(section: impl Fn()) -> f64 {
    let run = || {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| section());
        start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
    };
    (0..1_000).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let (a, b, c) = (Mutex::new(0_u64), Mutex::new(0_u64), Mutex::new(0_u64));
    let alone = ns(|| *black_box(&a).lock() += 1);
    let in_one = ns(|| {
        let mut outer = black_box(&a).lock();
        *black_box(&b).lock() += 1;
        *outer += 1;
    });
    let in_two = ns(|| {
        let mut outer = black_box(&a).lock();
        let mut middle = black_box(&b).lock();
        *black_box(&c).lock() += 1;
        *middle += 1;
        *outer += 1;
    });
    let checked = if cfg!(feature = "order-check") { "on" } else { "off" };
    println!("order-check {checked}: a lock and unlock alone {alone:.1} ns");
    println!("  with one lock held {:.1} ns more, with two held {:.1} ns more", in_one - alone, in_two - in_one);
}
