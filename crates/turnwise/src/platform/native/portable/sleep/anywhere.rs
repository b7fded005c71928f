//! Any system: std's condition variables, by the word's address.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::{Condvar, Mutex, PoisonError};
extern crate std;

/// A place to sleep for threads whose words hash to it.
struct Bed {
    lock: Mutex<()>,
    bell: Condvar,
}

/// The number of beds. Threads that share one are woken together.
const BEDS: usize = 256;

static TABLE: [Bed; BEDS] = [const { Bed { lock: Mutex::new(()), bell: Condvar::new() } }; BEDS];

fn bed(word: *const AtomicU32) -> &'static Bed {
    &TABLE[super::super::table::hash(word.addr()) as usize % BEDS]
}

pub(crate) fn wait(word: &AtomicU32, expected: u32, ns: Option<u64>) {
    let bed = bed(word);
    // Nothing panics while a bed is locked.
    let asleep = bed.lock.lock().unwrap_or_else(PoisonError::into_inner);
    // A thread that changes the word and then wakes has the lock after us, and notifies; or before us, and we see its
    // change.
    if word.load(Relaxed) != expected {
        return;
    }
    match ns {
        None => drop(bed.bell.wait(asleep)),
        Some(ns) => drop(bed.bell.wait_timeout(asleep, Duration::from_nanos(ns))),
    }
}

pub(crate) fn wake(word: *const AtomicU32) {
    let bed = bed(word);
    drop(bed.lock.lock());
    bed.bell.notify_all();
}
