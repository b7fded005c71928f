//! The smallest locks that a file system can be built of, so that its order of steps is tested and not the locks',
//! which have models of their own.

use crate::platform::Loom;
use std::marker::PhantomData;
use std::thread::panicking;
use turnwise::RawSpinLock;
use turnwise::backoff::NoBackoff;
use turnwise::raw::{RawLock, RawRwLock};
use turnwise_lineage::d_count::{self, DCount, Put};
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

/// Makes methods that do what those of the lock inside do, but return at once while a failed model is cleaned up.
macro_rules! quiet {
    ($(fn $method:ident($($argument:ident: $type:ty)?) $(-> $answer:ty = $early:expr)?;)*) => {$(
        fn $method(&self $(, $argument: $type)?) $(-> $answer)? {
            if panicking() { quiet!(@early $($early)?) } else { self.0.$method($($argument)?) }
        }
    )*};
    (@early) => { () };
    (@early $early:expr) => { $early };
}

// SAFETY: the lock inside keeps these guarantees until a model has failed; then a single thread cleans up.
unsafe impl<L: RawLock> RawLock for Quiet<L> {
    const REENTRANT: bool = L::REENTRANT;
    type Platform = L::Platform;
    type GuardMarker = L::GuardMarker;

    fn new_in() -> Self {
        Quiet(L::new_in())
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
    quiet! {
        fn lock();
        fn try_lock() -> bool = true;
    }
}

// SAFETY: the lock inside keeps the guarantees of `RawRwLock` until a model has failed.
unsafe impl<L: RawRwLock> RawRwLock for Quiet<L> {
    quiet! {
        fn read();
        fn try_read() -> bool = true;
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

    quiet! {
        fn read_begin() -> u64 = 0;
        fn read_retry(sequence: u64) -> bool = false;
    }
}

impl<C: Count> Count for Quiet<C> {
    fn with_references(count: u32) -> Self {
        Quiet(C::with_references(count))
    }
    fn count(&self) -> u32 {
        self.0.count()
    }
    quiet! {
        fn get() -> bool = false;
        fn get_live() -> bool = true;
        fn put_with(at_last: impl FnOnce()) -> Put = Put { last: false, locked: false };
        fn put_unless_last() -> bool = true;
        fn put_quickly() -> bool = false;
        fn kill_unused(at_kill: impl FnOnce()) -> bool = false;
    }
}
