//! What is peculiar about a scenario, beyond its threads and what they do.

use serde::Deserialize;

/// Further circumstances.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Situation {
    /// Locks, any of which a thread takes for an operation.
    pub locks: usize,
    /// Threads wait for each other's turns, and not only for a lock.
    pub turns: bool,
    /// What runs alongside them.
    #[serde(rename = "beside")]
    pub neighbour: Neighbour,
    /// When threads want the lock; `None`: as soon as they have done what comes before.
    pub arrivals: Option<Arrivals>,
    /// Hundredths of a CPU that the process may use, as in a container with a limit.
    pub quota: Option<u32>,
}

/// An open loop: when threads want the lock does not depend on how soon they got it the last time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At random, each independent of all others: this many per second over all threads.
    Poisson {
        /// The mean.
        per_s: u32,
    },
    /// All threads at once, each this many times in a row, and again after this time.
    Bursts {
        /// Of one thread.
        each: u32,
        /// From one burst to the next.
        every_us: u32,
    },
}

impl Arrivals {
    /// Returns the arrivals of this many threads per second.
    #[must_use]
    pub fn per_s(self, threads: usize) -> f64 {
        match self {
            Arrivals::Poisson { per_s } => f64::from(per_s),
            Arrivals::Bursts { each, every_us } => threads as f64 * f64::from(each) * 1e6 / f64::from(every_us),
        }
    }
}

/// What runs alongside the threads of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbour {
    /// No process of ours.
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

impl Default for Situation {
    fn default() -> Situation {
        Situation::PLAIN
    }
}
