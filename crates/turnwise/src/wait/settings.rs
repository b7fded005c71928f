//! The numbers of a policy that may differ from wait to wait.
//!
//! They decide how long a thread spins and when it requests a hand-off, but not which thread may take a lock: a lock's
//! word and its guarantees are the same with any settings, and threads with different ones may wait for one lock. So
//! settings may change while threads wait. The models and the torture tests run with the extremes.

use super::policy;
#[cfg(feature = "spin")]
use crate::platform::{Hint, Platform};

/// The numbers that govern one wait; `None` stands for the policy's.
///
/// ```
/// use turnwise::RawMutex;
/// use turnwise::raw::RawLock;
/// use turnwise::wait::Tuned;
///
/// let lock = RawMutex::new();
/// let sleeps_at_once = Tuned { spin_ns: Some(0), ..Tuned::POLICY };
/// if !lock.lock_fast() {
///     lock.lock_tuned(sleeps_at_once);
/// }
/// // SAFETY: this thread has the lock.
/// unsafe { lock.unlock() };
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[expect(clippy::exhaustive_structs, reason = "users set some and take `..Tuned::POLICY` for the rest")]
pub struct Tuned {
    /// The longest spin before sleeping; with 0 there is none at all.
    pub spin_ns: Option<u64>,
    /// How long a thread contends without sleeping before it yields its CPU.
    pub yield_after_ns: Option<u64>,
    /// How long a waiter is overtaken before it requests a hand-off.
    pub handoff_after_ns: Option<u64>,
}

impl Tuned {
    /// The policy's numbers.
    pub const POLICY: Tuned = Tuned { spin_ns: None, yield_after_ns: None, handoff_after_ns: None };

    /// Returns whether the thread spins at all before it sleeps.
    #[cfg(feature = "spin")]
    pub(crate) fn spins(&self) -> bool {
        self.spin_ns != Some(0)
    }

    /// Returns the longest spin before sleeping: by the policy
    /// [`spin_ns_per_cpu`](super::Policy::spin_ns_per_cpu), on this machine.
    #[cfg(feature = "spin")]
    pub(crate) fn spin_ns<P: Platform>(&self) -> u64 {
        let by_policy = || policy().spin_ns_per_cpu.saturating_mul(u64::from(P::hint(Hint::Cpus)));
        self.spin_ns.unwrap_or_else(by_policy)
    }

    /// Returns after how long without sleep a thread yields its CPU.
    #[cfg(feature = "spin")]
    pub(crate) fn yield_after_ns(&self) -> u64 {
        self.yield_after_ns.unwrap_or(policy().yield_after_ns)
    }

    /// Returns how long a waiter is overtaken before it requests a hand-off.
    pub(crate) fn handoff_after_ns(&self) -> u64 {
        self.handoff_after_ns.unwrap_or(policy().handoff_after_ns)
    }
}

#[cfg(all(test, feature = "spin"))]
mod tests {
    use super::*;
    use crate::platform::Bare;

    fn all(settings: Tuned) -> [u64; 3] {
        [settings.spin_ns::<Bare>(), settings.yield_after_ns(), settings.handoff_after_ns()]
    }

    #[test]
    fn what_is_not_set_is_the_policys() {
        let spin_ns = policy().spin_ns_per_cpu * u64::from(Bare::hint(Hint::Cpus));
        assert_eq!(all(Tuned::POLICY), [spin_ns, policy().yield_after_ns, policy().handoff_after_ns]);
        assert_eq!(Tuned::POLICY, Tuned::default());
        let set = Tuned { spin_ns: Some(0), yield_after_ns: Some(3), handoff_after_ns: Some(4) };
        assert_eq!(all(set), [0, 3, 4]);
        assert!(!set.spins() && Tuned::POLICY.spins());
    }
}
