//! The locks under the typed front end of the lock_api crate.
#![cfg(all(feature = "lock_api", feature = "native"))]

use lock_api::{Mutex, MutexGuard, RawMutexTimed, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use turnwise::backoff::Exponential;
use turnwise::platform::{Deadline, Native};
use turnwise::{RawMutex, RawQueuedSpinLock, RawRwSem, RawSpinLock, RawTicketLock};

static IN_A_STATIC: Mutex<RawMutex, u64> = Mutex::new(0);

fn excludes<R: RawMutexTimed<Duration = Duration, Instant = Deadline> + Sync>(total: &Mutex<R, u64>) {
    const THREADS: u64 = 3;
    const ROUNDS: u64 = if cfg!(miri) { 10 } else { 300 };
    std::thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for n in 0..ROUNDS {
                    *total.lock() += 1;
                    if n % 16 == 0 {
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(*total.lock(), THREADS * ROUNDS);
    tries_and_times_out(total);
}

fn tries_and_times_out<R: RawMutexTimed<Duration = Duration, Instant = Deadline> + Sync>(lock: &Mutex<R, u64>) {
    let held = lock.try_lock().expect("free");
    assert!(lock.is_locked());
    std::thread::scope(|s| {
        s.spawn(|| {
            assert!(lock.try_lock().is_none());
            let start = Instant::now();
            assert!(lock.try_lock_for(Duration::from_millis(5)).is_none());
            assert!(lock.try_lock_until(Deadline::after::<Native>(Duration::from_millis(5))).is_none());
            assert!(start.elapsed() >= Duration::from_millis(10));
        });
    });
    drop(held);
    assert!(lock.try_lock_for(Duration::ZERO).is_some());
}

#[test]
fn every_raw_type_works() {
    excludes(&IN_A_STATIC);
    excludes(&Mutex::<RawSpinLock, u64>::new(0));
    excludes(&Mutex::<RawSpinLock<Exponential>, u64>::new(0));
    excludes(&Mutex::<RawTicketLock, u64>::new(0));
    excludes(&Mutex::<RawQueuedSpinLock, u64>::new(0));
}

#[test]
fn fair_unlock_and_bump_leave_the_lock_usable() {
    let lock = Mutex::<RawMutex, u64>::new(0);
    let mut held = lock.lock();
    MutexGuard::bump(&mut held);
    *held += 1;
    MutexGuard::unlock_fair(held);
    assert_eq!(lock.into_inner(), 1);
}

#[test]
fn a_forgotten_guard_leaves_a_locked_mutex_that_can_be_moved_and_dropped() {
    let lock = Mutex::<RawQueuedSpinLock, u64>::new(0);
    std::mem::forget(lock.lock());
    let moved = Box::new(lock);
    assert!(moved.is_locked() && moved.try_lock().is_none());
    // SAFETY: the forgotten guard's acquisition is released here, once.
    unsafe { moved.force_unlock(lock_api::GuardSend::new()) };
    assert!(moved.try_lock().is_some());
}

#[test]
fn spin_guards_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let lock = Mutex::<RawTicketLock, u64>::new(0);
    let held = lock.lock();
    is_send(&held);
    std::thread::scope(|s| {
        s.spawn(move || drop(held));
    });
    assert!(!lock.is_locked());
}

#[test]
fn readers_share_and_writers_do_not() {
    static LOCK: RwLock<RawRwSem, u64> = RwLock::new(0);
    const MS: Duration = Duration::from_millis(5);
    let (first, second) = (LOCK.read(), LOCK.read());
    assert!(LOCK.try_write().is_none() && LOCK.is_locked() && !LOCK.is_locked_exclusive());
    assert!(LOCK.try_write_for(MS).is_none());
    drop((first, second));
    let mut written = LOCK.write();
    *written += 1;
    assert!(LOCK.is_locked_exclusive() && LOCK.try_read().is_none());
    assert!(LOCK.try_read_for(MS).is_none() && LOCK.try_read_until(Deadline::after::<Native>(MS)).is_none());
    let read = RwLockWriteGuard::downgrade(written);
    assert_eq!((*read, LOCK.try_read().map(|guard| *guard)), (1, Some(1)));
}

#[test]
fn an_upgradable_reader_becomes_the_writer_when_it_is_alone() {
    let lock = RwLock::<RawRwSem, u64>::new(7);
    let upgradable = lock.upgradable_read();
    assert!(lock.try_upgradable_read().is_none() && lock.try_write().is_none());
    let reader = lock.read();
    let upgradable = RwLockUpgradableReadGuard::try_upgrade(upgradable).expect_err("somebody else reads");
    let soon = Duration::from_millis(5);
    let upgradable = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, soon).expect_err("somebody else reads");
    drop(reader);
    let mut written = RwLockUpgradableReadGuard::upgrade(upgradable);
    *written += 1;
    let upgradable = RwLockWriteGuard::downgrade_to_upgradable(written);
    let read = RwLockUpgradableReadGuard::downgrade(upgradable);
    assert_eq!((*read, lock.try_upgradable_read().is_some()), (8, true));
}
