//! How large a check is, and what its machine is like.

use crate::platform::Identity;

/// How large a check is: its threads, and how often in all the environment may act on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Threads, or the number that the check sets.
    pub threads: usize,
    /// How often each thread does its part.
    pub rounds: u32,
    /// The clock jumps past the hand-off bound as it is read.
    pub jumps: u8,
    /// A sleeper's deadline passes.
    pub timeouts: u8,
    /// A sleeper is interrupted by a signal.
    pub interrupts: u8,
    /// A sleeper returns as if woken.
    pub unwoken: u8,
    /// The process forks, and the child continues, with one thread.
    pub forks: u8,
    /// The first thread is stopped for ever in its wait; then the next deadline passes where nothing else can happen.
    pub stops: u8,
}

impl Size {
    /// Returns a check of these threads and rounds, in which nothing else happens.
    pub const fn of(threads: usize, rounds: u32) -> Size {
        Size { threads, rounds, jumps: 0, timeouts: 0, interrupts: 0, unwoken: 0, forks: 0, stops: 0 }
    }

    /// Lets the clock jump `jumps` times.
    pub const fn late(self, jumps: u8) -> Size {
        Size { jumps, ..self }
    }

    /// Lets `timeouts` deadlines pass.
    pub const fn timed(self, timeouts: u8) -> Size {
        Size { timeouts, ..self }
    }

    /// Lets one sleeper be interrupted, and one return as if woken.
    pub const fn woken_spuriously(self) -> Size {
        Size { interrupts: 1, unwoken: 1, ..self }
    }

    /// Lets the process fork once.
    pub const fn forked(self) -> Size {
        Size { forks: 1, ..self }
    }

    /// Lets the first thread be stopped for ever, while it sleeps or is about to.
    pub const fn stopped(self) -> Size {
        Size { stops: 1, ..self }
    }
}

/// What the machine is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// What identity the threads have for the locks.
    pub identity: Identity,
    /// CPUs that the locks see.
    pub cpus: u32,
    /// Spins with a limit may end without success.
    pub spins_end: bool,
    /// An owner may be found off its CPU.
    pub owners_leave: bool,
    /// Threads may rely on deadlines that pass to make progress: a thread may have vanished, or never comes.
    pub time_helps: bool,
    /// Threads write into each other's stacks: a step may change all of them.
    pub stacks_are_shared: bool,
}

impl Machine {
    /// Threads that spin and sleep.
    pub const SPINS: Machine = Machine {
        identity: Identity::Full,
        cpus: 2,
        spins_end: true,
        owners_leave: false,
        time_helps: false,
        stacks_are_shared: false,
    };
    /// Threads without slots, which sleep at once.
    pub const SLEEPS: Machine = Machine { identity: Identity::NoSlot, ..Machine::SPINS };
}
