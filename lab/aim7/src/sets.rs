//! The sets of locks that a run can have, by name.

use super::outcome::Outcome;
use super::simulate::{self, Plan};
use anyhow::Result;
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::{
    Linux37, Linux37Patch1, Linux37Patch2, Linux38, Linux38Patch1, Linux38Patch2, Linux310, Linux310Dcache, Linux312,
    Today,
};

/// A set of locks.
pub struct Set {
    /// Its name.
    pub name: &'static str,
    pub(super) simulate: fn(&Plan) -> Result<Outcome>,
}

macro_rules! sets {
    ($($set:ident)*) => {
        /// All of them, the oldest first.
        pub static SETS: &[Set] = &[$(Set {
            name: <$set as LockSet<turnwise::platform::Native>>::NAME,
            simulate: simulate::run::<$set>,
        }),*];
    };
}

sets! { Linux37 Linux37Patch1 Linux37Patch2 Linux38 Linux38Patch1 Linux38Patch2 Linux310 Linux310Dcache Linux312 Today }

impl Set {
    /// Returns the set of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Set> {
        SETS.iter().find(|set| set.name == name)
    }
}
