//! Who has a lock that another thread waits for, and from where.
//!
//! The C library writes the owner's thread number into mutexes, and the writer's into readers-writer locks: that tells
//! the thread, and its list of held locks tells the site. Where nothing is written (readers, spin locks, other
//! libraries' locks), the threads' lists are searched, for a sample of the waits.

use crate::locks::Kind;
use crate::real;
use crate::state::{HELD, Held, State};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// One in so many waits searches.
const SEARCH_ONE_IN: u32 = 8;
/// Threads to look at.
const THREADS: usize = 64;

/// The holder of a lock.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    /// Its number.
    pub(crate) thread: u32,
    /// Where it had taken the lock (`Entry::site`).
    pub(crate) site: u64,
    /// Waits that this one stands for.
    pub(crate) weight: u32,
}

/// Looks for the holder of the lock at `address`.
/// `due`: to be searched for, if that must be.
pub(crate) fn find(state: &State, kind: Kind, address: u64, due: bool) -> Option<Holder> {
    match written_owner(kind, address) {
        Some(tid) => site_of(by_tid(state, tid)?, address).map(|(thread, site)| Holder { thread, site, weight: 1 }),
        None if due => search(state, address),
        None if state.waits.get().is_multiple_of(u64::from(SEARCH_ONE_IN)) => search(state, address),
        None => None,
    }
}

fn by_tid(state: &State, tid: u32) -> Option<&'static State> {
    // ORDERING recorder.state: Acquire; the state is filled.
    let found = state.process().by_tid(tid).load(Acquire);
    // SAFETY: null or a state, which is never unmapped.
    unsafe { found.as_ref() }.filter(|found| found.tid.load(Relaxed) == tid)
}

/// Where the thread `tid` took the lock at `address`, if that was the last one that it took by itself (or tries to take
/// now): it had it a moment ago.
pub(crate) fn lately(state: &State, tid: u32, address: u64) -> Option<Holder> {
    let other = if tid == 0 { None } else { by_tid(state, tid) }?;
    let held = Some(&other.held[1]).filter(|held| held.address() == address)?;
    site(other, held).map(|(thread, site)| Holder { thread, site, weight: 1 })
}

/// The thread number that the C library wrote into the lock.
pub(crate) fn written_owner(kind: Kind, address: u64) -> Option<u32> {
    /// `__owner` of `pthread_mutex_t`.
    const OWNER: u64 = 8;
    /// `__cur_writer` of `pthread_rwlock_t`.
    const WRITER: u64 = 24;
    let place = match kind {
        _ if real::next_is_preload() => return None,
        Kind::Mutex => address + OWNER,
        Kind::RwLock => address + WRITER,
        Kind::Spin | Kind::Condition => return None,
    };
    // SAFETY: within the program's lock, which it is using.
    let tid = unsafe { (*(place as *const AtomicU32)).load(Relaxed) };
    (tid != 0).then_some(tid)
}

fn search(state: &State, address: u64) -> Option<Holder> {
    // ORDERING recorder.states: Acquire; the states of the list are filled.
    let mut next = state.process().all.load(Acquire);
    for _ in 0..THREADS {
        // SAFETY: null or a state.
        let other = unsafe { next.as_ref() }?;
        if !core::ptr::eq(other, state)
            && let Some((thread, site)) = site_of(other, address)
        {
            return Some(Holder { thread, site, weight: SEARCH_ONE_IN });
        }
        next = other.next.load(Relaxed);
    }
    None
}

/// Number of the thread, and where it took the lock.
fn site_of(other: &State, address: u64) -> Option<(u32, u64)> {
    // ORDERING recorder.held: Acquire; locks up to the depth are written. They may change while we look: then a
    // neighbour's site is counted once.
    let depth = other.depth.load(Acquire).min(HELD);
    site(other, other.held[1..=depth].iter().rfind(|held| held.address() == address)?)
}

fn site(other: &State, held: &Held) -> Option<(u32, u64)> {
    // SAFETY: null or an entry, which stays where it is.
    let entry = unsafe { held.entry.load(Relaxed).as_ref() }?;
    Some((other.shown_index.load(Relaxed), entry.site.load(Relaxed)))
}
