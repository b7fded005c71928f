//! What happened, event by event.

use crate::spec::Ps;

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// When, in picoseconds.
    pub ps: Ps,
    /// On which CPU.
    pub cpu: u32,
    /// To which thread.
    pub thread: u32,
    /// What.
    pub what: Happened,
}

/// Kinds of things that happen. Locks are numbers of [`super::Outcome::locks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// The thread got the CPU.
    Runs,
    /// The thread lost its CPU to another, which is ready.
    Preempted,
    /// The thread gave its CPU to another.
    Yields,
    /// The thread sleeps.
    Sleeps,
    /// Somebody made the thread ready; `None`: its alarm did.
    Woken {
        /// Who.
        by: Option<u32>,
    },
    /// The thread has ended.
    Ends,
    /// The thread asks for a lock.
    Asks {
        /// Which.
        lock: u32,
    },
    /// The thread has the lock.
    Acquires {
        /// Which.
        lock: u32,
        /// Alone, or with others.
        exclusive: bool,
    },
    /// The thread has released the lock.
    Releases {
        /// Which.
        lock: u32,
    },
    /// The CPU gets a line, which it asked for some time ago.
    Transfer {
        /// Its number.
        line: u32,
        /// Whether it comes from another node.
        remote: bool,
    },
}
