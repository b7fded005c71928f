//! The decision whether a waiter of a condition variable polls for its notification for a while before it sleeps.
//!
//! Where requests and replies alternate within microseconds, a waiter that polls saves two wake-ups. Only one polls at
//! a time, and only if no other waits: so the longest waiter still comes first. The condition variable's word has a
//! flag for it, and a thread that notifies it clears the flag in the same step and need not call the kernel.
//!
//! The flag is about a thread, which a child of `fork` does not have: so the history names the process of the thread
//! that set it last. It shares a word with the results of the polls so far:
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0..16 | `GENERATION` | of the process in which a waiter last began to poll ([`Platform::generation`], low bits) |
//! | 16..24 | `SKIPS` | waits that will still begin without polling |
//! | 24..32 | `FAILED` | polls without success, as far as they count: a successful one halves them |
//!
//! Invariant: while the flag is set, `GENERATION` is that of the process whose thread set it. It is written only while
//! the flag is clear ([`SpinThenSleep::begin`]), and otherwise preserved ([`SpinThenSleep::write`]).

use crate::platform::limits::SKIP_DOUBLINGS;
use crate::platform::{Deadline, DefaultPlatform, Platform, SpinLimit, Word};
use crate::wait::policy;
use core::sync::atomic::Ordering::Relaxed;

const GENERATION: u32 = 0xffff;
const SKIPS: u32 = 0xff << 16;
const FAILED: u32 = 0xff << 24;

/// The history of polling one condition variable. All-zero bytes: no thread has polled.
///
/// ```
/// use turnwise::condvar::SpinThenSleep;
/// use turnwise::platform::Bare;
///
/// let (history, word) = (SpinThenSleep::<Bare>::new_in(), std::sync::atomic::AtomicU32::new(7));
/// assert!(history.watch(&word, |value| value == 7, None));
/// ```
#[repr(transparent)]
pub struct SpinThenSleep<P: Platform = DefaultPlatform> {
    history: P::U32,
}

raw_constructors!(default SpinThenSleep, "empty notes", { history: U32, });

impl<P: Platform> SpinThenSleep<P> {
    /// Returns whether the flag, which the caller has found set, is that of a thread of this process.
    pub fn is_of_this_process(&self) -> bool {
        self.history.load(Relaxed) & GENERATION == P::generation() & GENERATION
    }

    /// Decides whether the only waiter polls before it sleeps: after unsuccessful polls only now and then.
    fn is_due(&self) -> bool {
        let history = self.history.load(Relaxed);
        let skips = (history & SKIPS) >> 16;
        if skips > 0 {
            self.write(history, skips - 1, history >> 24);
        }
        skips == 0
    }

    /// Sets the flag for the only waiter, if polling has paid; returns whether it did. `word` was `found` a moment ago,
    /// without a flag of a thread of this process; `clear` and `set` are `found` without and with the flag. Fails if
    /// another waiter comes at the same time, with another mutex.
    pub fn begin<W: Word>(&self, word: &W, found: W::Value, clear: W::Value, set: W::Value) -> bool {
        if !self.is_due() {
            return false;
        }
        // A flag inherited in a `fork` is cleared before the history changes, which would make it one of this process.
        if found != clear && word.compare_exchange(found, clear, Relaxed, Relaxed).is_err() {
            return false;
        }
        self.record_process();
        word.compare_exchange(clear, set, Relaxed, Relaxed).is_ok()
    }

    fn record_process(&self) {
        let history = self.history.load(Relaxed);
        let new = history & !GENERATION | P::generation() & GENERATION;
        if new != history {
            self.history.store(new, Relaxed);
        }
    }

    /// Polls `word` until it is `notified`, for a bounded time and not beyond `deadline`; returns whether it was.
    /// Records whether that was in time.
    #[track_caller]
    pub fn watch<W: Word>(&self, word: &W, notified: impl FnMut(W::Value) -> bool, deadline: Option<Deadline>) -> bool {
        let end = P::now().saturating_add(2 * policy().still_ns);
        let until = Some(deadline.map_or(end, |deadline| deadline.monotonic::<P>().min(end)));
        let found = P::spin_until(word, notified, SpinLimit { until, ..SpinLimit::NONE }).is_ok();
        // If the thread lost its CPU meanwhile, others had a better use for it, though it was notified on its return.
        self.learn(found && P::now() <= end);
        found
    }

    fn learn(&self, found: bool) {
        let history = self.history.load(Relaxed);
        let before = history >> 24;
        let excess = |failed: u32| failed.saturating_sub(1);
        // Failures beyond those that skip the most waits would only have to be forgotten later.
        let failed = match found {
            true => before / 2,
            false if excess(before) * 2 < SKIP_DOUBLINGS => (before + 1).min(FAILED >> 24),
            false => before,
        };
        let skips = match excess(failed) {
            0 => 0,
            excess => 1 << (excess * 2).min(SKIP_DOUBLINGS),
        };
        if history & (SKIPS | FAILED) != skips << 16 | failed << 24 {
            self.write(history, skips, failed);
        }
    }

    /// Writes the new history, unless it is no longer `history`; the generation stays.
    fn write(&self, history: u32, skips: u32, failed: u32) {
        let new = history & GENERATION | skips << 16 | failed << 24;
        let _ = self.history.compare_exchange(history, new, Relaxed, Relaxed);
    }
}

shows!([P: Platform] SpinThenSleep<P>, |polls| skips: (polls.history.load(Relaxed) & SKIPS) >> 16,
    failed: polls.history.load(Relaxed) >> 24);

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::platform::Native;

    /// Returns how many consecutive waits would begin without polling.
    fn skips(spin_then_sleep: &SpinThenSleep<Native>) -> usize {
        (0..1000).take_while(|_| !spin_then_sleep.is_due()).count()
    }

    #[test]
    fn failed_polls_are_skipped_and_tried_again_now_and_then() {
        let spin_then_sleep = SpinThenSleep::new();
        assert_eq!(skips(&spin_then_sleep), 0);
        spin_then_sleep.learn(false);
        assert_eq!(skips(&spin_then_sleep), 0, "one is forgiven");
        let after = [(); 5].map(|()| {
            spin_then_sleep.learn(false);
            skips(&spin_then_sleep)
        });
        assert_eq!(after, [4, 16, 64, 64, 64]);
        (0..1000).for_each(|_| spin_then_sleep.learn(false));
        assert_eq!(skips(&spin_then_sleep), 64, "the count saturates");
        let after = [(); 3].map(|()| {
            spin_then_sleep.learn(true);
            skips(&spin_then_sleep)
        });
        assert_eq!(after, [4, 0, 0], "answers count as quickly");
    }

    #[test]
    fn what_was_learnt_leaves_the_generation_alone() {
        let spin_then_sleep = SpinThenSleep::new();
        let inherited = Native::generation() + 1;
        spin_then_sleep.history.store(inherited & GENERATION, Relaxed);
        spin_then_sleep.learn(false);
        spin_then_sleep.learn(true);
        assert!(!spin_then_sleep.is_of_this_process());
        spin_then_sleep.record_process();
        assert!(spin_then_sleep.is_of_this_process());
    }

    #[test]
    fn a_poll_ends_at_the_callers_deadline() {
        let (spin_then_sleep, word) = (SpinThenSleep::<Native>::new(), core::sync::atomic::AtomicU32::new(0));
        let begin = Native::now();
        let passed = Some(Deadline { clock: crate::platform::Clock::Monotonic, at: begin });
        assert!(!spin_then_sleep.watch(&word, |value| value != 0, passed));
        assert!(spin_then_sleep.watch(&word, |value| value == 0, passed), "what is there is seen");
    }
}
