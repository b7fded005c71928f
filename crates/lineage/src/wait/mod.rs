//! What the kernel gave these locks, and what stands in for it in user space: waiting for a word with preemption off,
//! `need_resched`, and lists of sleeping tasks.

use turnwise::platform::{Platform, SpinLimit, Word};

/// A spin that nobody may leave lets other threads have the CPU each time that so much time has passed in vain: the
/// thread that it waits for may have been preempted, which the kernel ruled out.
pub(crate) const YIELD_NS: u64 = 10_000;

/// Waits until `ready(value of word)`, which is somebody else's duty; returns that value. The loads are relaxed.
#[cold]
#[track_caller]
pub(crate) fn spin_until<P: Platform, W: Word>(word: &W, mut ready: impl FnMut(W::Value) -> bool) -> W::Value {
    loop {
        let until = Some(P::now().saturating_add(YIELD_NS));
        if let Ok(value) = P::spin_until(word, &mut ready, SpinLimit { until, ..SpinLimit::NONE }) {
            return value;
        }
        P::yield_now();
    }
}
