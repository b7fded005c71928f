//! Where the time of some operations goes, by the program of the process: the rows of the dentry cache's paper.

use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Sub};

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

/// All of them.
pub const COMMS: [Comm; 4] = [Comm::Reaim, Comm::Ls, Comm::True, Comm::Sh];

impl Comm {
    /// Returns the kernel's name of the process.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Comm::Reaim => "reaim",
            Comm::Ls => "ls",
            Comm::True => "true",
            Comm::Sh => "sh",
        }
    }
}

/// Time spent by the processes of one kind, in nanoseconds from start to end of each operation.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Meter {
    /// Asking for paths, and taking and giving back references to root and working directory.
    pub paths_ns: u64,
    /// Paths made.
    pub paths: u64,
    /// Programs started.
    pub execs: u64,
}

/// One for each kind of process.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Meters {
    /// AIM7's users.
    pub reaim: Meter,
    /// `ls`.
    pub ls: Meter,
    /// The script `true`.
    #[serde(rename = "true")]
    pub script: Meter,
    /// The other shells.
    pub sh: Meter,
}

impl Meters {
    /// Returns the meter of a kind.
    #[must_use]
    pub fn of(&self, comm: Comm) -> Meter {
        match comm {
            Comm::Reaim => self.reaim,
            Comm::Ls => self.ls,
            Comm::True => self.script,
            Comm::Sh => self.sh,
        }
    }

    pub(super) fn at(&mut self, comm: Comm) -> &mut Meter {
        match comm {
            Comm::Reaim => &mut self.reaim,
            Comm::Ls => &mut self.ls,
            Comm::True => &mut self.script,
            Comm::Sh => &mut self.sh,
        }
    }
}

macro_rules! meters {
    ($($trait:ident::$method:ident $op:tt: $of:ident { $($field:ident)* })*) => {$(
        meters!(@ $trait $method $op $of $($field)*);
    )*};
    (@ AddAssign $method:ident $op:tt $of:ident $($field:ident)*) => {
        impl AddAssign for $of {
            fn $method(&mut self, other: $of) {
                $(self.$field $op other.$field;)*
            }
        }
    };
    (@ Sub $method:ident $op:tt $of:ident $($field:ident)*) => {
        impl Sub for $of {
            type Output = $of;
            fn $method(self, other: $of) -> $of {
                $of { $($field: self.$field $op other.$field),* }
            }
        }
    };
}

meters! {
    AddAssign::add_assign +=: Meter { paths_ns paths execs }
    Sub::sub -: Meter { paths_ns paths execs }
    AddAssign::add_assign +=: Meters { reaim ls script sh }
    Sub::sub -: Meters { reaim ls script sh }
}
