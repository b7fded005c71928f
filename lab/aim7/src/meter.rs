//! Programs started and paths made, by what the process runs: of the dentry cache's paper.

use serde::{Deserialize, Serialize};
use std::array;

/// What a process runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Comm {
    /// A user of AIM7.
    Reaim,
    /// The program that lists a directory.
    Ls,
    /// The script of this name that runs it, for `exec_test`.
    True,
    /// The shells of `shell_rtns_*`.
    Sh,
}

/// All of them, in their order.
pub const COMMS: [Comm; 4] = [Comm::Reaim, Comm::Ls, Comm::True, Comm::Sh];

impl Comm {
    /// Returns the kernel's name of the process.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["reaim", "ls", "true", "sh"][self as usize]
    }
}

/// What the processes of one kind did.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Meter {
    /// Paths made.
    pub paths: u64,
    /// Programs started.
    pub execs: u64,
}

/// A meter for each of [`COMMS`].
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Meters([Meter; COMMS.len()]);

impl Meters {
    /// Returns the meter of a kind.
    #[must_use]
    pub fn of(&self, comm: Comm) -> Meter {
        self.0[comm as usize]
    }

    pub(super) fn at(&mut self, comm: Comm) -> &mut Meter {
        &mut self.0[comm as usize]
    }

    /// Returns each count of this and of another, combined.
    pub(super) fn with(self, other: Meters, combine: fn(u64, u64) -> u64) -> Meters {
        Meters(array::from_fn(|n| Meter {
            paths: combine(self.0[n].paths, other.0[n].paths),
            execs: combine(self.0[n].execs, other.0[n].execs),
        }))
    }
}
