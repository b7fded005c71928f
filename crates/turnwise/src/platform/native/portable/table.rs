//! The queues of sleeping threads: parking on a word, with lanes, for systems whose kernel has no such thing.
//!
//! A thread that parks puts a record on its stack into the queue of the bucket that its word's address falls into, and
//! sleeps on a word in the record, by the system's means (`sleep`). A wake-up takes records out, in the order in which
//! they came, lets go of the bucket and then wakes their threads. The table is static, so nothing is allocated; where
//! several copies of this crate are in one process, a lock belongs to the copy that made it.
//!
//! 1. Links are read and written by who has the bucket's lock, or has taken the record out of its queue.
//! 2. A record leaves its queue once: taken out by a wake-up, or by its own thread when its time is over.
//! 3. It stays in place, its thread in `park`, while it is in the queue, and if a wake-up took it until that has stored
//!    [`AWAKE`]. After that store the wake-up uses the address of the record's word, not what is there.

use super::{now, sleep, wall};
use crate::platform::{Clock, Deadline, Lane, Parked};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, MutexGuard, PoisonError};
extern crate std;

/// The value of [`Sleeper::state`] of a thread that sleeps, or is about to.
const ASLEEP: u32 = 0;
/// The value of [`Sleeper::state`] of a thread that was woken.
const AWAKE: u32 = 1;

/// The number of buckets: a thousand threads asleep at the same time are four in each.
const BUCKETS: usize = 256;
/// The longest sleep without a look at the clock: the wall clock may be set meanwhile.
const LOOK_NS: u64 = 1_000_000_000;

/// A parked thread's record.
struct Sleeper {
    address: usize,
    lane: Lane,
    next: Cell<*const Sleeper>,
    state: AtomicU32,
}

impl Sleeper {
    fn new(address: usize, lane: Lane) -> Self {
        Sleeper { address, lane, next: Cell::new(ptr::null()), state: AtomicU32::new(ASLEEP) }
    }
}

/// The records in one bucket, in the order in which they came.
struct Queue {
    first: *const Sleeper,
    last: *const Sleeper,
}

// SAFETY: invariants 1 and 3: who has the lock may follow the links, on any thread.
unsafe impl Send for Queue {}

#[repr(align(128))]
struct Bucket(Mutex<Queue>);

static TABLE: [Bucket; BUCKETS] = [const { Bucket(Mutex::new(Queue::NEW)) }; BUCKETS];

/// Spreads addresses, which have much in common.
pub(super) fn hash(address: usize) -> u32 {
    ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

fn lock(address: usize) -> MutexGuard<'static, Queue> {
    // Nothing panics while a bucket is locked.
    TABLE[hash(address) as usize % BUCKETS].0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    const NEW: Queue = Queue { first: ptr::null(), last: ptr::null() };

    fn push(&mut self, sleeper: &Sleeper) {
        // SAFETY: invariant 3: the last record is in the queue, hence in place.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(sleeper),
            None => self.first = sleeper,
        }
        self.last = sleeper;
    }

    /// Takes the first `count` records out that are `wanted`; returns the first of them, which leads to the others.
    fn take(&mut self, count: u32, wanted: impl Fn(&Sleeper) -> bool) -> *const Sleeper {
        let mut taken = Queue::NEW;
        let (mut left, mut before, mut next) = (count, None::<&Sleeper>, self.first);
        while left > 0 {
            // SAFETY: invariant 3: what the queue leads to is in the queue, hence in place.
            let Some(sleeper) = (unsafe { next.as_ref() }) else { break };
            next = sleeper.next.get();
            if !wanted(sleeper) {
                before = Some(sleeper);
                continue;
            }
            match before {
                Some(before) => before.next.set(next),
                None => self.first = next,
            }
            if next.is_null() {
                self.last = before.map_or(ptr::null(), ptr::from_ref);
            }
            sleeper.next.set(ptr::null());
            taken.push(sleeper);
            left -= 1;
        }
        taken.first
    }
}

/// Implements [`crate::platform::Platform::park`].
pub(crate) fn park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
    let address = ptr::from_ref(word).addr();
    let sleeper = Sleeper::new(address, lane);
    let mut queue = lock(address);
    // A thread that changes the word and then wakes has the bucket after us, and finds the record; or before us, and we
    // see its change.
    if word.load(Relaxed) != expected {
        return Parked::Changed;
    }
    queue.push(&sleeper);
    drop(queue);
    let mut deadline = deadline;
    // ORDERING table.awake: Acquire pairs with the Release in `wake`: that is done with the record.
    while sleeper.state.load(Acquire) == ASLEEP {
        let left = deadline.map(left_ns);
        if left == Some(0) {
            if !lock(address).take(1, |other| ptr::eq(other, &sleeper)).is_null() {
                return Parked::TimedOut;
            }
            deadline = None; // a wake-up has the record (2), and will be done with it in a moment
            continue;
        }
        sleep::wait(&sleeper.state, ASLEEP, left);
    }
    Parked::Woken
}

/// Implements [`crate::platform::Platform::wake`].
pub(crate) fn wake(word: *const AtomicU32, lane: Lane, count: u32) -> u32 {
    let address = word.addr();
    let mut next = lock(address).take(count, |sleeper| sleeper.address == address && sleeper.lane == lane);
    let mut woken = 0;
    // SAFETY: invariant 3: the record is out of its queue, and its state is not stored yet.
    while let Some(sleeper) = unsafe { next.as_ref() } {
        next = sleeper.next.get();
        let state = &raw const sleeper.state;
        // ORDERING table.awake: Release pairs with the Acquire in `park`: the record is not used any more.
        sleeper.state.store(AWAKE, Release);
        sleep::wake(state);
        woken += 1;
    }
    woken
}

/// Returns how long a thread may sleep until it has to look at the clock; 0: the deadline has come.
fn left_ns(deadline: Deadline) -> u64 {
    let now = match deadline.clock {
        Clock::Monotonic => now(),
        Clock::Realtime => wall(),
    };
    deadline.at.saturating_sub(now).min(LOOK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const LANES: [Lane; 3] = [Lane::Waiters, Lane::First, Lane::Readers];

    /// Returns the places of the records that a chain leads to.
    fn places(mut next: *const Sleeper, sleepers: &[Sleeper]) -> Vec<usize> {
        let mut places = Vec::new();
        // SAFETY: the records are in place.
        while let Some(sleeper) = unsafe { next.as_ref() } {
            places.push(sleepers.iter().position(|other| ptr::eq(other, sleeper)).expect("it is one of them"));
            next = sleeper.next.get();
        }
        places
    }

    /// Runs `body` with a queue of nine records, the lanes in turn.
    fn with_nine(body: impl FnOnce(&mut Queue, &[Sleeper])) {
        let sleepers: Vec<Sleeper> = (0..9).map(|place| Sleeper::new(64, LANES[place % 3])).collect();
        let mut queue = Queue::NEW;
        sleepers.iter().for_each(|sleeper| queue.push(sleeper));
        body(&mut queue, &sleepers);
    }

    #[test]
    fn records_come_out_in_the_order_of_arrival_and_the_others_stay_in_it() {
        with_nine(|queue, all| {
            assert_eq!(places(queue.take(2, |sleeper| sleeper.lane == Lane::First), all), [1, 4]);
            assert_eq!(places(queue.take(0, |_| true), all), []);
            assert_eq!(places(queue.take(u32::MAX, |sleeper| sleeper.lane == Lane::Waiters), all), [0, 3, 6]);
            assert_eq!(places(queue.take(9, |sleeper| sleeper.lane == Lane::Waiters), all), []);
            assert_eq!(places(queue.first, all), [2, 5, 7, 8]);
            assert_eq!(places(queue.take(9, |_| true), all), [2, 5, 7, 8]);
            assert!(queue.first.is_null() && queue.last.is_null());
        });
    }

    #[test]
    fn who_comes_after_the_last_has_left_is_behind_the_one_before() {
        with_nine(|queue, all| {
            let (one, late) = (|place: usize| move |sleeper: &Sleeper| ptr::eq(sleeper, &all[place]), &all[8]);
            assert_eq!(places(queue.take(1, one(8)), all), [8]);
            assert_eq!(places(queue.take(1, one(0)), all), [0]);
            queue.push(late);
            assert_eq!(places(queue.first, all), [1, 2, 3, 4, 5, 6, 7, 8]);
        });
    }
}
