//! File systems on locks that are wrong on purpose.

use std::time::Duration;
use turnwise::platform::Native;
use turnwise::{LockRef, RawSeqRwLock};
use turnwise_vfs::locks::{Count, LockSet, PathsBy, Rename, Today};

/// Today's locks, but paths are read without a look at the sequence.
pub(super) struct DeafToRenames;

impl LockSet<Native> for DeafToRenames {
    const NAME: &'static str = "deaf-to-renames";
    const COUNTS_ROOT: bool = false;
    const COUNTS_LOOKS: bool = false;
    type Count = LockRef;
    type Rename = Deaf;
    type Mutex = <Today as LockSet<Native>>::Mutex;
    type Spin = <Today as LockSet<Native>>::Spin;
    type RwSpin = <Today as LockSet<Native>>::RwSpin;
    type RwSem = <Today as LockSet<Native>>::RwSem;
}

/// Finds every optimistic read good.
pub(super) struct Deaf(RawSeqRwLock);

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

/// Today's locks, but a look-up does not check whether the dentry is dead.
pub(super) struct RaisesTheDead;

impl LockSet<Native> for RaisesTheDead {
    const NAME: &'static str = "raises-the-dead";
    const COUNTS_ROOT: bool = false;
    const COUNTS_LOOKS: bool = false;
    type Count = Blind;
    type Rename = <Today as LockSet<Native>>::Rename;
    type Mutex = <Today as LockSet<Native>>::Mutex;
    type Spin = <Today as LockSet<Native>>::Spin;
    type RwSpin = <Today as LockSet<Native>>::RwSpin;
    type RwSem = <Today as LockSet<Native>>::RwSem;
}

/// Gives a reference to whoever asks.
pub(super) struct Blind(LockRef);

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
