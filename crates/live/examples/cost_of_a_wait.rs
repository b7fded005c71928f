//! Measures what the live view adds to a wait. Its waits are empty, so only their beginning and their end are measured,
//! with one clock reading each:
//!
//! cargo run --release -p turnwise-live --example cost_of_a_wait

use std::hint::black_box;
use std::time::Instant;
use turnwise_live::writer::{self, End, Me, Start};
use turnwise_live::{Key, Kind};
use turnwise_preload_abi::counter;

const TIMES: u32 = 10_000_000;

/// Returns the nanoseconds of one call, on average.
fn cost(mut call: impl FnMut(u32)) -> f64 {
    let begun = Instant::now();
    (0..TIMES).for_each(&mut call);
    begun.elapsed().as_nanos() as f64 / f64::from(TIMES)
}

/// Waits for one of `locks` locks, in an order that does not repeat soon.
fn wait(locks: u32, time: u32) {
    let lock = time.wrapping_mul(0x9e37_79b9) >> 8;
    let key = Key::new(0x1000 + 64 * (lock % locks) as usize, Kind::Mutex);
    let me = Me { generation: 0, events: [0; 3] };
    if let Some(begun) = black_box(writer::begin(&Start { key, site: 0x1234, owner: 3, rule: 0, me })) {
        writer::end(&begun, End::Owner, &me);
    }
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = std::ffi::CString::new(folder.path().to_str().expect("a path in UTF-8")).expect("a path");
    let clock = cost(|_| {
        black_box(counter::counter());
    });
    println!("a look at the processor's counter: {clock:.0} ns");
    writer::start(Some(&path), false, 1);
    let begun = Instant::now();
    wait(1, 0);
    println!("the first wait, which makes the file: {:.0} us", begun.elapsed().as_nanos() as f64 / 1e3);
    for locks in [1, 16, 64, 1_000] {
        println!("a wait for one of {locks} locks: {:.0} ns", cost(|time| wait(locks, time)));
    }
}
