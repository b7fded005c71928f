//! What the kernel gave these locks, and what stands in for it in user space: waiting for a word with preemption off,
//! `need_resched`, and lists of sleeping tasks.
//!
//! The locks call [`Platform::preempt_off`] and [`Platform::preempt_on`] where the kernel has them, or has interrupts
//! off. On a platform where those do nothing (`need_resched` answers `None`), what is below stands in for them.

mod list;

pub(crate) use list::{ASLEEP, AWAKE, Kind, List, Waiter};

use turnwise::platform::{OnCpu, Platform, SpinLimit, Token, Word};

/// A spin that nobody may leave lets other threads have the CPU each time that so much time has passed in vain: the
/// thread that it waits for may have been preempted, which the kernel ruled out.
pub(crate) const YIELD_NS: u64 = 10_000;

/// Whether preemption can be turned off, so that nothing needs to stand in for it.
#[inline(always)]
pub(crate) fn in_kernel<P: Platform>() -> bool {
    P::need_resched().is_some()
}

/// Tries to take a lock that is held with preemption off: it stays off if that succeeds.
#[inline(always)]
pub(crate) fn try_with_preempt_off<P: Platform>(take: impl FnOnce() -> bool) -> bool {
    P::preempt_off();
    let taken = take();
    if !taken {
        P::preempt_on();
    }
    taken
}

/// Waits until `ready(value of word)`, which is somebody else's duty; returns that value. The loads are relaxed.
#[cold]
#[track_caller]
pub(crate) fn spin_until<P: Platform, W: Word>(word: &W, mut ready: impl FnMut(W::Value) -> bool) -> W::Value {
    loop {
        let until = (!in_kernel::<P>()).then(|| P::now().saturating_add(YIELD_NS));
        if let Ok(value) = P::spin_until(word, &mut ready, SpinLimit { until, ..SpinLimit::NONE }) {
            return value;
        }
        P::yield_now();
    }
}

/// How long a thread may spin before it must let another have its CPU, counted from the first question: what stands
/// in for the kernel's `need_resched`, which a tick of 1 ms raises when another task waits for the CPU.
pub(crate) const SLICE_NS: u64 = 1_000_000;

/// The slice of a spinning thread.
pub(crate) struct Slice {
    /// When it is over; `None`: the platform says so.
    pub(crate) end: Option<u64>,
    /// Questions until the clock is asked.
    looks: u32,
}

impl Slice {
    /// The kernel's question is a load; one call of the clock in so many.
    const LOOKS_PER_CLOCK: u32 = 16;

    /// A slice that begins now.
    pub(crate) fn begin<P: Platform>() -> Slice {
        let end = (!in_kernel::<P>()).then(|| P::now().saturating_add(SLICE_NS));
        Slice { end, looks: Self::LOOKS_PER_CLOCK }
    }

    /// Whether it is over.
    pub(crate) fn is_over<P: Platform>(&mut self) -> bool {
        let Some(end) = self.end else { return P::need_resched() == Some(true) };
        self.looks -= 1;
        if self.looks > 0 {
            return false;
        }
        self.looks = Self::LOOKS_PER_CLOCK;
        P::now() >= end
    }
}

/// The kernel's `owner->on_cpu`. Where the platform cannot tell, the owner counts as running.
pub(crate) fn runs<P: Platform>(owner: Token) -> bool {
    P::on_cpu(owner) != OnCpu::NotRunning
}
