//! What the kernel provided to these locks, and its substitutes in user space: waiting for a word with preemption off,
//! `need_resched`, and lists of sleeping tasks.
//!
//! The locks call [`Platform::preempt`] where the kernel turns preemption, or interrupts, off and on. On a platform
//! where that does nothing ([`Preempt::IsDue`] is answered with `None`), the items below are its substitutes.

mod list;

pub(crate) use list::{Kind, List, Locked, Waiter};

use turnwise::platform::{OnCpu, Pause, Platform, Preempt, SpinLimit, Token, Word};

/// The interval at which a spin that cannot be given up yields the CPU: the thread that it waits for may have been
/// preempted, which the kernel ruled out.
pub(crate) const YIELD_NS: u64 = 10_000;

/// Returns whether preemption can be turned off, so that no substitute is needed.
#[inline(always)]
pub(crate) fn in_kernel<P: Platform>() -> bool {
    P::preempt(Preempt::IsDue).is_some()
}

/// Tries to take a lock that is held with preemption off: it stays off if that succeeds.
#[inline(always)]
pub(crate) fn try_with_preempt_off<P: Platform>(take: impl FnOnce() -> bool) -> bool {
    P::preempt(Preempt::Off);
    let taken = take();
    if !taken {
        P::preempt(Preempt::On);
    }
    taken
}

/// Waits until `ready(value of word)`, which is another thread's duty; returns that value. The loads are relaxed.
#[cold]
#[track_caller]
pub(crate) fn spin_until<P: Platform, W: Word>(word: &W, mut ready: impl FnMut(W::Value) -> bool) -> W::Value {
    loop {
        let until = (!in_kernel::<P>()).then(|| P::now().saturating_add(YIELD_NS));
        if let Ok(value) = P::spin_until(word, &mut ready, SpinLimit { until, ..SpinLimit::NONE }) {
            return value;
        }
        P::pause(Pause::Yield);
    }
}

/// How long a thread may spin before it must yield its CPU, counted from the first check. It replaces the kernel's
/// `need_resched`, which a tick of 1 ms sets when another task waits for the CPU.
pub(crate) const SLICE_NS: u64 = 1_000_000;

/// The slice of a spinning thread.
pub(crate) struct Slice {
    /// When the slice is over; `None`: the platform reports it.
    pub(crate) end: Option<u64>,
    /// The number of checks until the clock is read.
    looks: u32,
}

impl Slice {
    /// The number of checks per reading of the clock, since the kernel's check is just a load.
    const LOOKS_PER_CLOCK: u32 = 16;

    /// Begins a slice.
    pub(crate) fn begin<P: Platform>() -> Slice {
        let end = (!in_kernel::<P>()).then(|| P::now().saturating_add(SLICE_NS));
        Slice { end, looks: Self::LOOKS_PER_CLOCK }
    }

    /// Returns whether the slice is over.
    pub(crate) fn is_over<P: Platform>(&mut self) -> bool {
        let Some(end) = self.end else { return P::preempt(Preempt::IsDue) == Some(true) };
        self.looks -= 1;
        if self.looks > 0 {
            return false;
        }
        self.looks = Self::LOOKS_PER_CLOCK;
        P::now() >= end
    }
}

/// Returns whether the owner runs: the kernel's `owner->on_cpu`. Where the platform cannot tell, it counts as running.
pub(crate) fn runs<P: Platform>(owner: Token) -> bool {
    P::on_cpu(owner) != OnCpu::NotRunning
}
