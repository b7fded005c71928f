//! The file system's own protocols, on the smallest locks that do.

mod journal;

use super::Protected;
use crate::check::Model;
use crate::platform::{Handle, Loom, LoomHost, Setup, keep, on_charge, rest, saw, spawn};
use std::marker::PhantomData;
use turnwise::RawSpinLock;
use turnwise::backoff::NoBackoff;
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::{BiasedRwLock, DCount, d_count};
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::{Count, Rename};

/// All models of the file system.
pub(super) fn all() -> Vec<Model> {
    [journal::MODELS].concat()
}

type Shows = &'static [&'static str];

/// Locks of one word each but for count and rename lock, so that what is tried is the file system's order of steps and
/// not the locks', which have models of their own.
struct Lean<C = DCount<d_count::LockRef, Loom>, R = RenameLock<rename_lock::SeqExclusive, Loom>>(PhantomData<(C, R)>);

impl<C: Count, R: Rename> LockSet<Loom> for Lean<C, R> {
    const NAME: &'static str = "lean";
    const COUNTS_ROOT: bool = false;
    type Count = C;
    type Rename = R;
    type Mutex = RawSpinLock<NoBackoff, Loom>;
    type Spin = RawSpinLock<NoBackoff, Loom>;
    type RwSpin = BiasedRwLock<Loom>;
    type RwSem = BiasedRwLock<Loom>;
}
