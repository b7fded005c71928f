//! The decision whether a waiter of a condition variable polls for its notification for a while before it sleeps.
//!
//! Where requests and replies alternate within microseconds, a waiter that polls saves two wake-ups. Only one polls at
//! a time, and only if no other waits: so the longest waiter still comes first. The condition variable's word has a
//! flag for it, and a thread that notifies it clears the flag in the same step and need not call the kernel.
//!
//! The flag is about a thread, which a child of `fork` does not have: so the notes name the process of the thread that
//! set it last. They share a word with the results of the polls so far:
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0..16 | `GENERATION` | of the process in which a waiter last began to poll ([`Platform::generation`], low bits) |
//! | 16..24 | `LEFT_OUT` | waits that will still begin without polling |
//! | 24..32 | `IN_VAIN` | polls without success, as far as they count: a successful one halves them |
//!
//! Invariant: while the flag is set, `GENERATION` is that of the process whose thread set it. It is written only while
//! the flag is clear ([`Lookout::begin`]), and otherwise preserved ([`Lookout::write`]).

use super::policy;
use crate::platform::{Deadline, DefaultPlatform, Platform, SpinLimit, Word};
use core::sync::atomic::Ordering::Relaxed;

const GENERATION: u32 = 0xffff;
const LEFT_OUT: u32 = 0xff << 16;
const IN_VAIN: u32 = 0xff << 24;

/// The notes about polling one condition variable. All-zero bytes: no thread has polled.
///
/// ```
/// use turnwise::platform::Bare;
/// use turnwise::wait::Lookout;
///
/// let (notes, word) = (Lookout::<Bare>::new_in(), std::sync::atomic::AtomicU32::new(7));
/// assert!(notes.watch(&word, |value| value == 7, None));
/// ```
#[repr(transparent)]
pub struct Lookout<P: Platform = DefaultPlatform> {
    notes: P::U32,
}

raw_constructors!(default Lookout, "empty notes", { notes: U32, });

impl<P: Platform> Lookout<P> {
    /// Returns whether the flag, which the caller has found set, is that of a thread of this process.
    pub fn is_of_this_process(&self) -> bool {
        self.notes.load(Relaxed) & GENERATION == P::generation() & GENERATION
    }

    /// Decides whether the only waiter polls before it sleeps: after unsuccessful polls only now and then.
    fn is_due(&self) -> bool {
        let notes = self.notes.load(Relaxed);
        let left_out = (notes & LEFT_OUT) >> 16;
        if left_out > 0 {
            self.write(notes, left_out - 1, notes >> 24);
        }
        left_out == 0
    }

    /// Sets the flag for the only waiter, if polling has paid; returns whether it did. `word` was `found` a moment ago,
    /// without a flag of a thread of this process; `clear` and `set` are `found` without and with the flag. Fails if
    /// another waiter comes at the same time, with another mutex.
    pub fn begin<W: Word>(&self, word: &W, found: W::Value, clear: W::Value, set: W::Value) -> bool {
        if !self.is_due() {
            return false;
        }
        // A flag inherited in a `fork` is cleared before the notes change, which would make it one of this process.
        if found != clear && word.compare_exchange(found, clear, Relaxed, Relaxed).is_err() {
            return false;
        }
        self.note_process();
        word.compare_exchange(clear, set, Relaxed, Relaxed).is_ok()
    }

    fn note_process(&self) {
        let notes = self.notes.load(Relaxed);
        let new = notes & !GENERATION | P::generation() & GENERATION;
        if new != notes {
            self.notes.store(new, Relaxed);
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
        /// How often the number of waits that begin without polling doubles, after the first poll without success.
        const DOUBLINGS: u32 = 6;
        let notes = self.notes.load(Relaxed);
        let before = notes >> 24;
        let excess = |in_vain: u32| in_vain.saturating_sub(1);
        // Failures beyond those that skip the most waits would only have to be forgotten later.
        let in_vain = match found {
            true => before / 2,
            false if excess(before) * 2 < DOUBLINGS => (before + 1).min(IN_VAIN >> 24),
            false => before,
        };
        let left_out = match excess(in_vain) {
            0 => 0,
            excess => 1 << (excess * 2).min(DOUBLINGS),
        };
        if notes & (LEFT_OUT | IN_VAIN) != left_out << 16 | in_vain << 24 {
            self.write(notes, left_out, in_vain);
        }
    }

    /// Writes the new notes, unless they are no longer `notes`; the generation stays.
    fn write(&self, notes: u32, left_out: u32, in_vain: u32) {
        let new = notes & GENERATION | left_out << 16 | in_vain << 24;
        let _ = self.notes.compare_exchange(notes, new, Relaxed, Relaxed);
    }
}

impl<P: Platform> core::fmt::Debug for Lookout<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let notes = self.notes.load(Relaxed);
        let (left_out, in_vain) = ((notes & LEFT_OUT) >> 16, notes >> 24);
        f.debug_struct("Lookout").field("left_out", &left_out).field("in_vain", &in_vain).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::platform::Native;

    /// Returns how many consecutive waits would begin without polling.
    fn left_out(lookout: &Lookout<Native>) -> usize {
        (0..1000).take_while(|_| !lookout.is_due()).count()
    }

    #[test]
    fn looks_in_vain_are_left_out_and_tried_again_now_and_then() {
        let lookout = Lookout::new();
        assert_eq!(left_out(&lookout), 0);
        lookout.learn(false);
        assert_eq!(left_out(&lookout), 0, "one is forgiven");
        let after = [(); 5].map(|()| {
            lookout.learn(false);
            left_out(&lookout)
        });
        assert_eq!(after, [4, 16, 64, 64, 64]);
        (0..1000).for_each(|_| lookout.learn(false));
        assert_eq!(left_out(&lookout), 64, "the count saturates");
        let after = [(); 3].map(|()| {
            lookout.learn(true);
            left_out(&lookout)
        });
        assert_eq!(after, [4, 0, 0], "answers count as quickly");
    }

    #[test]
    fn what_was_learnt_leaves_the_generation_alone() {
        let lookout = Lookout::new();
        let inherited = Native::generation() + 1;
        lookout.notes.store(inherited & GENERATION, Relaxed);
        lookout.learn(false);
        lookout.learn(true);
        assert!(!lookout.is_of_this_process());
        lookout.note_process();
        assert!(lookout.is_of_this_process());
    }

    #[test]
    fn a_look_ends_at_the_callers_deadline() {
        let (lookout, word) = (Lookout::<Native>::new(), core::sync::atomic::AtomicU32::new(0));
        let begin = Native::now();
        let passed = Some(Deadline { clock: crate::platform::Clock::Monotonic, at: begin });
        assert!(!lookout.watch(&word, |value| value != 0, passed));
        assert!(lookout.watch(&word, |value| value == 0, passed), "what is there is seen");
    }
}
