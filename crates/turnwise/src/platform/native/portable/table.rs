//! The queues of sleeping threads: parking on a word, with lanes, for systems whose kernel does not provide that.
//!
//! A thread that parks puts a record on its stack into the queue of the bucket that its word's address falls into, and
//! sleeps on a word in the record, by the system's means. A wake-up removes records, in the order in which they
//! arrived, releases the bucket and then wakes their threads.
//!
//! This file uses nothing but its [`System`] and the types of a platform's calls, all from the module around it:
//! `proof/model` includes it, and has models of it unchanged, and with a line changed.
//!
//! 1. Links are read and written by a thread that has the bucket's lock, or has removed the record from its queue.
//! 2. A record leaves its queue once: removed by a wake-up, or by its own thread when it times out.
//! 3. It stays in place, its thread in `park`, while it is in the queue, and if a wake-up took it, until that has
//!    stored [`AWAKE`]. After that store the wake-up uses the address of the record's word, and nothing in it.

use super::system::{Link, System};
use super::{Deadline, Lane, Parked, Word};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The value of [`Sleeper::state`] of a thread that sleeps, or is about to.
const ASLEEP: u32 = 0;
/// The value of [`Sleeper::state`] of a thread that was woken.
const AWAKE: u32 = 1;

/// The longest sleep without reading the clock: the wall clock may be set meanwhile.
const POLL_NS: u64 = 1_000_000_000;

/// A parked thread's record.
pub(crate) struct Sleeper<S: System> {
    address: usize,
    pub(crate) lane: Lane,
    pub(crate) next: S::Link<Sleeper<S>>,
    state: S::Word,
    thread: S::Thread,
}

impl<S: System> Sleeper<S> {
    pub(crate) fn new(address: usize, lane: Lane) -> Self {
        Sleeper { address, lane, next: S::Link::default(), state: S::Word::new(ASLEEP), thread: S::this() }
    }
}

/// The records in one bucket, in the order in which they arrived.
pub(crate) struct Queue<S: System> {
    pub(crate) first: *const Sleeper<S>,
    pub(crate) last: *const Sleeper<S>,
}

// SAFETY: invariants 1 and 3: any thread that has the lock may follow the links.
unsafe impl<S: System> Send for Queue<S> {}

/// One of the table's queues, with its lock.
#[repr(align(128))]
pub(crate) struct Bucket<S: System>(pub(super) S::Lock<Queue<S>>);

/// The table.
pub(crate) struct Table<S: System, const BUCKETS: usize>(pub(super) [Bucket<S>; BUCKETS]);

/// Hashes addresses, which have many bits in common.
pub(crate) fn hash(address: usize) -> u32 {
    ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

impl<S: System> Queue<S> {
    pub(crate) const NEW: Self = Queue { first: ptr::null(), last: ptr::null() };

    pub(crate) fn push(&mut self, sleeper: &Sleeper<S>) {
        // SAFETY: invariant 3: the last record is in the queue, hence in place.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(sleeper),
            None => self.first = sleeper,
        }
        self.last = sleeper;
    }

    /// Removes the first `count` records that are `wanted`; returns the first of them, which links to the others.
    pub(crate) fn take(&mut self, count: u32, wanted: impl Fn(&Sleeper<S>) -> bool) -> *const Sleeper<S> {
        let mut taken = Self::NEW;
        let (mut left, mut before, mut next) = (count, None::<&Sleeper<S>>, self.first);
        while left > 0 {
            // SAFETY: invariant 3: records that the queue links to are in the queue, hence in place.
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

impl<S: System, const BUCKETS: usize> Table<S, BUCKETS> {
    /// Runs `body` with the queue that an address falls into, and its lock held.
    fn locked<R>(&self, address: usize, body: impl FnOnce(&mut Queue<S>) -> R) -> R {
        S::locked(&self.0[hash(address) as usize % BUCKETS].0, body)
    }

    /// Implements [`crate::platform::Platform::park`].
    pub(crate) fn park(&self, word: &S::Word, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        let address = ptr::from_ref(word).addr();
        let sleeper = Sleeper::<S>::new(address, lane);
        // A thread that changes the word and then wakes has the bucket after us, and finds the record; or before us,
        // and we see its change.
        let queued = self.locked(address, |queue| {
            let unchanged = word.load(Relaxed) == expected;
            if unchanged {
                queue.push(&sleeper);
            }
            unchanged
        });
        if !queued {
            return Parked::Changed;
        }
        let mut deadline = deadline;
        // ORDERING table.awake: Acquire pairs with the Release in `wake`: the wake-up is done with the record.
        while sleeper.state.load(Acquire) == ASLEEP {
            let left = deadline.map(left_ns::<S>);
            if left == Some(0) {
                let own = self.locked(address, |queue| queue.take(1, |other| ptr::eq(other, &sleeper)));
                if !own.is_null() {
                    return Parked::TimedOut;
                }
                deadline = None; // a wake-up has the record (2), and will be done with it shortly
                continue;
            }
            S::wait(&sleeper.state, ASLEEP, left);
        }
        Parked::Woken
    }

    /// Implements [`crate::platform::Platform::wake`].
    pub(crate) fn wake(&self, word: *const S::Word, lane: Lane, count: u32) -> u32 {
        let address = word.addr();
        let wanted = |sleeper: &Sleeper<S>| sleeper.address == address && sleeper.lane == lane;
        let mut next = self.locked(address, |queue| queue.take(count, wanted));
        let mut woken = 0;
        // SAFETY: invariant 3: the record is out of its queue, and its state is not stored yet.
        while let Some(sleeper) = unsafe { next.as_ref() } {
            next = sleeper.next.get();
            let (state, thread) = (&raw const sleeper.state, sleeper.thread.clone());
            // ORDERING table.awake: Release pairs with the Acquire in `park`: the record is no longer used.
            sleeper.state.store(AWAKE, Release);
            S::wake(&thread, state);
            woken += 1;
        }
        woken
    }
}

/// Returns how long a thread may sleep until it has to read the clock; 0 if the deadline has passed.
fn left_ns<S: System>(deadline: Deadline) -> u64 {
    deadline.at.saturating_sub(S::time(deadline.clock)).min(POLL_NS)
}
