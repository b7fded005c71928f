//! The C library's locks: those that a recorded program ran on, by their published algorithms.
//!
//! - The mutex of glibc has three states (U. Drepper, "Futexes are tricky", mutex2): a thread that finds it taken marks
//!   that there are sleepers, and sleeps; a release with sleepers wakes one, which competes with newcomers.
//! - Its readers-writer lock (T. Riegel, glibc 2.25) prefers readers: they count themselves, and are in unless a writer
//!   is in its phase; a writer claims the lock from other writers, and its phase begins when no reader is left. This
//!   writer's word shows whether others sleep for the claim: a release wakes one of them, and the next releases none,
//!   until that one is there or another has fallen asleep.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Pause, Platform, Word};
use turnwise::raw::{GuardNoSend, RawLock, RawRwLock};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Held, and there may be sleepers.
const CROWDED: u32 = 2;

/// The mutex of glibc.
pub(crate) struct FutexMutex<P: Platform> {
    word: P::U32,
}

// SAFETY: one thread takes the word from free to something else, and acquires (forecast.mutex) what the last owner
// released.
unsafe impl<P: Platform> RawLock for FutexMutex<P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        FutexMutex { word: P::U32::new(FREE) }
    }

    fn lock(&self) {
        if self.try_lock() {
            return;
        }
        // ORDERING forecast.mutex: Acquire; shows what the last owner wrote.
        while self.word.swap(CROWDED, Acquire) != FREE {
            P::park(&self.word, CROWDED, Lane::Waiters, None);
        }
    }

    fn try_lock(&self) -> bool {
        // ORDERING forecast.mutex: Acquire; as above.
        self.word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok()
    }

    unsafe fn unlock(&self) {
        // ORDERING forecast.mutex: Release; shows the next owner what we wrote.
        if self.word.swap(FREE, Release) == CROWDED {
            P::wake(&raw const self.word, Lane::Waiters, 1);
        }
    }

    fn is_locked(&self) -> bool {
        self.word.load(Relaxed) != FREE
    }
}

/// In `turn`: a writer has the claim and has announced it.
const CLAIM: u32 = 1;
/// With [`CLAIM`]: writers may sleep until it is given up.
const AWAITED: u32 = 2;

/// A writer is in.
const WRITES: u32 = 1;
/// A writer has claimed the lock from other writers.
const CLAIMED: u32 = 2;
const READER: u32 = 8;

/// The readers-writer lock of glibc, which prefers readers.
pub(crate) struct FutexRwLock<P: Platform> {
    readers: P::U32,
    /// Changes with the phase; readers and the claiming writer sleep here.
    phase: P::U32,
    /// Whether a writer has the claim, and whether others may sleep here until it is given up.
    turn: P::U32,
}

impl<P: Platform> FutexRwLock<P> {
    /// Sleeps until a writer's phase is over, or has begun.
    fn await_phase(&self, writes: bool, lane: Lane) {
        loop {
            // ORDERING forecast.phase: Acquire; a thread that sees the change sees the readers' word from before it.
            let phase = self.phase.load(Acquire);
            // ORDERING forecast.rwlock: Acquire; shows what former owners wrote.
            if (self.readers.load(Acquire) & WRITES != 0) == writes {
                return;
            }
            P::park(&self.phase, phase, lane, None);
        }
    }

    fn change_phase(&self, lane: Lane, count: u32) {
        // ORDERING forecast.phase: Release; publishes the readers' word.
        self.phase.fetch_add(1, Release);
        P::wake(&raw const self.phase, lane, count);
    }

    /// Sleeps until the claim is given up; `false`: it did not, since no writer has announced the claim.
    fn await_claim(&self) -> bool {
        let turn = self.turn.load(Relaxed);
        let asleep = CLAIM | AWAITED;
        let says_so =
            turn == asleep || turn == CLAIM && self.turn.compare_exchange(turn, asleep, Relaxed, Relaxed).is_ok();
        if says_so {
            P::park(&self.turn, asleep, Lane::Waiters, None);
        } else {
            P::pause(Pause::Relax);
        }
        says_so
    }

    /// Begins the phase of the writer that has the claim, if no reader is in.
    fn begin_writing(&self) -> bool {
        // ORDERING forecast.rwlock: Acquire; shows what former owners wrote.
        self.readers.compare_exchange(CLAIMED, CLAIMED | WRITES, Acquire, Relaxed).is_ok()
    }
}

// SAFETY: of the writers one has the claim, and its phase begins when no reader is counted; both acquire
// (forecast.rwlock) what others released.
unsafe impl<P: Platform> RawLock for FutexRwLock<P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        FutexRwLock { readers: P::U32::new(0), phase: P::U32::new(0), turn: P::U32::new(0) }
    }

    fn lock(&self) {
        let mut slept = false;
        // ORDERING forecast.rwlock: Acquire; shows what the last writer wrote.
        while self.readers.fetch_or(CLAIMED, Acquire) & CLAIMED != 0 {
            slept |= self.await_claim();
        }
        // A thread that has slept does not know whether others do.
        self.turn.store(if slept { CLAIM | AWAITED } else { CLAIM }, Relaxed);
        if !self.begin_writing() {
            self.await_phase(true, Lane::Waiters);
        }
    }

    fn try_lock(&self) -> bool {
        // ORDERING forecast.rwlock: Acquire; shows what former owners wrote.
        let taken = self.readers.compare_exchange(0, CLAIMED | WRITES, Acquire, Relaxed).is_ok();
        if taken {
            self.turn.store(CLAIM, Relaxed);
        }
        taken
    }

    unsafe fn unlock(&self) {
        // Before it is given up: then the word is the next writer's. One sleeper is woken, and none again until a
        // thread announces anew that there are sleepers.
        let awaited = self.turn.swap(0, Relaxed) & AWAITED != 0;
        // ORDERING forecast.rwlock: Release; shows newcomers what we wrote.
        let readers = self.readers.fetch_and(!(CLAIMED | WRITES), Release);
        if readers >= READER {
            self.change_phase(Lane::Readers, u32::MAX);
        }
        if awaited {
            P::wake(&raw const self.turn, Lane::Waiters, 1);
        }
    }

    fn is_locked(&self) -> bool {
        self.readers.load(Relaxed) != 0
    }
}

// SAFETY: a counted reader is in when no writer's phase is; the last one begins the phase of a writer that waits.
unsafe impl<P: Platform> RawRwLock for FutexRwLock<P> {
    fn read(&self) {
        // ORDERING forecast.rwlock: Acquire; shows what the last writer wrote.
        if self.readers.fetch_add(READER, Acquire) & WRITES != 0 {
            self.await_phase(false, Lane::Readers);
        }
    }

    fn try_read(&self) -> bool {
        let readers = self.readers.load(Relaxed);
        // ORDERING forecast.rwlock: Acquire; as in `read`.
        readers & WRITES == 0 && self.readers.compare_exchange(readers, readers + READER, Acquire, Relaxed).is_ok()
    }

    unsafe fn unlock_read(&self) {
        let mut readers = self.readers.load(Relaxed);
        loop {
            let left = readers - READER;
            let begins = left == CLAIMED;
            let next = if begins { CLAIMED | WRITES } else { left };
            // ORDERING forecast.rwlock: AcqRel; the writer sees all that readers saw.
            match self.readers.compare_exchange(readers, next, AcqRel, Relaxed) {
                Ok(_) if begins => return self.change_phase(Lane::Waiters, 1),
                Ok(_) => return,
                Err(found) => readers = found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;
    use turnwise::platform::Native;

    struct Guarded<L>(L, UnsafeCell<u64>);
    // SAFETY: the cell is touched with the lock held.
    unsafe impl<L: Sync> Sync for Guarded<L> {}

    /// Threads increment by `writes`, and read between; returns the sum.
    fn sum<L: RawLock>(read: impl Fn(&Guarded<L>) + Sync) -> u64 {
        let guarded = Guarded(L::new_in(), UnsafeCell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        guarded.0.lock();
                        // SAFETY: we have the lock.
                        unsafe { *guarded.1.get() += 1 };
                        // SAFETY: acquired above.
                        unsafe { guarded.0.unlock() };
                        read(&guarded);
                    }
                });
            }
        });
        assert!(!guarded.0.is_locked());
        guarded.1.into_inner()
    }

    #[test]
    fn nobody_is_lost_on_threads_of_this_machine() {
        assert_eq!(sum::<FutexMutex<Native>>(|_| ()), 80_000);
        let read = |guarded: &Guarded<FutexRwLock<Native>>| {
            guarded.0.read();
            // SAFETY: no writer is in.
            let seen = unsafe { *guarded.1.get() };
            assert!(seen > 0 && !guarded.0.try_lock());
            // SAFETY: acquired above.
            unsafe { guarded.0.unlock_read() };
        };
        assert_eq!(sum::<FutexRwLock<Native>>(read), 80_000);
    }
}
