//! The lock's memory goes the moment its last owner has released it.

use crate::arena::{Arena, Doing, Guarded, Worker};
use crate::counts::{Op, Said};
use crate::lock::{Held, Lock};
use crate::locks::LockRecord;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;
use turnwise::platform::{Deadline, Native};

const PAGE: usize = 4096;
const PAGES: usize = 64;
const THREADS: usize = 3;

/// Pages with a lock at the start of each.
struct Region(*mut u8);

impl Region {
    fn new(arena: &Arena) -> Self {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGES * PAGE, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            arena.skip("no memory to map");
        }
        Region(start.cast())
    }

    fn page(&self, number: usize) -> *mut u8 {
        assert!(number < PAGES);
        self.0.wrapping_add(number * PAGE)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; no thread uses its locks any more.
        unsafe { libc::munmap(self.0.cast(), PAGES * PAGE) };
    }
}

/// A lock on its page, and who still needs it.
struct Site<'a> {
    guarded: Guarded<'a>,
    page: usize,
    arrived: AtomicU64,
    /// Only the owner of the lock touches this.
    users: AtomicU64,
    /// Likewise.
    notified: AtomicU64,
}

impl Site<'_> {
    fn new(page: *mut u8, record: &LockRecord) -> Self {
        // SAFETY: a page of our own, used for nothing else; locks are smaller.
        let lock: &dyn Lock = unsafe { &*(record.place)(page) };
        let users = AtomicU64::new(THREADS as u64);
        let zero = || AtomicU64::new(0);
        Site { guarded: Guarded::new(lock), page: page.addr(), arrived: zero(), users, notified: zero() }
    }

    /// Lets the threads start together, so that they contend.
    fn meet(&self) {
        self.arrived.fetch_add(1, SeqCst);
        let mut looks = 0;
        while self.arrived.load(SeqCst) < THREADS as u64 {
            looks += 1;
            if looks % 64 == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    fn acquire(&self, worker: &mut Worker, timed: bool) -> Held {
        if timed && worker.one_in(2) {
            loop {
                let deadline = Deadline::after::<Native>(Duration::from_micros(20));
                if let Some(held) = self.guarded.lock.acquire_until(deadline) {
                    self.guarded.enter(worker);
                    return held;
                }
            }
        }
        self.guarded.acquire(worker)
    }

    fn use_once(&self, worker: &mut Worker, timed: bool, fair: bool) {
        self.meet();
        let held = self.acquire(worker, timed);
        self.leave(worker, held, fair);
    }

    /// All but one read once. That one writes until it finds that all others have been in: it has the lock, so they
    /// have released it, and the page goes.
    fn share_once(&self, worker: &mut Worker, writes: bool) {
        self.meet();
        if !writes {
            self.guarded.read_section(worker, |_| {
                self.arrived.fetch_add(1, SeqCst);
            });
            return;
        }
        let mut users = 1;
        while users > 0 {
            let held = self.guarded.acquire(worker);
            self.guarded.count(worker, |_| ());
            users = 2 * THREADS as u64 - 1 - self.arrived.load(SeqCst);
            self.guarded.release(worker, held);
        }
        self.take_away();
    }

    /// One thread notifies the others, which wait for it; the last of all ends the lock and the condition variable.
    fn notify_once(&self, worker: &mut Worker, notifies: bool, fair: bool) {
        self.meet();
        let held = self.guarded.acquire(worker);
        if notifies {
            self.notified.store(1, Relaxed);
            self.guarded.lock.notify_all();
        }
        while self.notified.load(Relaxed) == 0 {
            self.guarded.wait(worker, None);
        }
        self.leave(worker, held, fair);
    }

    /// Counts and releases; the last user takes the page away.
    fn leave(&self, worker: &mut Worker, held: Held, fair: bool) {
        self.guarded.count(worker, |_| ());
        let users = self.users.load(Relaxed) - 1;
        self.users.store(users, Relaxed);
        if fair && worker.one_in(2) {
            self.guarded.release_fair(worker, held);
        } else {
            self.guarded.release(worker, held);
        }
        if users == 0 {
            self.take_away();
        }
    }

    /// Takes a reference, and gives it back when all have one; the last one takes the page away.
    fn count_once(&self, worker: &Worker) {
        let counts = self.guarded.lock.counts();
        worker.does(Doing::Acquires);
        counts.run(Op::FindOrRevive);
        self.meet();
        worker.does(Doing::Releases);
        let last = counts.run(Op::Put) == Said::Left(0);
        worker.does(Doing::Outside);
        worker.gets_on();
        if last {
            self.take_away();
        }
    }

    fn take_away(&self) {
        // SAFETY: a page of our region, whose last user we are. Whoever touches it from here on crashes.
        unsafe { libc::mprotect(self.page as *mut _, PAGE, libc::PROT_NONE) };
    }
}

pub(super) fn destroy_last(arena: &'static Arena, record: &LockRecord) {
    on_sites(arena, record, |site, _, worker| site.count_once(worker));
}

pub(super) fn destroy(arena: &'static Arena, record: &LockRecord) {
    on_sites(arena, record, |site, _, worker| site.use_once(worker, record.can.timed, record.can.fair));
}

pub(super) fn destroy_condvar(arena: &'static Arena, record: &LockRecord) {
    on_sites(arena, record, |site, number, worker| {
        site.notify_once(worker, number % THREADS == worker.number, record.can.fair);
    });
}

pub(super) fn destroy_shared(arena: &'static Arena, record: &LockRecord) {
    on_sites(arena, record, |site, number, worker| site.share_once(worker, number % THREADS == worker.number));
}

/// Sends the threads from site to site, one region after the other.
fn on_sites(arena: &Arena, record: &LockRecord, visit: impl Fn(&Site, usize, &mut Worker) + Sync) {
    while arena.goes_on() {
        let region = Region::new(arena);
        let sites: Vec<Site> = (0..PAGES).map(|page| Site::new(region.page(page), record)).collect();
        arena.on_threads(THREADS, |worker| {
            sites.iter().enumerate().for_each(|(number, site)| visit(site, number, worker));
        });
    }
}
