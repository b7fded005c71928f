//! File systems on today's locks that are used wrongly on purpose.

use super::BrokenRecord;
use crate::locks;
use crate::verdict::Verdict::{Crash, NoOrder};
use std::time::Duration;
use turnwise::platform::Native;
use turnwise_vfs::locks::{Count, LockSet, Today};

/// Defines a set of today's locks in which one step is wrong.
macro_rules! wrong {
    ($(#[$doc:meta])* $name:ident: $($step:tt)*) => {
        $(#[$doc])*
        struct $name;

        impl LockSet<Native> for $name {
            const NAME: &'static str = "broken";
            const COUNTS_ROOT: bool = false;
            const COUNTS_LOOKS: bool = false;
            type Count = <Today as LockSet<Native>>::Count;
            type Rename = <Today as LockSet<Native>>::Rename;
            type Mutex = <Today as LockSet<Native>>::Mutex;
            type Spin = <Today as LockSet<Native>>::Spin;
            type RwSpin = <Today as LockSet<Native>>::RwSpin;
            type RwSem = <Today as LockSet<Native>>::RwSem;
            type AnonVma = <Today as LockSet<Native>>::AnonVma;

            $($step)*
        }
    };
}

wrong! {
    /// Finds every optimistic read good.
    Deaf:
    fn read_again(_rename: &Self::Rename, _sequence: u64) -> bool {
        false
    }
}

wrong! {
    /// Gives a reference to any caller, without a check whether the dentry is dead.
    Blind:
    fn get_found(count: &Self::Count) -> bool {
        std::thread::sleep(Duration::from_micros(20)); // on the way from the chain to here, it may die
        if !count.get_live() {
            count.lock().get();
        }
        true
    }
}

pub(super) const BROKEN: &[BrokenRecord] = &[
    BrokenRecord {
        lock: locks::file_system::<Deaf>(
            "vfs-deaf-to-renames",
            "a path is read without a look at the rename lock's sequence",
        ),
        caught_by: &[("tree-paths", NoOrder)],
    },
    BrokenRecord {
        lock: locks::file_system::<Blind>("vfs-raises-the-dead", "a look-up does not check whether the dentry is dead"),
        caught_by: &[("tree-names", Crash)],
    },
];
