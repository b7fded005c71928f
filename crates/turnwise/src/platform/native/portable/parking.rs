//! The table of this process, in which its threads park.
//!
//! It is static, so nothing is allocated; where several copies of this crate are in one process, a lock belongs to the
//! copy that created it.

use super::system::{Link, System};
use super::table::{Bucket, Queue, Table, hash};
use super::{Clock, Deadline, Lane, Parked, now, wall};
use core::cell::Cell;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::{Condvar, Mutex, PoisonError};
extern crate std;

/// The number of buckets: with a thousand threads asleep at the same time, each holds four.
const BUCKETS: usize = 256;

static TABLE: Table<Here, BUCKETS> = Table([const { Bucket(Mutex::new(Queue::NEW)) }; BUCKETS]);

/// A place to sleep, by std's means, for threads whose words hash to it: they are woken together.
struct Bed {
    lock: Mutex<()>,
    bell: Condvar,
}

static BEDS: [Bed; BUCKETS] = [const { Bed { lock: Mutex::new(()), bell: Condvar::new() } }; BUCKETS];

fn bed(word: *const AtomicU32) -> &'static Bed {
    &BEDS[hash(word.addr()) as usize % BUCKETS]
}

/// The actual system.
struct Here;

impl System for Here {
    type Word = AtomicU32;
    type Link<T: 'static> = Cell<*const T>;
    type Lock<T: Send + 'static> = Mutex<T>;

    fn locked<T: Send, R>(lock: &Mutex<T>, body: impl FnOnce(&mut T) -> R) -> R {
        // Nothing panics while a bucket is locked.
        body(&mut lock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// `std::thread::park` would need the thread's handle, which is gone while its local data are destroyed.
    fn wait(word: &AtomicU32, expected: u32, ns: Option<u64>) {
        let bed = bed(word);
        // Nothing panics while a bed is locked.
        let asleep = bed.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread that changes the word and then wakes has the lock after us, and notifies; or before us, and we see
        // its change.
        if word.load(Relaxed) != expected {
            return;
        }
        match ns {
            None => drop(bed.bell.wait(asleep)),
            Some(ns) => drop(bed.bell.wait_timeout(asleep, Duration::from_nanos(ns))),
        }
    }

    fn wake(word: *const AtomicU32) {
        let bed = bed(word);
        drop(bed.lock.lock());
        bed.bell.notify_all();
    }

    fn time(clock: Clock) -> u64 {
        match clock {
            Clock::Monotonic => now(),
            Clock::Realtime => wall(),
        }
    }
}

impl<T> Link<T> for Cell<*const T> {
    fn get(&self) -> *const T {
        Cell::get(self)
    }

    fn set(&self, to: *const T) {
        Cell::set(self, to);
    }
}

/// Implements [`crate::platform::Platform::park`].
pub(crate) fn park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
    TABLE.park(word, expected, lane, deadline)
}

/// Implements [`crate::platform::Platform::wake`].
pub(crate) fn wake(word: *const AtomicU32, lane: Lane, count: u32) -> u32 {
    TABLE.wake(word, lane, count)
}

#[cfg(test)]
mod tests {
    use super::super::table::Sleeper;
    use super::*;
    use core::ptr;
    use std::vec::Vec;

    const LANES: [Lane; 3] = [Lane::Waiters, Lane::First, Lane::Readers];

    /// Returns the positions of the records in a chain.
    fn places(mut next: *const Sleeper<Here>, sleepers: &[Sleeper<Here>]) -> Vec<usize> {
        let mut places = Vec::new();
        // SAFETY: the records are in place.
        while let Some(sleeper) = unsafe { next.as_ref() } {
            places.push(sleepers.iter().position(|other| ptr::eq(other, sleeper)).expect("it is one of them"));
            next = sleeper.next.get();
        }
        places
    }

    /// Runs `body` with a queue of nine records, the lanes in turn.
    fn with_nine(body: impl FnOnce(&mut Queue<Here>, &[Sleeper<Here>])) {
        let sleepers: Vec<Sleeper<Here>> = (0..9).map(|place| Sleeper::new(64, LANES[place % 3])).collect();
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
            let (one, late) = (|place: usize| move |sleeper: &Sleeper<Here>| ptr::eq(sleeper, &all[place]), &all[8]);
            assert_eq!(places(queue.take(1, one(8)), all), [8]);
            assert_eq!(places(queue.take(1, one(0)), all), [0]);
            queue.push(late);
            assert_eq!(places(queue.first, all), [1, 2, 3, 4, 5, 6, 7, 8]);
        });
    }
}
