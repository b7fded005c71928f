//! What a lock does when it is used wrongly: [`docs/misuse.md`](../../../docs/misuse.md) has the table. Safe code can
//! do little of this, so the tests break the contracts of the raw interface.
#![cfg(feature = "native")]

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use turnwise::platform::{Deadline, Native};
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use turnwise::rwsem::Prefer;
use turnwise::semaphore::PERMITS_MAX;
use turnwise::spin::mcs::{McsNode, RawMcsLock};
use turnwise::{
    Condvar, LockRef, Mutex, RawBigReaderLock, RawMutex, RawQueuedSpinLock, RawReentrantMutex, RawRwSem, RawSeqRwLock,
    RawSpinLock, RawTicketLock, ReentrantMutex, RwSem, Semaphore,
};

type RawBigReader = RawBigReaderLock<8>;

/// A wait that lasts as long would last for ever.
const A_WHILE: Duration = Duration::from_millis(50);
/// A wait that lasts as long should have ended.
const LIMIT: Duration = Duration::from_secs(60);

fn soon() -> Deadline {
    Deadline::after::<Native>(Duration::from_millis(5))
}

/// Releases a lock that the caller may not release.
fn unlock(lock: &impl RawLock) {
    // SAFETY: none: this is the misuse. A lock consists of atomic words, valid with any bytes; no data depend on it.
    unsafe { lock.unlock() }
}

/// Releases a read lock that the caller may not release.
fn unlock_read(lock: &impl RawTimedRwLock) {
    // SAFETY: none: this is the misuse, as in `unlock`.
    unsafe { lock.unlock_read() }
}

/// Asserts that `call` waits until `release`, and then ends. A call that does not end is left behind with its lock.
fn waits_until(release: impl FnOnce(), call: impl FnOnce() + Send + 'static) {
    let (tell, ended) = channel();
    let caller = thread::spawn(move || {
        call();
        tell.send(()).expect("the test listens");
    });
    assert_eq!(ended.recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout), "it does not wait");
    release();
    ended.recv_timeout(LIMIT).expect("the wait ends with the release");
    caller.join().expect("it has ended");
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// Asserts that the lock is free, and works.
fn works<R: RawTimedLock>(lock: &R) {
    assert!(!lock.is_locked());
    lock.lock();
    assert!(lock.is_locked() && !lock.try_lock() && !lock.lock_until(soon()));
    unlock(lock);
    assert!(lock.try_lock());
    unlock(lock);
    assert!(!lock.is_locked());
}

/// Asserts that no thread can acquire the lock any longer, for writing.
fn is_stuck<R: RawTimedLock>(lock: &R) {
    assert!(lock.is_locked() && !lock.try_lock() && !lock.lock_until(soon()));
}

fn twice_by_its_owner<R: RawTimedLock>() {
    let lock = Arc::new((R::new_in(), AtomicBool::new(false)));
    let owner = Arc::clone(&lock);
    let (lock, locks_again) = (&lock.0, &lock.1);
    waits_until(
        || {
            while !locks_again.load(Relaxed) {
                thread::yield_now();
            }
            unlock(lock);
        },
        move || {
            let (owner, locks_again) = (&owner.0, &owner.1);
            owner.lock();
            assert!(!owner.try_lock() && !owner.lock_until(soon()));
            locks_again.store(true, Relaxed);
            owner.lock();
            unlock(owner);
        },
    );
    works(lock);
}

fn owner_that_exits<R: RawTimedLock>() {
    let lock = R::new_in();
    thread::scope(|s| s.spawn(|| lock.lock()).join().expect("it does not panic"));
    is_stuck(&lock);
    unlock(&lock);
    works(&lock);
}

fn stale_owner<R: RawTimedLock>() {
    let lock = R::new_in();
    lock.lock();
    thread::scope(|s| s.spawn(|| unlock(&lock)).join().expect("it does not panic"));
    works(&lock);
}

fn free_lock<R: RawTimedLock>() {
    let lock = R::new_in();
    unlock(&lock);
    lock.lock();
    for _ in 0..3 {
        unlock(&lock);
    }
    works(&lock);
}

/// Calls a function for each lock of a list.
macro_rules! each {
    ($function:ident: $($lock:ty),*) => { $($function::<$lock>();)* };
}

#[test]
fn a_lock_locked_twice_by_its_owner_waits_for_another_thread_to_unlock_it() {
    each!(twice_by_its_owner: RawMutex, LockRef, RawRwSem, RawBigReader, RawSeqRwLock);
    each!(twice_by_its_owner: RawSpinLock, RawTicketLock, RawQueuedSpinLock);
}

#[test]
fn a_lock_whose_owner_exits_stays_locked() {
    each!(owner_that_exits: RawMutex, LockRef, RawRwSem, RawBigReader, RawSeqRwLock);
    each!(owner_that_exits: RawSpinLock, RawTicketLock, RawQueuedSpinLock);
}

#[test]
fn an_unlock_by_another_thread_takes_the_lock_from_its_owner() {
    each!(stale_owner: RawMutex, LockRef, RawRwSem, RawBigReader, RawSeqRwLock);
    each!(stale_owner: RawSpinLock, RawTicketLock, RawQueuedSpinLock);
}

#[test]
fn an_unlock_of_a_free_lock_does_nothing() {
    each!(free_lock: RawMutex, LockRef, RawRwSem, RawBigReader, RawSpinLock, RawQueuedSpinLock);
    let shared = RawRwSem::new();
    shared.read();
    unlock(&shared);
    assert!(shared.try_read() && !shared.try_lock(), "its readers are still inside");
}

#[test]
fn an_unlock_of_a_free_ticket_lock_locks_it_for_ever() {
    let lock = RawTicketLock::new();
    unlock(&lock);
    is_stuck(&lock);
}

/// A sequence that is odd while nothing changes is even while something does: readers accept what is half written.
#[test]
fn an_unlock_of_a_free_sequence_lock_turns_its_sequence_round() {
    let lock = RawSeqRwLock::new();
    unlock(&lock);
    assert!(lock.try_read_begin().is_none() && !lock.is_locked());
    lock.lock();
    let begin = lock.try_read_begin().expect("it looks as if nothing changed");
    assert!(!lock.read_retry(begin));
}

fn read_lock_that_nobody_has<R: RawTimedRwLock>() {
    let lock = R::new_in();
    unlock_read(&lock);
    is_stuck(&lock);
    assert!(!lock.try_read());
}

#[test]
fn an_unlock_of_a_read_lock_that_nobody_has_locks_it_for_ever() {
    each!(read_lock_that_nobody_has: RawRwSem, RawBigReader);
}

#[test]
fn an_unlock_of_a_read_lock_that_nobody_has_is_forgotten_when_a_spread_lock_is_written() {
    let lock = RawBigReader::new();
    lock.spread();
    unlock_read(&lock);
    assert!(lock.try_lock() && !lock.try_read());
    unlock(&lock);
    assert!(!lock.is_locked());
}

fn reader_that_exits<R: RawTimedRwLock>() {
    let lock = R::new_in();
    thread::scope(|s| s.spawn(|| lock.read()).join().expect("it does not panic"));
    is_stuck(&lock);
    assert!(lock.try_read());
    unlock_read(&lock);
    unlock_read(&lock);
    works(&lock);
}

#[test]
fn a_reader_that_exits_keeps_writers_out_until_another_thread_unlocks() {
    each!(reader_that_exits: RawRwSem, RawBigReader);
}

fn reads_again<R: RawTimedRwLock>() {
    let lock = Arc::new(R::new_in());
    lock.read();
    assert!(lock.try_read() && lock.read_until(soon()), "readers share it");
    unlock_read(&*lock);
    unlock_read(&*lock);
    let writer = Arc::clone(&lock);
    let writer = thread::spawn(move || {
        writer.lock();
        unlock(&*writer);
    });
    let begun = std::time::Instant::now();
    while lock.try_read() {
        unlock_read(&*lock);
        assert!(begun.elapsed() < LIMIT, "the writer never sleeps");
        thread::yield_now();
    }
    let reader = Arc::clone(&lock);
    waits_until(|| unlock_read(&*lock), move || reader.read());
    writer.join().expect("the writer had its turn");
    unlock_read(&*lock);
    works(&*lock);
}

#[test]
fn a_reader_that_reads_again_waits_behind_a_waiting_writer_which_waits_for_it() {
    each!(reads_again: RawRwSem, RawBigReader);
}

#[test]
fn a_reader_that_writes_and_a_writer_that_reads_wait_for_themselves() {
    let lock = RawRwSem::new();
    lock.read();
    assert!(!lock.try_lock() && !lock.lock_until(soon()));
    unlock_read(&lock);
    lock.lock();
    for prefer in [Prefer::Readers, Prefer::Writers] {
        assert!(!lock.try_read_with(prefer) && !lock.read_with(prefer, Some(soon())));
    }
    assert!(!lock.try_upgradable_read() && !lock.upgradable_read_until(soon()));
    unlock(&lock);
    works(&lock);
}

#[test]
fn an_upgrade_beside_a_read_lock_of_ones_own_waits_for_itself() {
    let lock = RawRwSem::new();
    lock.upgradable_read();
    lock.read();
    assert!(!lock.try_upgradable_read(), "one at a time");
    // SAFETY: the thread has the upgradable read lock, and a read lock besides: that is the misuse.
    unsafe {
        assert!(!lock.try_upgrade() && !lock.upgrade_until(soon()));
        lock.unlock_read();
        assert!(lock.upgrade_until(soon()));
    }
    unlock(&lock);
    works(&lock);
}

#[test]
fn an_upgrade_without_an_upgradable_read_lock_admits_a_second_writer() {
    let lock = RawRwSem::new();
    lock.lock();
    // SAFETY: none: this is the misuse, as in `unlock`.
    assert!(unsafe { lock.try_upgrade() && lock.upgrade_until(soon()) });
    unlock(&lock);
    works(&lock);
}

#[test]
fn a_downgrade_of_a_free_lock_leaves_a_lock_that_nobody_has() {
    let lock = RawRwSem::new();
    // SAFETY: none: this is the misuse, as in `unlock`.
    unsafe { lock.downgrade() };
    assert!(!lock.try_lock() && lock.try_read());
    unlock_read(&lock);
    unlock_read(&lock);
    // SAFETY: none, again.
    unsafe { lock.downgrade_to_upgradable() };
    assert!(!lock.try_upgradable_read() && lock.try_read());
    unlock_read(&lock);
    // SAFETY: none, again.
    unsafe { lock.unlock_upgradable() };
    works(&lock);
    // SAFETY: the lock is free: this is the misuse.
    unsafe { lock.unlock_upgradable() };
    works(&lock);
}

/// How deep it may be is tested next to its source.
#[test]
fn a_release_of_a_re_entrant_mutex_by_another_thread_counts_as_its_owners() {
    let lock = RawReentrantMutex::new();
    lock.lock();
    lock.lock();
    let elsewhere = |call: &(dyn Fn() -> bool + Sync)| thread::scope(|s| s.spawn(call).join().expect("no panic"));
    let release = || {
        unlock(&lock);
        lock.is_locked()
    };
    assert!(elsewhere(&release) && !elsewhere(&release), "the second one releases it");
    assert!(elsewhere(&|| lock.try_lock()), "by a thread that then exits");
    assert!(lock.is_locked() && !lock.is_mine() && !lock.try_lock() && !lock.lock_until(soon()));
}

/// The depth would wrap: a debug build panics, and another forgets it at the next lock.
#[test]
fn a_release_of_a_free_re_entrant_mutex_changes_nothing() {
    let lock = RawReentrantMutex::new();
    assert_eq!(panics(|| unlock(&lock)), cfg!(debug_assertions));
    lock.lock();
    thread::scope(|s| assert!(!s.spawn(|| lock.try_lock()).join().expect("it does not panic")));
    unlock(&lock);
    assert!(!lock.is_locked());
}

/// That waiters may have different mutexes is tested in `condvar/mod.rs`.
#[test]
fn a_wait_without_the_mutex_returns_with_it() {
    let (mutex, changed) = (RawMutex::new(), Condvar::new());
    for is_anothers in [false, true] {
        if is_anothers {
            thread::scope(|s| s.spawn(|| mutex.lock()).join().expect("it does not panic"));
        }
        // SAFETY: none: the caller does not hold the mutex. All are atomic words, as in `unlock`.
        assert!(unsafe { changed.wait_raw(&mutex, Some(soon())) }.timed_out());
        assert!(mutex.is_locked() && !mutex.try_lock());
        unlock(&mutex);
        works(&mutex);
    }
}

#[test]
fn a_forgotten_guard_keeps_its_lock_and_no_more() {
    let mut mutex = Mutex::new(1);
    mem::forget(mutex.lock());
    assert!(mutex.try_lock().is_none() && mutex.raw().is_locked());
    *mutex.get_mut() += 1;
    unlock(mutex.raw());
    assert_eq!(*mutex.try_lock().expect("it is free again"), 2);
    let rwsem = RwSem::new(3);
    mem::forget(rwsem.read());
    assert!(rwsem.try_write().is_none() && rwsem.try_read().is_some());
    assert_eq!(rwsem.into_inner(), 3);
    let reentrant = ReentrantMutex::new(4);
    mem::forget(reentrant.lock());
    thread::scope(|s| assert!(s.spawn(|| reentrant.try_lock().is_none()).join().expect("it does not panic")));
    let semaphore = Semaphore::new(2);
    mem::forget(semaphore.acquire());
    assert_eq!(semaphore.available(), 1);
}

/// A release above the limit is tested in `semaphore.rs`, a count of references out of its range in `lockref.rs`.
#[test]
fn a_request_for_more_permits_than_there_can_be_panics() {
    let semaphore = Semaphore::new(1);
    assert!(panics(|| semaphore.acquire_many(PERMITS_MAX + 1)));
    assert!(panics(|| semaphore.acquire().split(2)));
    assert!(panics(|| Semaphore::new(PERMITS_MAX + 1)));
    assert!(semaphore.try_acquire_many(PERMITS_MAX + 1).is_none());
    assert!(semaphore.try_acquire_until(PERMITS_MAX, soon()).is_none(), "more than there are: it waits");
    assert_eq!(semaphore.available(), 1);
}

/// The safe interface, `McsLock::with`, keeps its node to itself.
#[test]
fn an_unlock_by_a_node_that_is_in_no_queue_waits_for_a_successor() {
    let shared = Arc::new((RawMcsLock::new(), McsNode::new(), McsNode::new()));
    let (stranger, other) = (Arc::clone(&shared), Arc::clone(&shared));
    let successor = move || {
        let (lock, node, next) = &*other;
        // SAFETY: none: another thread waits for a successor of the first node, which queues here at last.
        unsafe {
            lock.lock(node);
            lock.lock(next);
            lock.unlock(next);
        }
    };
    waits_until(successor, move || {
        let (lock, node, _) = &*stranger;
        // SAFETY: none: the node is not in the queue. Nodes and lock are atomic words, which `shared` keeps in place.
        unsafe { lock.unlock(node) }
    });
    assert!(!shared.0.is_locked());
}
