//! Finds the holder of a lock that another thread waits for, and where it acquired the lock.
//!
//! The C library writes the owner's thread number into mutexes, and the writer's into readers-writer locks: it
//! identifies the thread, whose list of held locks gives the site. Where nothing is written (readers, spin locks, other
//! libraries' locks), the threads' lists are searched, for a sample of the waits.

use crate::held::{Held, HeldLocks};
use crate::{clock, filter, memory, real};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};
use libc::c_int;
use turnwise_recording::Class;

/// One in this many waits searches.
pub(crate) const SEARCH_ONE_IN: u32 = 8;
/// The number of threads to search.
const THREADS: usize = 64;
/// The number of slots by thread number.
const BY_TID: usize = 1 << 16;

/// The data about a thread that other threads read.
pub(crate) struct Peer {
    next: AtomicPtr<Peer>,
    locks: AtomicPtr<HeldLocks>,
    /// Its number in the system; 0: none.
    tid: AtomicU32,
    /// Its number in the recording.
    index: AtomicU32,
}

impl Peer {
    /// Records that the thread ends.
    pub(crate) fn end(&self, peers: &Peers) {
        let slot = peers.slot(self.tid.load(Relaxed));
        let own = ptr::from_ref(self).cast_mut();
        // If the numbers collided, the slot is another thread's and stays.
        let _ = slot.compare_exchange(own, ptr::null_mut(), Relaxed, Relaxed);
        self.tid.store(0, Relaxed);
    }

    /// Returns the holder, if the lock is in the thread's list.
    fn if_holder(&self, address: u64, weight: u32) -> Option<Holder> {
        self.holder(self.locks().of_another().iter().rfind(|held| held.address() == address)?, weight)
    }

    /// Returns its number in the system.
    pub(crate) fn tid(&self) -> u32 {
        self.tid.load(Relaxed)
    }

    fn locks(&self) -> &'static HeldLocks {
        // SAFETY: set by `Peers::add`, to locks that stay mapped.
        unsafe { &*self.locks.load(Relaxed) }
    }

    fn holder(&self, held: &Held, weight: u32) -> Option<Holder> {
        let site = match held.entry() {
            Some(entry) => entry.site.load(Relaxed),
            None => held.written()?.site(),
        };
        Some(Holder { thread: self.index.load(Relaxed), site, weight, tid: self.tid.load(Relaxed), off_cpu: None })
    }
}

/// The process's threads. Zero bytes are an empty set.
pub(crate) struct Peers {
    all: AtomicPtr<Peer>,
    by_tid: AtomicPtr<AtomicPtr<Peer>>,
}

impl Peers {
    /// Makes the table by thread number.
    pub(crate) fn prepare(&self) -> Option<()> {
        let table = memory::wiped_on_fork(BY_TID * size_of::<usize>())?;
        self.by_tid.store(table.as_ptr().cast(), Relaxed);
        Some(())
    }

    /// Adds a peer permanently. Threads use it one after another.
    pub(crate) fn add(&self, peer: &'static Peer, locks: &'static HeldLocks) {
        peer.locks.store(ptr::from_ref(locks).cast_mut(), Relaxed);
        let mut first = self.all.load(Relaxed);
        loop {
            peer.next.store(first, Relaxed);
            // ORDERING recorder.states: Release; a thread that walks the list sees peers filled.
            match self.all.compare_exchange(first, ptr::from_ref(peer).cast_mut(), Release, Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Assigns a peer to a new thread.
    pub(crate) fn begin(&self, peer: &'static Peer, tid: u32, index: u32) {
        peer.index.store(index, Relaxed);
        peer.tid.store(tid, Relaxed);
        // ORDERING recorder.state: Release; a thread that finds the peer by thread number sees it filled.
        self.slot(tid).store(ptr::from_ref(peer).cast_mut(), Release);
    }

    fn slot(&self, tid: u32) -> &'static AtomicPtr<Peer> {
        // SAFETY: the table has this many slots.
        unsafe { &*self.by_tid.load(Relaxed).add(tid as usize % BY_TID) }
    }

    fn by_tid(&self, tid: u32) -> Option<&'static Peer> {
        // ORDERING recorder.state: Acquire; the peer is filled.
        let found = self.slot(tid).load(Acquire);
        // SAFETY: null or a peer, which is never unmapped.
        unsafe { found.as_ref() }.filter(|found| found.tid.load(Relaxed) == tid)
    }

    /// Finds the holder of the lock at `address`. `due`: a search is allowed, if needed.
    pub(crate) fn holder(&self, own: &Peer, class: Class, address: u64, due: bool) -> Option<Holder> {
        match written_owner(class, address) {
            Some(tid) => self.by_tid(tid)?.if_holder(address, 1),
            None if due => self.search(own, address),
            None => None,
        }
    }

    /// Takes the lock at `address` out of the list of the thread that has it, as the lock says; returns that thread.
    pub(crate) fn take_from(&self, class: Class, address: u64) -> Option<Holder> {
        let peer = self.by_tid(written_owner(class, address)?)?;
        let held = peer.locks().of_another().iter().rfind(|held| held.address() == address)?;
        let holder = peer.holder(held, 1);
        held.give_up(address);
        holder
    }

    fn search(&self, own: &Peer, address: u64) -> Option<Holder> {
        // ORDERING recorder.states: Acquire; the peers of the list are filled.
        let mut next = self.all.load(Acquire);
        for _ in 0..THREADS {
            // SAFETY: null or a peer, which is never unmapped.
            let other = unsafe { next.as_ref() }?;
            if !ptr::eq(other, own)
                && let Some(holder) = other.if_holder(address, SEARCH_ONE_IN)
            {
                return Some(holder);
            }
            next = other.next.load(Relaxed);
        }
        None
    }

    /// Returns where the thread `tid` took the lock at `address`, if that was the last lock that it took without others
    /// (or is trying to take now): it held it a moment ago.
    pub(crate) fn lately(&self, tid: u32, address: u64) -> Option<Holder> {
        let other = if tid == 0 { None } else { self.by_tid(tid) }?;
        let held = Some(other.locks().at(1)).filter(|held| held.address() == address)?;
        other.holder(held, 1)
    }
}

/// The holder of a lock.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    /// The thread's number.
    pub(crate) thread: u32,
    /// Where it had taken the lock (`Entry::site`).
    pub(crate) site: u64,
    /// The number of waits that this one stands for.
    pub(crate) weight: u32,
    /// The thread's number in the system.
    tid: u32,
    /// Whether it was on no CPU when the wait began; `None`: not checked.
    pub(crate) off_cpu: Option<bool>,
}

impl Holder {
    /// Checks whether it runs: it does if its CPU time advances. This takes two system calls, and no file.
    pub(crate) fn looked_at(mut self) -> Holder {
        let (first, second) = (cpu_time(self.tid), cpu_time(self.tid));
        self.off_cpu = first.and_then(|first| Some(first == second?));
        self
    }
}

/// Returns the CPU time of a thread of this process, in ns; `None`: the thread has ended, or calls are filtered.
fn cpu_time(tid: u32) -> Option<u64> {
    /// The scheduler's clock of one thread, whose inverted number precedes these bits, as in the system and
    /// `pthread_getcpuclockid`.
    const OF_A_THREAD: c_int = 0b110;
    if !filter::allows_calls() {
        return None;
    }
    let ns = clock::nanoseconds(!(tid as c_int) << 3 | OF_A_THREAD);
    (ns != 0).then_some(ns)
}

/// Returns the owner of a taken mutex of the C library, whose memory may be gone.
pub(crate) fn owner_if_readable(address: u64) -> Option<u32> {
    let mut words = [0; 2];
    let count = turnwise_interpose::words(0, address as usize, &mut words);
    let [taken, owner] = words.map(|word| word as u32);
    (count == words.len() && taken != 0).then_some(owner)
}

/// Returns the thread number that the C library wrote into the lock.
pub(crate) fn written_owner(class: Class, address: u64) -> Option<u32> {
    /// `__owner` of `pthread_mutex_t`.
    const OWNER: u64 = 8;
    /// `__cur_writer` of `pthread_rwlock_t`.
    const WRITER: u64 = 24;
    let place = match class {
        _ if real::next_is_preload() => return None,
        Class::Mutex => address + OWNER,
        Class::RwLock => address + WRITER,
        _ => return None,
    };
    // SAFETY: within the program's lock, which it is using.
    let tid = unsafe { (*(place as *const AtomicU32)).load(Relaxed) };
    (tid != 0).then_some(tid)
}
