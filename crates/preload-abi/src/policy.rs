//! The lock policies from which users choose: their order, names and numbers.

use core::fmt;

/// One of our locks, which the preload library substitutes for a program's mutexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Lock {
    /// The adaptive mutex: `RawMutex`. Its number is 0: the preload library's fast path tests kind and lock together.
    Adaptive = 0,
    /// The queued spin lock, first come, first served: `RawQueuedSpinLock`.
    Queued = 1,
    /// The test-and-test-and-set spin lock: `RawSpinLock`.
    Ttas = 2,
    /// The ticket spin lock, first come, first served: `RawTicketLock`.
    Ticket = 3,
}

impl Lock {
    /// All locks, by number.
    pub const ALL: [Lock; 4] = [Lock::Adaptive, Lock::Queued, Lock::Ttas, Lock::Ticket];

    /// Returns the lock that a value of [`LOCK`](crate::environment::LOCK) requests; `None`: it names none of ours.
    pub fn asked_for(value: &[u8]) -> Option<Lock> {
        if value.is_empty() {
            return Some(Lock::Adaptive);
        }
        match Policy::by_name(str::from_utf8(value).ok()?)? {
            Policy::Turnwise(lock) => Some(lock),
            Policy::Libc => None,
        }
    }

    /// Returns the name by which users know it.
    pub const fn name(self) -> &'static str {
        match self {
            Lock::Adaptive => "adaptive",
            Lock::Queued => "queued",
            Lock::Ttas => "ttas",
            Lock::Ticket => "ticket",
        }
    }
}

/// The locks that serve as a program's pthread locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The C library's locks.
    Libc,
    /// One of our locks.
    Turnwise(Lock),
}

impl Policy {
    /// The adaptive mutex: waiters queue, spin only while the owner runs, then sleep. It is the default.
    pub const ADAPTIVE: Policy = Policy::Turnwise(Lock::Adaptive);
    /// The queued spin lock.
    pub const QUEUED: Policy = Policy::Turnwise(Lock::Queued);
    /// The test-and-test-and-set spin lock.
    pub const TTAS: Policy = Policy::Turnwise(Lock::Ttas);
    /// The ticket spin lock.
    pub const TICKET: Policy = Policy::Turnwise(Lock::Ticket);
    /// All policies, in the order in which users see them.
    pub const ALL: [Policy; 5] = [Policy::Libc, Policy::ADAPTIVE, Policy::QUEUED, Policy::TTAS, Policy::TICKET];
    /// Former names of policies, which still work.
    pub const OLD_NAMES: [(&'static str, Policy); 1] = [("mcs", Policy::QUEUED)];

    /// Returns the name by which users know it.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Libc => "libc",
            Policy::Turnwise(lock) => lock.name(),
        }
    }

    /// Describes the policy in one line for users.
    pub const fn summary(self) -> &'static str {
        match self {
            Policy::Libc => "the C library's own locks; nothing is interposed",
            Policy::ADAPTIVE => "queued spinners, spinning only while the owner runs, bounded waits",
            Policy::QUEUED => "queued spin lock: first come, first served; never sleeps",
            Policy::TTAS => "test-and-test-and-set spin lock with back-off; never sleeps",
            Policy::TICKET => "ticket spin lock: first come, first served; never sleeps",
        }
    }

    /// Returns whether waiters spin until they get the lock, and never sleep.
    pub const fn spins(self) -> bool {
        !matches!(self, Policy::Libc | Policy::ADAPTIVE)
    }

    /// Returns the policy that has, or had, this name.
    pub fn by_name(name: &str) -> Option<Policy> {
        let known = Self::ALL.map(|policy| (policy.name(), policy)).into_iter().chain(Self::OLD_NAMES);
        known.into_iter().find(|(known, _)| *known == name).map(|(_, policy)| policy)
    }

    /// Returns the policy's number in a table: a lock's own number, or the next one after them.
    pub const fn number(self) -> u8 {
        match self {
            Policy::Turnwise(lock) => lock as u8,
            Policy::Libc => Lock::ALL.len() as u8,
        }
    }

    /// Returns the policy with this number.
    pub fn of(number: u8) -> Option<Policy> {
        Self::ALL.into_iter().find(|policy| policy.number() == number)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back() {
        for policy in Policy::ALL {
            assert_eq!(Policy::of(policy.number()), Some(policy));
            assert_eq!(Policy::by_name(policy.name()), Some(policy));
        }
        for (number, lock) in Lock::ALL.into_iter().enumerate() {
            assert_eq!(lock as usize, number, "locks are looked up by number");
        }
        assert_eq!(Policy::of(5), None);
        assert_eq!(Policy::by_name("mutex"), None);
    }

    #[test]
    fn old_names_work_and_are_no_names() {
        for (old, policy) in Policy::OLD_NAMES {
            assert_eq!(Policy::by_name(old), Some(policy));
            assert!(Policy::ALL.iter().all(|policy| policy.name() != old));
        }
    }

    #[test]
    fn the_environment_asks_for_our_locks_alone() {
        assert_eq!(Lock::asked_for(b""), Some(Lock::Adaptive));
        assert_eq!(Lock::asked_for(b"ticket"), Some(Lock::Ticket));
        assert_eq!(Lock::asked_for(b"mcs"), Some(Lock::Queued));
        for none in [&b"libc"[..], b"adaptve", b"\xff"] {
            assert_eq!(Lock::asked_for(none), None);
        }
    }
}
