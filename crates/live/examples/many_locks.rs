//! A program with many contended locks, for measuring readers of its live view (`turnwise top`). Its waits are empty: a
//! thread begins one and ends it immediately.
//!
//! cargo run --release -p turnwise-live --example many_locks -- LOCKS [THREADS [PERCENT]]
//!
//! PERCENT of the locks (100 by default) are waited for several times a second each, the others once in total.

use std::ffi::CString;
use std::hint::black_box;
use std::time::Duration;
use std::{env, process, thread};
use turnwise_live::writer::{self, End, Me, Start};
use turnwise_live::{Key, Kind, place};

/// The number of waits of a thread before it sleeps for [`PAUSE`].
const AT_A_TIME: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

fn wait(lock: u32) {
    let key = Key::new(0x10_0000 + 64 * lock as usize, Kind::Mutex);
    let me = Me { generation: 0, events: [0; 3] };
    let site = 0x1234 + 16 * (lock % 50) as usize;
    if let Some(begun) = black_box(writer::begin(&Start { key, site, owner: 0, rule: 0, me })) {
        writer::end(&begun, End::Owner, &me);
    }
}

fn main() {
    let mut numbers = env::args().skip(1).map(|word| word.parse::<u32>().expect("a number"));
    let locks = numbers.next().unwrap_or(10_000).max(1);
    let (threads, percent) = (numbers.next().unwrap_or(4).max(1), numbers.next().unwrap_or(100).clamp(1, 100));
    // If it is not set, the view is where the library puts it by default.
    let runtime = env::var(place::RUNTIME_VARIABLE).ok().map(|path| CString::new(path).expect("a path"));
    writer::start(runtime.as_deref(), false, 0);
    (0..locks).for_each(wait);
    let hot = (u64::from(locks) * u64::from(percent) / 100).max(1) as u32;
    println!("{} locks, {hot} of them hot, in process {}", locks, process::id());
    for seed in 0..threads {
        thread::spawn(move || {
            let mut random = fastrand::Rng::with_seed(seed.into());
            loop {
                (0..AT_A_TIME).for_each(|_| wait(random.u32(..hot)));
                thread::sleep(PAUSE);
            }
        });
    }
    loop {
        thread::park();
    }
}
