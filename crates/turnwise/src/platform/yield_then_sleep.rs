//! Waits that no wake-up ends.

use super::{Pause, Platform, limits};

/// A wait for another thread that is in the middle of a step of a few instructions, or that cannot signal when it is
/// done.
///
/// The other may need this very CPU for that: at first the waiter yields it, and then it sleeps, longer each time,
/// since under a real-time policy a thread of lower priority runs only while the waiter sleeps.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// use turnwise::platform::{DefaultPlatform, YieldThenSleep};
///
/// let done = AtomicBool::new(false);
/// std::thread::scope(|s| {
///     s.spawn(|| done.store(true, Relaxed));
///     let mut yielder = YieldThenSleep::new();
///     while !done.load(Relaxed) {
///         yielder.wait::<DefaultPlatform>();
///     }
/// });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct YieldThenSleep {
    waits: u32,
}

impl YieldThenSleep {
    /// How often the thread yields the CPU before it sleeps.
    pub const YIELDS: u32 = limits::STEP_YIELDS;
    /// The length of the first sleep; each is twice as long as the previous one, up to the longest.
    pub const NAP_NS: u32 = limits::NAP_NS;
    /// The longest sleep: the end of a wait may be noticed this late.
    pub const NAP_MAX_NS: u32 = limits::NAP_MAX_NS;
    /// The number of waits after which all are equally long, and are no longer counted.
    const WAITS_MAX: u32 = Self::YIELDS + (Self::NAP_MAX_NS / Self::NAP_NS).ilog2() + 1;

    /// Begins a wait.
    #[must_use]
    pub const fn new() -> Self {
        YieldThenSleep { waits: 0 }
    }

    /// Lets the other thread run; the caller should then check again.
    #[track_caller]
    pub fn wait<P: Platform>(&mut self) {
        match self.waits.checked_sub(Self::YIELDS) {
            None => P::pause(Pause::Yield),
            Some(naps) => P::pause(Pause::Nap((Self::NAP_NS << naps).min(Self::NAP_MAX_NS))),
        }
        self.waits = (self.waits + 1).min(Self::WAITS_MAX);
    }
}
