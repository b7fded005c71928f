//! The lock's memory is freed the moment its last owner has released it.

use crate::arena::{Arena, Doing, Guarded, Worker};
use crate::counts::{Op, Said};
use crate::object::Object;
use crate::ops::{Condvar, Counts, Exclusive, LockRecord, Shared};
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

/// A lock on its page, and the threads that still need it.
struct Site<L> {
    lock: L,
    page: usize,
    arrived: AtomicU64,
    /// Only the owner of the lock touches this.
    users: AtomicU64,
    /// Only the owner of the lock touches this.
    notified: AtomicU64,
}

impl<L> Site<L> {
    fn new(page: *mut u8, lock: L) -> Self {
        let users = AtomicU64::new(THREADS as u64);
        let zero = || AtomicU64::new(0);
        Site { lock, page: page.addr(), arrived: zero(), users, notified: zero() }
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

    fn take_away(&self) {
        // SAFETY: a page of our region, whose last user we are. Any later access to it crashes.
        unsafe { libc::mprotect(self.page as *mut _, PAGE, libc::PROT_NONE) };
    }
}

impl Site<Guarded<'_>> {
    fn acquire(&self, worker: &mut Worker) {
        let Some(until) = self.lock.ops.acquire_until.filter(|_| worker.one_in(2)) else {
            return self.lock.acquire(worker);
        };
        while !until(self.lock.lock, Deadline::after::<Native>(Duration::from_micros(20))) {}
        self.lock.enter(worker);
    }

    fn use_once(&self, worker: &mut Worker) {
        self.meet();
        self.acquire(worker);
        self.leave(worker);
    }

    /// All but one read once. That one writes until it finds that all others have been in: it has the lock, so they
    /// have released it, and the page is unmapped.
    fn share_once(&self, shared: &Shared, worker: &mut Worker, writes: bool) {
        self.meet();
        if !writes {
            self.lock.read_section(shared, worker, |_| {
                self.arrived.fetch_add(1, SeqCst);
            });
            return;
        }
        let mut users = 1;
        while users > 0 {
            self.lock.acquire(worker);
            self.lock.count(worker, |_| ());
            users = 2 * THREADS as u64 - 1 - self.arrived.load(SeqCst);
            self.lock.release(worker);
        }
        self.take_away();
    }

    /// One thread notifies the others, which wait for it; the last of all ends the lock and the condition variable.
    fn notify_once(&self, condvar: &Condvar, worker: &mut Worker, notifies: bool) {
        self.meet();
        self.lock.acquire(worker);
        if notifies {
            self.notified.store(1, Relaxed);
            (condvar.notify_all)(self.lock.lock);
        }
        while self.notified.load(Relaxed) == 0 {
            self.lock.wait(condvar, worker, None);
        }
        self.leave(worker);
    }

    /// Counts and releases; the last user takes the page away.
    fn leave(&self, worker: &mut Worker) {
        self.lock.count(worker, |_| ());
        let users = self.users.load(Relaxed) - 1;
        self.users.store(users, Relaxed);
        let fair = self.lock.ops.release_fair.filter(|_| worker.one_in(2));
        self.lock.release_by(worker, fair.unwrap_or(self.lock.ops.release));
        if users == 0 {
            self.take_away();
        }
    }
}

impl Site<Object<'_>> {
    /// Takes a reference, and gives it back when all have one; the last thread unmaps the page.
    fn count_once(&self, counts: &Counts, worker: &Worker) {
        worker.does(Doing::Acquires);
        (counts.run)(self.lock, Op::FindOrRevive);
        self.meet();
        worker.does(Doing::Releases);
        let last = (counts.run)(self.lock, Op::Put) == Said::Left(0);
        worker.does(Doing::Outside);
        worker.gets_on();
        if last {
            self.take_away();
        }
    }
}

pub(super) fn destroy_last(arena: &'static Arena, record: &LockRecord, counts: Counts) {
    on_sites(arena, record, |lock| lock, |site, _, worker| site.count_once(&counts, worker));
}

pub(super) fn destroy(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    on_sites(arena, record, |lock| Guarded::new(lock, ops), |site, _, worker| site.use_once(worker));
}

pub(super) fn destroy_condvar(arena: &'static Arena, record: &LockRecord, (ops, condvar): (Exclusive, Condvar)) {
    let visit = |site: &Site<Guarded>, number, worker: &mut Worker| {
        site.notify_once(&condvar, worker, number % THREADS == worker.number);
    };
    on_sites(arena, record, |lock| Guarded::new(lock, ops), visit);
}

pub(super) fn destroy_shared(arena: &'static Arena, record: &LockRecord, (ops, shared): (Exclusive, Shared)) {
    let visit = |site: &Site<Guarded>, number, worker: &mut Worker| {
        site.share_once(&shared, worker, number % THREADS == worker.number);
    };
    on_sites(arena, record, |lock| Guarded::new(lock, ops), visit);
}

/// Sends the threads from site to site, one region after the other.
fn on_sites<L: Sync>(
    arena: &Arena,
    record: &LockRecord,
    guard: impl Fn(Object<'static>) -> L,
    visit: impl Fn(&Site<L>, usize, &mut Worker) + Sync,
) {
    while arena.goes_on() {
        let region = Region::new(arena);
        let site = |page| {
            // SAFETY: a page of our own, used for nothing else; locks are smaller.
            let lock = unsafe { (record.place)(region.page(page)) };
            Site::new(region.page(page), guard(lock))
        };
        let sites: Vec<_> = (0..PAGES).map(site).collect();
        arena.on_threads(THREADS, |worker| {
            sites.iter().enumerate().for_each(|(number, site)| visit(site, number, worker));
        });
    }
}
