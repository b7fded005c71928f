//! File systems on locks that are wrong on purpose.

use super::BrokenRecord;
use crate::locks;
use crate::verdict::Verdict::{Crash, NoOrder};
use std::marker::PhantomData;
use std::time::Duration;
use turnwise::platform::Native;
use turnwise::{LockRef, RawSeqRwLock};
use turnwise_vfs::locks::{Count, LockSet, PathsBy, Rename, Today};

/// Today's locks, but for the count and the rename lock.
struct With<C, R>(PhantomData<(C, R)>);

impl<C: Count, R: Rename> LockSet<Native> for With<C, R> {
    const NAME: &'static str = "broken";
    const COUNTS_ROOT: bool = false;
    const COUNTS_LOOKS: bool = false;
    type Count = C;
    type Rename = R;
    type Mutex = <Today as LockSet<Native>>::Mutex;
    type Spin = <Today as LockSet<Native>>::Spin;
    type RwSpin = <Today as LockSet<Native>>::RwSpin;
    type RwSem = <Today as LockSet<Native>>::RwSem;
    type AnonVma = <Today as LockSet<Native>>::AnonVma;
}

/// Finds every optimistic read good.
struct Deaf(RawSeqRwLock);

impl Rename for Deaf {
    const PATHS: PathsBy = PathsBy::SequenceThenBlocking;

    fn new_in() -> Self {
        Deaf(RawSeqRwLock::new())
    }
    fn read_begin(&self) -> u64 {
        0
    }
    fn read_retry(&self, _sequence: u64) -> bool {
        false
    }
    fn read_blocking(&self) {
        self.0.blocking_read();
    }
    unsafe fn unlock_blocking(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock_blocking_read() };
    }
    fn write(&self) {
        self.0.write();
    }
    unsafe fn unlock_write(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock_write() };
    }
}

/// Gives a reference to anybody who asks, without a check whether the dentry is dead.
struct Blind(LockRef);

impl Count for Blind {
    fn new_in(count: u32) -> Self {
        Blind(LockRef::new(count))
    }
    fn get(&self) {
        Count::get(&self.0);
    }
    fn get_live(&self) -> bool {
        std::thread::sleep(Duration::from_micros(20)); // on the way from the chain to here, it may die
        if !Count::get_live(&self.0) {
            self.0.lock().get();
        }
        true
    }
    fn put(&self, at_last: impl FnOnce()) -> bool {
        Count::put(&self.0, at_last)
    }
    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        Count::kill_unused(&self.0, at_kill)
    }
    fn count(&self) -> u32 {
        Count::count(&self.0)
    }
    fn lock(&self) {
        Count::lock(&self.0);
    }
    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { Count::unlock(&self.0) };
    }
}

pub(super) const BROKEN: &[BrokenRecord] = &[
    BrokenRecord {
        lock: locks::tree::<With<LockRef, Deaf>>(
            "vfs-deaf-to-renames",
            "a path is read without a look at the rename lock's sequence",
        ),
        caught_by: &[("tree-paths", NoOrder)],
    },
    BrokenRecord {
        lock: locks::tree::<With<Blind, RawSeqRwLock>>(
            "vfs-raises-the-dead",
            "a look-up does not check whether the dentry is dead",
        ),
        caught_by: &[("tree-names", Crash)],
    },
];
