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
    pub const PLAIN: Situation = Situation { locks: 1, turns: false, neighbour: Neighbour::Nobody };
}
