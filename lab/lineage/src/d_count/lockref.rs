//! A lock and a count in one word, 8 bytes:
//!
//! | bits | name | meaning | changed by |
//! |---|---|---|---|
//! | 0..32 | count | references; or the topmost bit alone: dead | by exchange while the lock is free; else by the owner of the lock |
//! | 32..48 | head | the ticket that has the lock, or will have it when drawn | the owner, in `unlock` |
//! | 48..64 | tail | the ticket that the next thread draws | a thread that draws |
//!
//! The lock is free when head = tail. The kernel's spin lock is a half of its own, drawn and served by instructions of
//! its width; a word of [`Platform`] has one width, so here the owner changes count and head by additions to the whole.
//! A section's change of the count is part of the release, so that a slow get is two additions, as there.

use super::{Count, DEAD, Put};
use crate::wait;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, IntWord, Pause, Platform, Preempt, Word};
use turnwise::raw::{GuardNoSend, RawLock};

/// One in the half that waiters draw from: the topmost, so that the last ticket's successor carries nowhere.
const DRAW: u64 = 1 << 48;
/// One in the half that holds the ticket being served.
const SERVE: u64 = 1 << 32;

const fn count(word: u64) -> u32 {
    word as u32
}

const fn head(word: u64) -> u16 {
    (word >> 32) as u16
}

const fn tail(word: u64) -> u16 {
    (word >> 48) as u16
}

const fn is_free(word: u64) -> bool {
    head(word) == tail(word)
}

/// Returns what to add to serve the ticket after `head`, without a carry into the tail.
const fn serve_after(head: u16) -> u64 {
    if head == u16::MAX { SERVE.wrapping_sub(DRAW) } else { SERVE }
}

/// A lock and a count in one word.
#[repr(transparent)]
pub struct OneWord<P: Platform = DefaultPlatform> {
    word: P::U64,
}

lock_basics!(OneWord, |lock| count: lock.count());

impl<P: Platform> Count for OneWord<P> {
    fn with_references(count: u32) -> Self {
        OneWord { word: P::U64::new(count.into()) }
    }

    #[inline]
    fn get(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        while is_free(word) {
            // ORDERING lockref.get: pairs with lockref.unlock; shows what was done when the count last fell to 0.
            match self.word.compare_exchange(word, word + 1, Acquire, Relaxed) {
                Ok(_) => return false,
                Err(found) => word = found,
            }
            P::pause(Pause::Relax);
        }
        self.lock();
        self.leave(1);
        true
    }

    #[inline]
    fn get_live(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        while is_free(word) {
            if count(word) == DEAD {
                // ORDERING lockref.dead: pairs with lockref.unlock; shows what the killer did under the lock.
                self.word.load(Acquire);
                return false;
            }
            // ORDERING lockref.get: pairs with lockref.unlock, as in `get`.
            match self.word.compare_exchange(word, word + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
            P::pause(Pause::Relax);
        }
        self.lock();
        let live = count(self.word.load(Relaxed)) != DEAD;
        self.leave(u64::from(live));
        live
    }

    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        self.lock();
        let unused = count(self.word.load(Relaxed)) == 0;
        if unused {
            at_kill();
        }
        self.leave(if unused { u64::from(DEAD) } else { 0 });
        unused
    }

    #[inline]
    fn put_with(&self, at_last: impl FnOnce()) -> Put {
        let mut word = self.word.load(Relaxed);
        while is_free(word) && count(word) > 1 {
            // ORDERING lockref.put: pairs with lockref.lock: what we did with the reference comes before the last put.
            match self.word.compare_exchange(word, word - 1, Release, Relaxed) {
                Ok(_) => return Put { last: false, locked: false },
                Err(found) => word = found,
            }
            P::pause(Pause::Relax);
        }
        self.lock();
        // While we have the lock, no other thread changes the count, and we have seen its last change.
        let last = count(self.word.load(Relaxed)) == 1;
        if last {
            at_last();
        }
        self.leave(1_u64.wrapping_neg());
        Put { last, locked: true }
    }

    fn count(&self) -> u32 {
        count(self.word.load(Relaxed)) & !DEAD
    }
}

// SAFETY: one ticket is served at a time, as head moves on in `leave` alone; its owner acquires (lockref.lock) what
// others released (lockref.unlock). Guards stay on their thread, whose preemption is off.
unsafe impl<P: Platform> RawLock for OneWord<P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Self::with_references(0)
    }

    #[inline]
    fn lock(&self) {
        P::preempt(Preempt::Off);
        // ORDERING lockref.lock: pairs with lockref.unlock and lockref.put. Every change of the word is an exchange or
        // an addition, so the owner sees all puts before.
        let word = self.word.fetch_add(DRAW, Acquire);
        if !is_free(word) {
            self.wait(tail(word));
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        wait::try_with_preempt_off::<P>(|| {
            let word = self.word.load(Relaxed);
            // ORDERING lockref.lock: pairs with lockref.unlock and lockref.put, as in `lock`.
            is_free(word) && self.word.compare_exchange(word, word.wrapping_add(DRAW), Acquire, Relaxed).is_ok()
        })
    }

    fn is_locked(&self) -> bool {
        !is_free(self.word.load(Relaxed))
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.leave(0);
    }
}

impl<P: Platform> OneWord<P> {
    /// Adds `change` to the count and releases the lock, which the caller has.
    #[inline]
    fn leave(&self, change: u64) {
        let head = head(self.word.load(Relaxed)); // not stale: only the owner changes it
        // ORDERING lockref.unlock: pairs with lockref.lock and lockref.get: shows what we did under the lock.
        self.word.fetch_add(serve_after(head).wrapping_add(change), Release);
        P::preempt(Preempt::On);
    }

    #[cold]
    fn wait(&self, ticket: u16) {
        wait::spin_until::<P, _>(&self.word, |word| head(word) == ticket);
        // ORDERING lockref.lock: pairs with lockref.unlock and lockref.put, as in `lock`.
        self.word.load(Acquire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_and_counts_stay_in_their_halves() {
        let lock = OneWord::<DefaultPlatform> { word: core::sync::atomic::AtomicU64::new(0) };
        lock.get();
        for _ in 0..=u32::from(u16::MAX) + 1 {
            lock.lock();
            assert!(!lock.try_lock());
            assert_eq!(lock.count(), 1);
            lock.leave(0);
        }
        let word = lock.word.load(Relaxed);
        assert!(is_free(word) && head(word) == 1 && count(word) == 1);
    }

    #[test]
    fn a_section_takes_its_change_along() {
        let lock = OneWord::<DefaultPlatform> {
            word: core::sync::atomic::AtomicU64::new(u64::from(u16::MAX) * (DRAW + SERVE) + 5),
        };
        lock.lock();
        lock.leave(1_u64.wrapping_neg());
        assert_eq!(lock.word.load(Relaxed), 4, "tickets and count after the last ticket");
    }
}
