//! What a thread requests from its machine besides words and waits on them: pauses, numbers about the machine, and to
//! keep its CPU.

use super::{Clock, Deadline, Lane, Platform, SpinLimit, Word};

/// A pause, which no other thread ends: the argument of [`Platform::pause`].
///
/// ```
/// use turnwise::platform::{DefaultPlatform, Pause, Platform};
///
/// let before = DefaultPlatform::now();
/// DefaultPlatform::pause(Pause::Nap(1_000));
/// assert!(DefaultPlatform::now() > before);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pause {
    /// Hints to the CPU that this is a spin loop.
    Relax,
    /// Stays on the CPU for about this many nanoseconds without touching shared memory.
    Rest(u32),
    /// Yields this CPU to another runnable thread, if there is one.
    Yield,
    /// Yields this CPU to the other threads of the program that contend for its locks: yields, unless that would, as
    /// far as the platform can tell, let other programs run instead. It is for a thread that could continue without it.
    Offer,
    /// Sleeps for about this many nanoseconds, or until a signal handler has run. It is not a cancellation point.
    Nap(u32),
}

impl Pause {
    /// Pauses on a platform that has no better way: it rests by the clock, naps on a word that no thread wakes, takes
    /// an offer as a yield, and does nothing for a yield.
    #[inline(always)]
    #[track_caller]
    pub fn by_default<P: Platform>(self) {
        let after = |ns: u32| P::now().saturating_add(ns.into());
        match self {
            Pause::Relax => core::hint::spin_loop(),
            Pause::Rest(ns) => {
                let limit = SpinLimit { until: Some(after(ns)), ..SpinLimit::NONE };
                let _ = P::spin_until(&P::U32::new(0), |_| false, limit);
            }
            Pause::Yield => {}
            Pause::Offer => P::pause(Pause::Yield),
            Pause::Nap(ns) => {
                let deadline = Deadline { clock: Clock::Monotonic, at: after(ns) };
                P::park(&P::U32::new(0), 0, Lane::Waiters, Some(deadline));
            }
        }
    }
}

/// A number about the machine: the argument of [`Platform::hint`].
///
/// ```
/// use turnwise::platform::{DefaultPlatform, Hint, Platform};
///
/// assert!(DefaultPlatform::hint(Hint::Cpus) >= 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hint {
    /// The CPU this thread is on.
    Cpu,
    /// The number of CPUs that threads may run on: no more threads can spin at a time. At least 1.
    Cpus,
    /// The NUMA node this thread is on; 0 where the platform does not know. Fast paths may ask for it.
    Node,
    /// The cost of fetching a cache line that another CPU has written, in nanoseconds, as measured by spinners; 0 if
    /// none has measured it.
    LineNs,
}

/// A step of a section in which a thread keeps its CPU and must not sleep, as in a spin lock's section in a kernel: the
/// argument of [`Platform::preempt`].
///
/// ```
/// use turnwise::platform::{DefaultPlatform, Platform, Preempt};
///
/// assert_eq!(DefaultPlatform::preempt(Preempt::IsDue), None, "a program cannot turn preemption off");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Preempt {
    /// Begins a section, up to the matching [`Preempt::On`]. Sections nest.
    Off,
    /// Ends the section that the last [`Preempt::Off`] began. After the outermost one, the thread yields its CPU if it
    /// should have done so meanwhile.
    On,
    /// Asks whether the thread should yield its CPU, since its slice is over or a more urgent thread was woken.
    IsDue,
}
