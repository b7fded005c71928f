//! What threads sleep on besides locks and condition variables.

use crate::kind::LockKind;
use crate::model::{Distribution, FrameId};
use serde::{Deserialize, Serialize};

/// A semaphore, a barrier, the end of a thread, or a word that threads sleep on by futex calls: for an event or for
/// work, as far as the functions tell that call them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Awaited {
    /// Its address; where each thread sleeps on a word of its own, or ends, one of those.
    pub address: u64,
    /// Its type.
    pub kind: LockKind,
    /// Its variable, or where threads sleep on it.
    pub name: String,
    /// The lengths of the sleeps.
    pub wait: Distribution,
    /// The number of them that ended without a wake-up.
    pub timed_out: u64,
    /// Calls that were to wake sleepers, and those of them that woke none.
    pub wake_ups: (u64, u64),
    /// Where threads slept, by total time, longest first.
    pub sites: Vec<AwaitedSite>,
}

/// A place in the program from which threads slept.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AwaitedSite {
    /// The frame that called, with frames inlined there; innermost first, without those of locks and semaphores.
    pub frames: Vec<FrameId>,
    /// The number of sleeps.
    pub waits: u64,
    /// Their time.
    pub wait_ns: u64,
}
