//! What programs do with parking_lot 0.12, each use once: the line in their manifest is all that they change.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};
use turnwise_parking_lot as parking_lot;

use parking_lot::lock_api::RawMutex as _;
use parking_lot::{
    Condvar, FairMutex, MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, Once,
    OnceState, RawMutex, ReentrantMutex, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
    WaitTimeoutResult, const_fair_mutex, const_mutex, const_reentrant_mutex, const_rwlock,
};

static MUTEX: Mutex<u32> = const_mutex(1);
static FAIR: FairMutex<u32> = const_fair_mutex(2);
static AGAIN: ReentrantMutex<u32> = const_reentrant_mutex(3);
static RWLOCK: RwLock<u32> = const_rwlock(4);

const SHORT: Duration = Duration::from_millis(20);

/// Does something in another thread, while this one has what it has.
fn elsewhere<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|s| s.spawn(run).join().expect("no panic"))
}

#[test]
fn statics_are_made_by_const_functions() {
    assert_eq!(*MUTEX.lock() + *FAIR.lock() + *AGAIN.lock() + *RWLOCK.read(), 10);
}

#[test]
fn a_mutex_is_tried_for_a_time_and_until_one() {
    let mutex = Mutex::new(1);
    let guard = mutex.lock();
    assert!(elsewhere(|| mutex.try_lock().is_none() && mutex.is_locked()));
    assert!(elsewhere(|| mutex.try_lock_for(SHORT).is_none()));
    assert!(elsewhere(|| mutex.try_lock_until(Instant::now() + SHORT).is_none()));
    MutexGuard::unlock_fair(guard);
    assert!(elsewhere(|| mutex.try_lock_until(Instant::now() + SHORT).is_some()));
}

#[test]
fn guards_are_mapped_bumped_leaked_and_unlocked_meanwhile() {
    let mutex = Mutex::new((1, 2));
    let half: MappedMutexGuard<'_, i32> = MutexGuard::map(mutex.lock(), |both| &mut both.1);
    assert_eq!(*half, 2);
    drop(half);
    let mut guard = mutex.lock();
    MutexGuard::bump(&mut guard);
    MutexGuard::unlocked(&mut guard, || assert!(mutex.try_lock().is_some()));
    assert!(MutexGuard::try_map(guard, |both| (both.0 == 9).then_some(&mut both.0)).is_err());
    MutexGuard::leak(mutex.lock()).0 = 5;
    // SAFETY: the leaked guard had the lock.
    unsafe { mutex.force_unlock() };
    assert_eq!(mutex.into_inner(), (5, 2));
}

#[test]
fn raw_locks_and_formats_are_there() {
    struct Bare(RawMutex);
    let bare = Bare(RawMutex::INIT);
    assert!(bare.0.try_lock() && !bare.0.try_lock());
    // SAFETY: taken a line before.
    unsafe { bare.0.unlock() };
    assert!(format!("{:?} {:?}", Mutex::new(7), RwLock::new(8)).contains("data: 7"));
    assert_eq!(*Mutex::<u32>::default().lock() + Mutex::from(3).into_inner(), 3);
}

#[test]
fn a_fair_mutex_excludes() {
    let (fair, turns) = (FairMutex::new(0), AtomicU32::new(0));
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| (0..1000).for_each(|_| *fair.lock() += turns.fetch_add(1, SeqCst) & 1));
        }
    });
    assert_eq!((fair.into_inner(), turns.into_inner()), (1000, 2000));
}

#[test]
fn an_owner_may_lock_a_reentrant_mutex_again() {
    let mutex = ReentrantMutex::new(1);
    let (outer, inner) = (mutex.lock(), mutex.try_lock_for(SHORT));
    assert_eq!(*outer + *inner.expect("it is this thread's"), 2);
    assert!(mutex.is_owned_by_current_thread() && elsewhere(|| mutex.try_lock().is_none()));
    drop(outer);
    assert!(elsewhere(|| mutex.try_lock().is_some()));
}

#[test]
fn readers_share_and_read_again_past_a_writer() {
    let lock = RwLock::new(1);
    let outer: RwLockReadGuard<'_, i32> = lock.read();
    std::thread::scope(|s| {
        let writer = s.spawn(|| *lock.write() += 1);
        std::thread::sleep(SHORT);
        assert!(lock.try_read_recursive().is_some() && lock.try_read_recursive_for(SHORT).is_some());
        drop((lock.read_recursive(), outer));
        writer.join().expect("no panic");
    });
    let half: MappedRwLockReadGuard<'_, i32> = RwLockReadGuard::map(lock.read(), |value| value);
    assert!(*half == 2 && lock.is_locked() && !lock.is_locked_exclusive());
}

#[test]
fn writers_exclude_and_become_readers() {
    let lock = RwLock::new(1);
    let guard: RwLockWriteGuard<'_, i32> = lock.write();
    assert!(lock.is_locked_exclusive() && elsewhere(|| lock.try_read_for(SHORT).is_none()));
    assert!(elsewhere(|| lock.try_write_until(Instant::now() + SHORT).is_none()));
    let guard = RwLockWriteGuard::downgrade(guard);
    assert!(elsewhere(|| lock.try_read().is_some() && lock.try_write().is_none()));
    RwLockReadGuard::unlock_fair(guard);
    let mut half: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(lock.write(), |value| value);
    *half += 1;
    drop(half);
    let kept: RwLockUpgradableReadGuard<'_, i32> = lock.upgradable_read();
    assert!(elsewhere(|| lock.try_read().is_some() && lock.try_upgradable_read().is_none()));
    let mut kept = RwLockUpgradableReadGuard::try_upgrade(kept).expect("no reader is there");
    *kept += 1;
    assert_eq!(*RwLockWriteGuard::downgrade_to_upgradable(kept), 3);
}

#[test]
fn notifications_say_whether_anybody_waited() {
    let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    assert!(!condvar.notify_one() && condvar.notify_all() == 0);
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut ready = mutex.lock();
            condvar.wait_while(&mut ready, |ready| !*ready);
        });
        while !condvar.notify_one() {
            std::thread::sleep(Duration::from_millis(1));
        }
        *mutex.lock() = true;
        condvar.notify_all();
    });
    let mut guard = mutex.lock();
    let timed_out: WaitTimeoutResult = condvar.wait_for(&mut guard, SHORT);
    assert!(timed_out.timed_out() && condvar.wait_until(&mut guard, Instant::now() + SHORT).timed_out());
    assert!(condvar.wait_while_for(&mut guard, |_| true, SHORT).timed_out());
    assert!(!condvar.wait_while_until(&mut guard, |_| false, Instant::now() + SHORT).timed_out());
}

#[test]
fn a_closure_runs_once_and_poisons_if_it_panics() {
    static ONCE: Once = Once::new();
    let runs = AtomicU32::new(0);
    assert_eq!(ONCE.state(), OnceState::New);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| ONCE.call_once(|| assert_eq!(runs.fetch_add(1, SeqCst), 0)));
        }
    });
    assert!(ONCE.state().done() && runs.into_inner() == 1);

    let poisoned = Once::new();
    assert!(catch_unwind(std::panic::AssertUnwindSafe(|| poisoned.call_once(|| panic!("on purpose")))).is_err());
    assert!(poisoned.state().poisoned());
    assert!(catch_unwind(std::panic::AssertUnwindSafe(|| poisoned.call_once(|| ()))).is_err());
    poisoned.call_once_force(|state| assert!(state.poisoned()));
    poisoned.call_once(|| panic!("it is done"));
    assert!(format!("{poisoned:?}").contains("Done"));
}

#[cfg(feature = "arc_lock")]
#[test]
fn guards_may_keep_their_lock_alive() {
    let (mutex, lock) = (Arc::new(Mutex::new(1)), Arc::new(RwLock::new(2)));
    let (one, two): (parking_lot::ArcMutexGuard<RawMutex, i32>, _) = (mutex.lock_arc(), lock.read_arc());
    drop((mutex, lock));
    assert_eq!(*one + *two, 3);
}

#[test]
fn they_are_shared_between_threads() {
    fn shared<T: Send + Sync>(value: T) -> Arc<T> {
        Arc::new(value)
    }
    let all = (shared(Mutex::new(0)), shared(RwLock::new(0)), shared(ReentrantMutex::new(0)), shared(Condvar::new()));
    assert!(!all.0.is_locked() && !all.1.is_locked() && !all.2.is_locked());
}
