//! Statistics of the waits for the program's locks: `tw_stats_start`, `tw_stats_each`.

extern crate std;

use crate::result::{TW_INVALID, TW_OK, tw_result};
use core::ffi::c_void;
use std::collections::BTreeMap;
use std::vec::Vec;
use turnwise_live::{Kind, Snapshot, Totals, own, unnumbered};

/// The way in which threads wait for a lock.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum tw_wait_kind {
    /// For a tw_mutex.
    TW_WAIT_MUTEX = 1,
    /// For a tw_rwsem, to read.
    TW_WAIT_READ = 2,
    /// For a tw_rwsem, to write.
    TW_WAIT_WRITE = 3,
}
use tw_wait_kind::{TW_WAIT_MUTEX, TW_WAIT_READ, TW_WAIT_WRITE};

/// What the waits for one lock have come to since tw_stats_start; a tw_rwsem to read and to write is two. Calls that
/// got the lock at once are not waits. Later versions may append fields.
#[repr(C)]
pub struct tw_lock_stats {
    /// The lock: a tw_mutex or a tw_rwsem, which may be gone.
    pub lock: *const c_void,
    /// How threads wait for it.
    pub kind: tw_wait_kind,
    /// Threads that wait for it now.
    pub waiting: u32,
    /// Waits that have ended.
    pub waits: u64,
    /// Of these, waits that ended at their time limit.
    pub gave_up: u64,
    /// Length of these waits together, in nanoseconds.
    pub wait_ns: u64,
    /// Length of the longest.
    pub longest_ns: u64,
    /// Sleeps of waiters.
    pub sleeps: u64,
    /// Acquisitions past threads that slept.
    pub steals: u64,
    /// Acquisitions by a hand-off.
    pub handoffs: u64,
    /// The lengths of the waits: element n counts those of 2^n nanoseconds and more, below 2^(n+1); the first has
    /// shorter ones, too, and the last longer ones.
    pub histogram: [u64; 32],
}

/// Counts waits for this program's locks of type tw_mutex and tw_rwsem from now on, in a file that its owner alone can
/// read: `turnwise top`, `why` and `tune` work on the program. Uncontended locks cost the same; a wait costs some tens
/// of nanoseconds more. TW_INVALID: the environment says TURNWISE_LIVE=0, or the program runs under `turnwise run`,
/// which counts its pthread locks there. Calls after the first return the same.
#[unsafe(no_mangle)]
pub extern "C" fn tw_stats_start() -> tw_result {
    if own::start().is_ok() { TW_OK } else { TW_INVALID }
}

/// Calls `each` with every lock for which threads have waited or wait, the one with most wait time first, and with
/// `context`. The statistics live until `each` returns; it may use locks, also those. This function reads a file and
/// allocates memory: it is for once a second, not for each request. TW_INVALID: `each` is null, tw_stats_start was not
/// called or did not return TW_OK, or the file cannot be read. Without a wait so far it calls nothing.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_stats_each(
    each: Option<unsafe extern "C" fn(lock: *const tw_lock_stats, context: *mut c_void)>,
    context: *mut c_void,
) -> tw_result {
    let (Some(each), true) = (each, own::is_started()) else { return TW_INVALID };
    let Ok(snapshot) = own::snapshot() else { return TW_INVALID };
    let Some(snapshot) = snapshot else { return TW_OK };
    for stats in all(&snapshot) {
        // SAFETY: contract of `tw_stats_each`: the function may be called so with the context.
        unsafe { each(&raw const stats, context) };
    }
    TW_OK
}

/// The locks of a snapshot: those with waits that have ended, then those that threads wait for the first time.
fn all(snapshot: &Snapshot) -> Vec<tw_lock_stats> {
    let mut waiting: BTreeMap<(u64, Kind), u32> = BTreeMap::new();
    for wait in snapshot.threads.iter().filter_map(|thread| thread.waiting) {
        *waiting.entry((wait.lock, wait.kind)).or_default() += 1;
    }
    let mut all = Vec::new();
    for lock in &snapshot.locks {
        let waiting = waiting.remove(&(lock.address, lock.kind)).unwrap_or(0);
        all.extend(stats(lock.address, lock.kind, waiting, lock.totals));
    }
    all.extend(waiting.into_iter().filter_map(|((lock, kind), count)| stats(lock, kind, count, Totals::default())));
    all
}

/// The statistics of a lock.
fn stats(lock: u64, kind: Kind, waiting: u32, totals: Totals) -> Option<tw_lock_stats> {
    let kind = match kind {
        Kind::Mutex => TW_WAIT_MUTEX,
        Kind::Read => TW_WAIT_READ,
        Kind::Write => TW_WAIT_WRITE,
        _ => return None,
    };
    let lock = core::ptr::without_provenance(usize::try_from(unnumbered(lock)).ok()?);
    let Totals { waits, wait_ns, longest_ns, sleeps, steals, handoffs, gave_up, histogram } = totals;
    Some(tw_lock_stats {
        lock,
        kind,
        waiting,
        waits,
        gave_up,
        wait_ns,
        longest_ns,
        sleeps,
        steals,
        handoffs,
        histogram,
    })
}
