//! The smallest locks that a file system can be built of, so that its order of steps is tested and not the locks',
//! which have models of their own.

use crate::platform::Loom;
use std::marker::PhantomData;
use std::thread::panicking;
use turnwise::RawSpinLock;
use turnwise::backoff::NoBackoff;
use turnwise::raw::{RawLock, RawRwLock};
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock};
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::{Count, PathsBy, Rename};

/// Spin locks of one word for all but the count and the rename lock.
pub(super) struct Lean<C = DCount<d_count::LockRef, Loom>, R = RenameLock<rename_lock::SeqExclusive, Loom>>(
    PhantomData<(C, R)>,
);

/// The counts of Linux 3.10 with the paper's patch, and its rename lock.
pub(super) type Patched = Lean<DCount<d_count::CmpXchg, Loom>, RenameLock<rename_lock::SeqRw, Loom>>;

impl<C: Count, R: Rename> LockSet<Loom> for Lean<C, R> {
    const NAME: &'static str = "lean";
    const COUNTS_ROOT: bool = false;
    const COUNTS_LOOKS: bool = false;
    type Count = Quiet<C>;
    type Rename = Quiet<R>;
    /// Sleeping is for the locks' own models.
    type Mutex = Quiet<RawSpinLock<NoBackoff, Loom>>;
    type Spin = Quiet<KernelTicketLock<Loom>>;
    type RwSpin = Quiet<BiasedRwLock<Loom>>;
    type RwSem = Quiet<BiasedRwLock<Loom>>;
    type AnonVma = Quiet<RawSpinLock<NoBackoff, Loom>>;
}

/// Does nothing while a failed model is cleaned up: a thread that has a lock then will never release it.
pub(super) struct Quiet<L>(L);

// SAFETY: the lock inside keeps these guarantees until a model has failed; then a single thread cleans up.
unsafe impl<L: RawLock> RawLock for Quiet<L> {
    const REENTRANT: bool = L::REENTRANT;
    type Platform = L::Platform;
    type GuardMarker = L::GuardMarker;

    fn new_in() -> Self {
        Quiet(L::new_in())
    }
    fn lock(&self) {
        if !panicking() {
            self.0.lock();
        }
    }
    fn try_lock(&self) -> bool {
        panicking() || self.0.try_lock()
    }
    unsafe fn unlock(&self) {
        if !panicking() {
            // SAFETY: guaranteed by the caller.
            unsafe { self.0.unlock() };
        }
    }
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: the lock inside keeps the guarantees of `RawRwLock` until a model has failed.
unsafe impl<L: RawRwLock> RawRwLock for Quiet<L> {
    fn read(&self) {
        if !panicking() {
            self.0.read();
        }
    }
    fn try_read(&self) -> bool {
        panicking() || self.0.try_read()
    }
    unsafe fn unlock_read(&self) {
        if !panicking() {
            // SAFETY: guaranteed by the caller.
            unsafe { self.0.unlock_read() };
        }
    }
}

impl<L: Rename> Rename for Quiet<L> {
    const PATHS: PathsBy = L::PATHS;

    fn read_begin(&self) -> u64 {
        if panicking() { 0 } else { self.0.read_begin() }
    }
    fn read_retry(&self, sequence: u64) -> bool {
        !panicking() && self.0.read_retry(sequence)
    }
}

impl<C: Count> Count for Quiet<C> {
    fn with_references(count: u32) -> Self {
        Quiet(C::with_references(count))
    }
    fn get(&self) {
        if !panicking() {
            self.0.get();
        }
    }
    fn get_live(&self) -> bool {
        panicking() || self.0.get_live()
    }
    fn put(&self, at_last: impl FnOnce()) -> bool {
        !panicking() && self.0.put(at_last)
    }
    fn put_unless_last(&self) -> bool {
        panicking() || self.0.put_unless_last()
    }
    fn put_quickly(&self) -> bool {
        !panicking() && self.0.put_quickly()
    }
    fn kill_unused(&self, at_kill: impl FnOnce()) -> bool {
        !panicking() && self.0.kill_unused(at_kill)
    }
    fn count(&self) -> u32 {
        self.0.count()
    }
}
