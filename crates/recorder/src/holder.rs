//! Who has a lock that another thread waits for, and from where.
//!
//! The C library writes the owner's thread number into mutexes, and the writer's into readers-writer locks: that tells
//! the thread, and its list of held locks tells the site. Where nothing is written (readers, spin locks, other
//! libraries' locks), the threads' lists are searched, for a sample of the waits.

use crate::locks::Kind;
use crate::real;
use crate::state::{HELD, Held, State};
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use libc::c_int;

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
    /// Its number in the system.
    tid: u32,
    /// It was on no CPU when the wait began; `None`: nobody looked.
    pub(crate) off_cpu: Option<bool>,
}

impl Holder {
    fn new(other: &State, held: &Held, weight: u32) -> Option<Holder> {
        // SAFETY: null or an entry, which stays where it is.
        let entry = unsafe { held.entry.load(Relaxed).as_ref() }?;
        Some(Holder {
            thread: other.shown_index.load(Relaxed),
            site: entry.site.load(Relaxed),
            weight,
            tid: other.tid.load(Relaxed),
            off_cpu: None,
        })
    }

    /// Looks whether it runs: it does if its CPU time goes on. Two system calls, and no file.
    pub(crate) fn looked_at(mut self) -> Holder {
        let (first, second) = (cpu_time(self.tid), cpu_time(self.tid));
        self.off_cpu = first.and_then(|first| Some(first == second?));
        self
    }
}

/// CPU time of a thread of this process, in ns; `None`: it is gone.
fn cpu_time(tid: u32) -> Option<u64> {
    /// The scheduler's clock of one thread, whose number stands inverted before these bits, as the system and
    /// `pthread_getcpuclockid` have it.
    const OF_A_THREAD: c_int = 0b110;
    let clock = !(tid as c_int) << 3 | OF_A_THREAD;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: there is room for the answer.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: it was filled.
    let time = unsafe { time.assume_init() };
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Looks for the holder of the lock at `address`.
/// `due`: to be searched for, if that must be.
pub(crate) fn find(state: &State, kind: Kind, address: u64, due: bool) -> Option<Holder> {
    match written_owner(kind, address) {
        Some(tid) => in_list(by_tid(state, tid)?, address, 1),
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
    Holder::new(other, held, 1)
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
            && let Some(holder) = in_list(other, address, SEARCH_ONE_IN)
        {
            return Some(holder);
        }
        next = other.next.load(Relaxed);
    }
    None
}

/// A thread, if the lock stands in its list.
fn in_list(other: &State, address: u64, weight: u32) -> Option<Holder> {
    // ORDERING recorder.held: Acquire; locks up to the depth are written. They may change while we look: then a
    // neighbour's site is counted once.
    let depth = other.depth.load(Acquire).min(HELD);
    Holder::new(other, other.held[1..=depth].iter().rfind(|held| held.address() == address)?, weight)
}
