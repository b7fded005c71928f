//! Orders of locks that may lead to a deadlock, and misuse of mutexes.

use crate::model::{LockId, SiteId, StackId, ThreadId};
use serde::{Deserialize, Serialize};

/// A possible deadlock: in each step a thread takes the lock that is held in the next step, and in the last one that of
/// the first. Threads that stand in all steps at once wait for one another forever.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LockCycle {
    /// The steps; at least two.
    pub steps: Vec<CycleStep>,
}

/// A step of a [`LockCycle`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CycleStep {
    /// The lock that is held.
    pub held: LockId,
    /// Where it was taken.
    pub held_at: SiteId,
    /// Where the lock of the next step is taken under it.
    pub taken_at: SiteId,
    /// The threads that did so.
    pub threads: Vec<ThreadId>,
    /// All locks that are held then, and whether only for reading.
    #[serde(skip)]
    pub guards: Vec<(LockId, bool)>,
}

impl LockCycle {
    /// Returns each step, with the lock that is taken in it.
    pub fn orders(&self) -> impl Iterator<Item = (&CycleStep, LockId)> {
        let next = self.steps.iter().cycle().skip(1).map(|step| step.held);
        self.steps.iter().zip(next)
    }
}

/// A thread did with a mutex what POSIX forbids.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Misuse {
    /// What it did.
    pub kind: MisuseKind,
    /// The mutex's name.
    pub lock: String,
    /// Its index in [`Profile::locks`](crate::model::Profile::locks), if it is there.
    pub lock_id: Option<LockId>,
    /// The thread.
    pub thread: ThreadId,
    /// The call's stack, if known.
    pub stack: Option<StackId>,
    /// The thread that had the mutex, if one had it.
    pub holder: Option<ThreadId>,
    /// Where that thread had acquired it, if known.
    pub taken_at: Option<SiteId>,
}

/// The kind of a [`Misuse`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MisuseKind {
    /// It released a mutex that another thread had.
    ReleasedOfAnother,
    /// It released a mutex that no thread had.
    ReleasedFree,
    /// It destroyed a mutex that a thread had.
    DestroyedHeld,
    /// It waited on a condition variable with a mutex that it did not have.
    WaitedWithout,
    /// It ended with a mutex.
    EndedWith,
}
