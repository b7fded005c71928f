//! The Linux mutex of 2013 in its versions, and the queue of its spinners.

use super::*;
use turnwise_lineage::linux_mutex::mcs::SpinnerQueue;
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, NoSpin, Patch1, Patch1And2, Policy};

impl<V: Policy> Settles for LinuxMutex<V, Loom> {}

type Mutex<V> = LinuxMutex<V, Loom>;

pub(super) const MODELS: &[Model] = models! { LinuxMutex:
    "linux mutex, baseline: two threads": PLAIN, (2, 3), ANY => all_lock::<Mutex<Baseline>>(2, 1);
    "linux mutex, baseline: one waits": PLAIN, (2, 3), SLEEP => held::<Mutex<Baseline>>(1, 0);
    "linux mutex, baseline: the owner comes again": PLAIN, (1, 2), SLEEP => held::<Mutex<Baseline>>(1, 1);
    "linux mutex, baseline: two wait": PLAIN, (1, 2), SLEEP => held::<Mutex<Baseline>>(2, 0);
    "linux mutex, baseline: without names": NAMELESS, (2, 3), ANY => all_lock::<Mutex<Baseline>>(2, 1);
    "linux mutex, baseline: try": PLAIN, (2, 3), EITHER => attempt::<Mutex<Baseline>>();
    "linux mutex, patch 1: two threads": PLAIN, (2, 3), ANY => all_lock::<Mutex<Patch1>>(2, 1);
    "linux mutex, patch 1: the owner comes again": PLAIN, (1, 2), SLEEP => held::<Mutex<Patch1>>(1, 1);
    "linux mutex, patch 1: two wait": PLAIN, (0, 1), ANY => held::<Mutex<Patch1>>(2, 0);
    "linux mutex, patches 1 and 2: two threads": PLAIN, (2, 3), ANY => all_lock::<Mutex<Patch1And2>>(2, 1);
    "linux mutex, patches 1 and 2: one waits": PLAIN, (1, 2), SLEEP => held::<Mutex<Patch1And2>>(1, 1);
    "linux mutex, patches 1 and 2: two wait": PLAIN, (0, 1), ANY => held::<Mutex<Patch1And2>>(2, 0);
    "linux mutex, no spinning: two threads": PLAIN, (3, 4), SLEEP => all_lock::<Mutex<NoSpin>>(2, 1);
    "linux mutex, no spinning: twice": PLAIN, (2, 3), SLEEP => all_lock::<Mutex<NoSpin>>(2, 2);
    "linux mutex, no spinning: three threads": PLAIN, (1, 2), SLEEP => all_lock::<Mutex<NoSpin>>(3, 1);
    "linux mutex, no spinning: two sleep": PLAIN, (1, 2), SLEEP => held::<Mutex<NoSpin>>(2, 0);
    "linux mutex, baseline, in a kernel: two wait": KERNEL, (1, 2), SLEEP => held::<Mutex<Baseline>>(2, 0);
    "linux mutex, patches 1 and 2, in a kernel: two threads": KERNEL, (2, 3), SLEEP =>
        all_lock::<Mutex<Patch1And2>>(2, 1);
    "linux mutex: a sleeper wakes for no reason": SPURIOUS, (0, 1), &["woke unwoken"] => held::<Mutex<NoSpin>>(2, 0);
    "spinner queue: two threads": PLAIN, (3, 6), ANY => queue(2, 2);
    "spinner queue: three threads": PLAIN, (2, 3), ANY => queue(3, 1);
};

/// Every thread takes `rounds` turns.
fn queue(threads: u32, rounds: u32) {
    let (queue, data) = (keep(SpinnerQueue::<Loom>::new_in()), keep(Protected::new()));
    together(threads, move || (0..rounds).for_each(|_| queue.take_turn(|| data.add())));
    assert_eq!(data.get(), threads * rounds, "turns");
}
