//! Measures the CPU time that a recorded wait costs a thread while it holds the lock, and how long switching on takes:
//!
//! cargo run --release -p turnwise-live --example cost_of_recording

use std::hint::black_box;
use std::time::{Duration, Instant};
use turnwise_live::writer::{self, Begun, End, Me, Start};
use turnwise_live::{Channel, Key, Kind, log};

const TIMES: u32 = 5_000_000;
const RECORDS: usize = 20_000;
const ME: Me = Me { generation: 0, events: [0; 3] };
/// A period that no wait here approaches, and one that all waits to be recorded reach.
const LONG_NS: u64 = 100_000_000_000;
const SHORT_NS: u64 = 10_000;

fn begin() -> Option<Begun> {
    let key = Key::new(0x1000, Kind::Mutex);
    black_box(writer::begin(&Start { key, site: 0x1234, owner: 2, rule: 0, me: ME }))
}

fn end(begun: Option<Begun>) {
    if let Some(begun) = begun {
        writer::end(&begun, End::Owner, &ME);
    }
}

/// Returns the nanoseconds of a wait that ends immediately, on average.
fn wait_ns() -> f64 {
    let started = Instant::now();
    (0..TIMES).for_each(|_| end(begin()));
    started.elapsed().as_nanos() as f64 / f64::from(TIMES)
}

/// Returns the CPU time of this thread, without the times at which another thread had its CPU.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the CPU times of the ends of waits that last for more than [`SHORT_NS`].
fn ends() -> Vec<Duration> {
    let one = |_| {
        let begun = begin();
        let since = Instant::now();
        while since.elapsed() < Duration::from_nanos(2 * SHORT_NS) {}
        let before = cpu();
        end(begun);
        cpu().saturating_sub(before)
    };
    (0..RECORDS).map(one).collect()
}

fn show(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let us = |place: usize| times[place].as_nanos() as f64 / 1e3;
    let last = times.len() - 1;
    println!(
        "{what}: median {:.2} us, 99 of 100 {:.2} us, longest {:.2} us",
        us(last / 2),
        us(last * 99 / 100),
        us(last)
    );
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = std::ffi::CString::new(folder.path().to_str().expect("a path in UTF-8")).expect("a path");
    writer::start(Some(&path), false, 0);
    end(begin());
    println!("a wait while the recorder is off: {:.1} ns", wait_ns());
    show("the end of a wait, with two looks at the clock of CPU time", &mut ends());
    let channel = Channel::of(std::process::id()).expect("a view of our own");
    let started = Instant::now();
    let mut recorder = channel.record().expect("a view of our own");
    recorder.ask(LONG_NS).expect("a view of our own");
    println!("switching on: {:.0} us", started.elapsed().as_nanos() as f64 / 1e3);
    println!("a wait while it is on, that is not recorded: {:.1} ns", wait_ns());
    recorder.ask(SHORT_NS).expect("a view of our own");
    let mut times = ends();
    let (first, rest) = times.split_at_mut(log::RECORDS);
    show("the end of a wait whose record needs a new page of the file", first);
    show("the end of other recorded waits", rest);
    recorder.stop().expect("a view of our own");
}
