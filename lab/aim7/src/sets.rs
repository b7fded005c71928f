//! The sets of locks that a run can have, by name.

use super::metal;
use super::outcome::Outcome;
use super::setup::Setup;
use super::simulate::{self, Plan};
use anyhow::Result;
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::{
    Linux37, Linux37Patch1, Linux37Patch2, Linux38, Linux38Patch1, Linux38Patch2, Linux310, Linux310Dcache, Linux312,
    Today,
};

/// A set of locks.
pub struct Set {
    /// Its name in `--locks`.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    pub(super) metal: fn(&Setup, u32) -> Result<Outcome>,
    pub(super) simulate: fn(&Plan) -> Result<Outcome>,
}

macro_rules! sets {
    ($($set:ident: $help:literal,)*) => {
        /// All of them, the oldest first.
        pub static SETS: &[Set] = &[$(Set {
            name: <$set as LockSet<turnwise::platform::Native>>::NAME,
            help: $help,
            metal: metal::run::<$set>,
            simulate: simulate::run::<$set>,
        }),*];
    };
}

sets! {
    Linux37: "Linux 3.7: the mutex before its patches, counts under d_lock, every path a writer of rename_lock",
    Linux37Patch1: "the same with the mutex's patch 1: spinners poll before they exchange",
    Linux37Patch2: "the same with both patches: spinners queue",
    Linux38: "Linux 3.8: the trees of anonymous memory have an rwsem, which was a mutex",
    Linux38Patch1: "Linux 3.8 with the mutex's patch 1",
    Linux38Patch2: "Linux 3.8 with both patches of the mutex",
    Linux310: "Linux 3.10: before the dentry cache's patches",
    Linux310Dcache: "Linux 3.10 with the dentry cache's patches: compare-exchange, sequence read/write lock",
    Linux312: "Linux 3.12: what became of them, lockref and a sequence first",
    Today: "the locks of turnwise",
}

impl Set {
    /// Returns the set of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Set> {
        SETS.iter().find(|set| set.name == name)
    }
}
