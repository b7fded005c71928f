//! The numbers of a policy that may differ from wait to wait.
//!
//! They decide how long a thread spins and when it requests a hand-off, but not which thread may take a lock: a lock's
//! word and its guarantees are the same with any settings, and threads with different ones may wait for one lock. So
//! settings may change while threads wait. The models and the torture tests run with the extremes.

use super::policy;
use crate::platform::{Hint, Platform};

/// The numbers that govern one wait. The default path takes them from the policy ([`ByPolicy`]), where they are
/// compile-time constants.
///
/// It is sealed: the waiting may need more numbers in future.
///
/// ```
/// use turnwise::wait::{ByPolicy, Settings, Tuned};
///
/// let patient = Tuned { spin_ns: Some(1_000_000), ..Tuned::default() };
/// assert_eq!(patient.spin_ns::<turnwise::platform::DefaultPlatform>(), 1_000_000);
/// assert_eq!(patient.yield_after_ns(), ByPolicy.yield_after_ns());
/// ```
pub trait Settings: Copy + sealed::Sealed {
    /// Returns whether the thread spins at all before it sleeps.
    fn spins(self) -> bool {
        true
    }
    /// Returns the longest spin before sleeping
    /// ([`Policy::spin_ns_per_cpu`](super::Policy::spin_ns_per_cpu), on this machine).
    fn spin_ns<P: Platform>(self) -> u64;
    /// Returns after how long without sleep a thread yields its CPU
    /// ([`Policy::yield_after_ns`](super::Policy::yield_after_ns)).
    fn yield_after_ns(self) -> u64;
    /// Returns how long a waiter is overtaken before it requests a hand-off
    /// ([`Policy::handoff_after_ns`](super::Policy::handoff_after_ns)).
    fn handoff_after_ns(self) -> u64;
}

mod sealed {
    /// A trait that only this crate can implement.
    #[doc(hidden)]
    pub trait Sealed {}
    impl Sealed for super::ByPolicy {}
    impl Sealed for super::Tuned {}
}

/// The policy's numbers.
///
/// ```
/// use turnwise::wait::{ByPolicy, Policy, Settings};
///
/// assert_eq!(ByPolicy.yield_after_ns(), Policy::DEFAULT.yield_after_ns);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing of its own")]
pub struct ByPolicy;

impl Settings for ByPolicy {
    #[inline(always)]
    fn spin_ns<P: Platform>(self) -> u64 {
        policy().spin_ns_per_cpu.saturating_mul(u64::from(P::hint(Hint::Cpus)))
    }

    #[inline(always)]
    fn yield_after_ns(self) -> u64 {
        policy().yield_after_ns
    }

    #[inline(always)]
    fn handoff_after_ns(self) -> u64 {
        policy().handoff_after_ns
    }
}

/// Numbers that were set explicitly; `None` stands for the policy's.
///
/// ```
/// use turnwise::RawMutex;
/// use turnwise::raw::RawLock;
/// use turnwise::wait::Tuned;
///
/// let lock = RawMutex::new();
/// let sleeps_at_once = Tuned { spin_ns: Some(0), ..Tuned::default() };
/// if !lock.lock_fast() {
///     lock.lock_tuned(sleeps_at_once);
/// }
/// // SAFETY: this thread has the lock.
/// unsafe { lock.unlock() };
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[expect(clippy::exhaustive_structs, reason = "users set some and take `..Tuned::default()` for the rest")]
pub struct Tuned {
    /// The longest spin before sleeping; with 0 there is none at all.
    pub spin_ns: Option<u64>,
    /// How long a thread contends without sleeping before it yields its CPU.
    pub yield_after_ns: Option<u64>,
    /// How long a waiter is overtaken before it requests a hand-off.
    pub handoff_after_ns: Option<u64>,
}

impl Settings for Tuned {
    fn spins(self) -> bool {
        self.spin_ns != Some(0)
    }

    fn spin_ns<P: Platform>(self) -> u64 {
        self.spin_ns.unwrap_or_else(|| ByPolicy.spin_ns::<P>())
    }

    fn yield_after_ns(self) -> u64 {
        self.yield_after_ns.unwrap_or_else(|| ByPolicy.yield_after_ns())
    }

    fn handoff_after_ns(self) -> u64 {
        self.handoff_after_ns.unwrap_or_else(|| ByPolicy.handoff_after_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Bare;

    fn all(settings: impl Settings) -> [u64; 3] {
        [settings.spin_ns::<Bare>(), settings.yield_after_ns(), settings.handoff_after_ns()]
    }

    #[test]
    fn what_is_not_set_is_the_policys() {
        assert_eq!(
            all(Tuned::default()),
            [
                policy().spin_ns_per_cpu * u64::from(Bare::hint(Hint::Cpus)),
                policy().yield_after_ns,
                policy().handoff_after_ns
            ]
        );
        assert_eq!(all(ByPolicy), all(Tuned::default()));
        assert!(ByPolicy.spins() && Tuned::default().spins());
        let set = Tuned { spin_ns: Some(0), yield_after_ns: Some(3), handoff_after_ns: Some(4) };
        assert_eq!(all(set), [0, 3, 4]);
        assert!(!set.spins());
    }
}
