//! How large a check is, and what its machine is like.

use crate::platform::Identity;

/// How large a check is: its threads, and what the environment may do to them, so many times in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Threads, or as many as the check says.
    pub threads: usize,
    /// What each does, so often.
    pub rounds: u32,
    /// The clock jumps past the hand-off bound as it is read.
    pub jumps: u8,
    /// A sleeper's deadline passes.
    pub timeouts: u8,
    /// A sleeper is interrupted by a signal.
    pub interrupts: u8,
    /// A sleeper returns as if woken.
    pub unwoken: u8,
    /// The process forks, and the child goes on, with one thread.
    pub forks: u8,
}

impl Size {
    /// So many threads and rounds, and nothing else happens.
    pub const fn of(threads: usize, rounds: u32) -> Size {
        Size { threads, rounds, jumps: 0, timeouts: 0, interrupts: 0, unwoken: 0, forks: 0 }
    }

    /// The same, and so many jumps of the clock.
    pub const fn late(self, jumps: u8) -> Size {
        Size { jumps, ..self }
    }

    /// The same, and so many deadlines that pass.
    pub const fn timed(self, timeouts: u8) -> Size {
        Size { timeouts, ..self }
    }

    /// The same, and one sleeper that is interrupted, and one that returns as if woken.
    pub const fn restless(self) -> Size {
        Size { interrupts: 1, unwoken: 1, ..self }
    }

    /// The same, and a fork.
    pub const fn forked(self) -> Size {
        Size { forks: 1, ..self }
    }
}

/// What the machine is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Who the threads are to the locks.
    pub identity: Identity,
    /// CPUs that the locks are told of.
    pub cpus: u32,
    /// Spins with a limit may end in vain.
    pub spins_end: bool,
    /// An owner may be found off its CPU.
    pub owners_leave: bool,
    /// Threads may rely on deadlines that pass, to get on: somebody may have vanished, or never comes.
    pub time_helps: bool,
}

impl Machine {
    /// Threads that spin and sleep.
    pub const SPINS: Machine =
        Machine { identity: Identity::Full, cpus: 2, spins_end: true, owners_leave: false, time_helps: false };
    /// Threads without slots, which sleep at once.
    pub const SLEEPS: Machine = Machine { identity: Identity::NoSlot, ..Machine::SPINS };
}
