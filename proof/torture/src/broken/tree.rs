//! File systems on today's locks that are used wrongly on purpose.

use super::BrokenRecord;
use crate::locks;
use crate::verdict::Verdict::{Crash, NoOrder};
use std::time::Duration;
use turnwise::platform::Native;
use turnwise_vfs::locks::{Count, LockSet, Today};

/// Today's locks, of which one step is wrong: a look at the rename lock's sequence, or a check of a dentry.
struct Wrong<const DEAF: bool>;

impl<const DEAF: bool> LockSet<Native> for Wrong<DEAF> {
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

    /// Finds every optimistic read good, if it is deaf.
    fn read_again(rename: &Self::Rename, sequence: u64) -> bool {
        !DEAF && <Today as LockSet<Native>>::read_again(rename, sequence)
    }

    /// Gives a reference to any caller, without a check whether the dentry is dead, if it is not deaf.
    fn get_found(count: &Self::Count) -> bool {
        if DEAF {
            return <Today as LockSet<Native>>::get_found(count);
        }
        std::thread::sleep(Duration::from_micros(20)); // on the way from the chain to here, it may die
        if !count.get_live() {
            count.lock().get();
        }
        true
    }
}

pub(super) const BROKEN: &[BrokenRecord] = &[
    BrokenRecord {
        lock: locks::file_system::<Wrong<true>>(
            "vfs-deaf-to-renames",
            "a path is read without a look at the rename lock's sequence",
        ),
        caught_by: &[("tree-paths", NoOrder)],
    },
    BrokenRecord {
        lock: locks::file_system::<Wrong<false>>(
            "vfs-raises-the-dead",
            "a look-up does not check whether the dentry is dead",
        ),
        caught_by: &[("tree-names", Crash)],
    },
];
