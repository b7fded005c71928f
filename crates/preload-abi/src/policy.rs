//! The lock policies: what users choose from, in their order and under their names.

use core::fmt;

/// One of our locks, which the preload library puts in the place of a program's mutexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Lock {
    /// `turnwise::RawMutex`. Its number is 0: the preload library's fast path tests kind and lock in one go.
    Adaptive = 0,
    /// A queue of spinners, first come, first served: `RawQueuedSpinLock`.
    Queued = 1,
    /// Test and test-and-set: `RawSpinLock`.
    Ttas = 2,
    /// Tickets, first come, first served: `RawTicketLock`.
    Ticket = 3,
}

impl Lock {
    /// All of them, by number.
    pub const ALL: [Lock; 4] = [Lock::Adaptive, Lock::Queued, Lock::Ttas, Lock::Ticket];

    /// The lock that a value of [`LOCK`](crate::environment::LOCK) asks for; `None`: it names none of ours.
    pub fn asked_for(value: &[u8]) -> Option<Lock> {
        if value.is_empty() {
            return Some(Lock::Adaptive);
        }
        match Policy::by_name(str::from_utf8(value).ok()?)? {
            Policy::Turnwise(lock) => Some(lock),
            Policy::Libc => None,
        }
    }

    /// What users call it.
    pub const fn name(self) -> &'static str {
        match self {
            Lock::Adaptive => "adaptive",
            Lock::Queued => "queued",
            Lock::Ttas => "ttas",
            Lock::Ticket => "ticket",
        }
    }
}

/// Whose locks a program's pthread locks are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The C library's.
    Libc,
    /// Ours.
    Turnwise(Lock),
}

impl Policy {
    /// Queued spinners that spin only while the owner runs, then sleep. What a program gets unless told otherwise.
    pub const ADAPTIVE: Policy = Policy::Turnwise(Lock::Adaptive);
    /// The queued spin lock.
    pub const QUEUED: Policy = Policy::Turnwise(Lock::Queued);
    /// The test-and-test-and-set spin lock.
    pub const TTAS: Policy = Policy::Turnwise(Lock::Ttas);
    /// The ticket spin lock.
    pub const TICKET: Policy = Policy::Turnwise(Lock::Ticket);
    /// All of them, in the order in which users read them.
    pub const ALL: [Policy; 5] = [Policy::Libc, Policy::ADAPTIVE, Policy::QUEUED, Policy::TTAS, Policy::TICKET];
    /// Names that policies once had; they still work.
    pub const OLD_NAMES: [(&'static str, Policy); 1] = [("mcs", Policy::QUEUED)];

    /// What users call it.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Libc => "libc",
            Policy::Turnwise(lock) => lock.name(),
        }
    }

    /// What it is, in one line for users.
    pub const fn summary(self) -> &'static str {
        match self {
            Policy::Libc => "the C library's own locks; nothing is interposed",
            Policy::ADAPTIVE => "queued spinners, spinning only while the owner runs, bounded waits",
            Policy::QUEUED => "queued spin lock: first come, first served; never sleeps",
            Policy::TTAS => "test-and-test-and-set spin lock with back-off; never sleeps",
            Policy::TICKET => "ticket spin lock: first come, first served; never sleeps",
        }
    }

    /// Whether its waiters spin until they have the lock, and never sleep.
    pub const fn spins(self) -> bool {
        !matches!(self, Policy::Libc | Policy::ADAPTIVE)
    }

    /// The policy that users call so, or once did.
    pub fn by_name(name: &str) -> Option<Policy> {
        let known = Self::ALL.map(|policy| (policy.name(), policy)).into_iter().chain(Self::OLD_NAMES);
        known.into_iter().find(|(known, _)| *known == name).map(|(_, policy)| policy)
    }

    /// Its number in a table: a lock's own, or the one behind them.
    pub const fn number(self) -> u8 {
        match self {
            Policy::Turnwise(lock) => lock as u8,
            Policy::Libc => Lock::ALL.len() as u8,
        }
    }

    /// The policy of this number.
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
