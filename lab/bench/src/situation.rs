//! What is peculiar about a scenario, beside its threads and what they do.

/// What else there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Situation {
    /// Locks, any of which a thread takes for an operation.
    pub locks: usize,
    /// Threads wait for each other's turns, and not for a lock alone.
    pub turns: bool,
    /// What runs beside them.
    pub neighbour: Neighbour,
    /// When threads want the lock; `None`: whenever they have done what comes before.
    pub arrivals: Option<Arrivals>,
    /// Hundredths of a CPU that the process may use, as in a container with a limit.
    pub quota: Option<u32>,
}

/// An open loop: when threads want the lock does not depend on how soon they got it the last time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// At random, each independent of all others: so many of all threads in a second.
    Poisson {
        /// The mean.
        per_s: u32,
    },
    /// All threads at once, each so many times in a row, and again after so long.
    Bursts {
        /// Of one thread.
        each: u32,
        /// From one burst to the next.
        every_us: u32,
    },
}

impl Arrivals {
    /// Arrivals of so many threads in a second.
    #[must_use]
    pub fn per_s(self, threads: usize) -> f64 {
        match self {
            Arrivals::Poisson { per_s } => f64::from(per_s),
            Arrivals::Bursts { each, every_us } => threads as f64 * f64::from(each) * 1e6 / f64::from(every_us),
        }
    }
}

/// What runs beside the threads of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbour {
    /// Nothing of ours.
    Nobody,
    /// A process that keeps a CPU busy, any of them.
    Free,
    /// The same on the CPU that the last thread stays on.
    OnLastThread,
}

impl Situation {
    /// One lock, and nothing else.
    pub const PLAIN: Situation =
        Situation { locks: 1, turns: false, neighbour: Neighbour::Nobody, arrivals: None, quota: None };
}
