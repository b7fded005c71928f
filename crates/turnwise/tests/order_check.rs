//! The lock-order checker: what it reports, and what it does not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use turnwise::{
    Condvar, LockRef, LockRefCell, McsLock, Mutex, MutexGuard, QueuedSpinLock, ReentrantMutex, RwSem, RwSemReadGuard,
    RwSemUpgradableGuard, RwSemWriteGuard, SeqRwLock, SpinLock, TicketLock, order,
};

/// Returns the report that `f` causes.
fn report(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it is reported");
    panic.downcast_ref::<String>().expect("the report is the message").clone()
}

/// Runs `f`, such as `thread 1: a, then b`, in a separate thread.
fn on_a_thread(f: impl FnOnce() + Send) {
    std::thread::scope(|s| s.spawn(f).join().expect("nothing is reported"));
}

#[test]
fn an_inversion_is_reported_at_once_with_both_places_of_each_step() {
    let (a, b) = (Mutex::new(1), Mutex::new(2));
    let first = line!() + 2;
    on_a_thread(|| {
        let _a = a.lock();
        let _b = b.lock();
    });
    let second = line!() + 2;
    let message = report(|| {
        let _b = b.lock();
        let _a = a.lock();
    });
    assert!(message.starts_with("lock order inversion"), "{message}");
    for line in [first, first + 1, second, second + 1] {
        assert!(message.contains(&format!("order_check.rs:{line}:")), "line {line} is missing: {message}");
    }
    // The report came before the lock was taken, and no lock is left held.
    assert!(a.try_lock().is_some() && b.try_lock().is_some());
}

#[test]
fn a_cycle_of_three_is_found_and_reported_whole() {
    let (a, b, c) = (Mutex::new(()), SpinLock::new(()), TicketLock::new(()));
    on_a_thread(|| {
        let _a = a.lock();
        let _b = b.lock();
    });
    on_a_thread(|| {
        let _b = b.lock();
        let _c = c.lock();
    });
    let message = report(|| {
        let _c = c.lock();
        let _a = a.lock();
    });
    assert_eq!(message.matches("now:").count(), 1, "{message}");
    assert_eq!(message.matches("before:").count(), 2, "{message}");
}

#[test]
fn one_order_is_fine_in_any_thread_and_however_guards_are_dropped() {
    let (a, b, c) = (Mutex::new(()), QueuedSpinLock::new(()), McsLock::new(()));
    for turn in 0..3 {
        on_a_thread(|| {
            let first = a.lock();
            let second = b.lock();
            c.with(|()| ());
            if turn == 0 {
                drop(first);
                drop(second);
            }
        });
    }
    c.with(|()| assert!(report(|| drop(a.lock())).contains("inversion")));
}

#[test]
fn a_thread_that_locks_what_it_holds_is_reported_instead_of_hanging() {
    let (mutex, spin, mcs) = (Mutex::new(()), SpinLock::new(()), McsLock::new(()));
    let _held = mutex.lock();
    assert!(report(|| drop(mutex.lock())).starts_with("self-deadlock"));
    assert!(report(|| drop(mutex.try_lock_for(std::time::Duration::from_secs(60)))).starts_with("self-deadlock"));
    assert!(mutex.try_lock().is_none(), "a try does not wait");
    let _held = spin.lock();
    assert!(report(|| drop(spin.lock())).starts_with("self-deadlock"));
    mcs.with(|()| assert!(report(|| mcs.with(|()| ())).starts_with("self-deadlock")));
}

#[test]
fn a_try_makes_no_order_but_what_it_acquired_is_held() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    on_a_thread(|| {
        let _a = a.lock();
        let _b = b.try_lock().expect("free");
    });
    on_a_thread(|| {
        let _b = b.try_lock().expect("free");
        let _a = a.lock();
    });
    // That established the order b, a.
    let _a = a.lock();
    assert!(report(|| drop(b.lock())).contains("inversion"));
}

#[test]
fn two_locks_of_one_class_need_an_order() {
    let locks = [(); 3].map(|()| Mutex::new(()));
    let first = locks[0].lock();
    assert!(report(|| drop(locks[1].lock())).starts_with("two locks made at one place"));
    drop(order::nested(1, || locks[1].lock()));
    let second = order::by_address(|| locks[1].lock());
    drop((first, second));
    let other = [(); 2].map(|()| Mutex::new(()));
    let _high = other[1].lock();
    assert!(order::by_address(|| report(|| drop(other[0].lock()))).starts_with("two locks made at one place"));
}

#[test]
fn levels_of_a_class_have_an_order_too() {
    let locks = [(); 2].map(|()| Mutex::new(()));
    {
        let _parent = locks[0].lock();
        let _child = order::nested(1, || locks[1].lock());
    }
    let _child = order::nested(1, || locks[1].lock());
    assert!(report(|| drop(locks[0].lock())).contains("inversion"));
}

#[test]
fn a_reentrant_mutex_is_checked_where_it_may_wait() {
    let (a, b) = (ReentrantMutex::new(()), Mutex::new(()));
    {
        let outer = a.lock();
        let _b = b.lock();
        let inner = a.lock();
        drop(outer);
        drop(inner);
    }
    let _b = b.lock();
    assert!(report(|| drop(a.lock())).contains("inversion"));
}

#[test]
fn a_condition_variable_gives_its_mutex_up_and_takes_it_again() {
    let (ready, changed, other) = (Mutex::new(false), Condvar::new(), Mutex::new(()));
    std::thread::scope(|s| {
        s.spawn(|| changed.wait_while(&mut ready.lock(), |ready| !*ready));
        *ready.lock() = true;
        changed.notify_all();
    });
    let mut held = ready.lock();
    // Held while others are acquired: an order ready, other. To wait with `other` held is the opposite order.
    let _other = other.lock();
    let message = report(|| _ = changed.wait_for(&mut held, std::time::Duration::ZERO));
    assert!(message.contains("inversion"), "{message}");
}

#[test]
fn a_mutex_that_is_unlocked_for_a_while_is_not_held_meanwhile() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    on_a_thread(|| {
        let _b = b.lock();
        let _a = a.lock();
    });
    let mut held = a.lock();
    MutexGuard::unlocked(&mut held, || drop(b.lock()));
    assert!(report(|| drop(b.lock())).contains("inversion"), "it is held again");
}

#[test]
fn a_guard_that_moved_is_released_for_the_thread_that_acquired_it() {
    let (a, b) = (SpinLock::new(()), Mutex::new(()));
    let moved = a.lock();
    std::thread::scope(|s| _ = s.spawn(move || drop(moved)));
    // With `a` no longer held there is no order, and no self-deadlock.
    drop(b.lock());
    drop(a.lock());
    on_a_thread(|| {
        let _b = b.lock();
        let _a = a.lock();
    });
}

/// The release by another thread ends the acquisition that came before it, not one that came after.
#[test]
fn a_guard_that_moved_is_not_taken_for_one_that_came_later() {
    let (a, b, third) = (SpinLock::new(()), Mutex::new(()), std::sync::Barrier::new(2));
    let moved = a.lock();
    on_a_thread(move || drop(moved));
    std::thread::scope(|s| {
        s.spawn(|| {
            let _a = a.lock();
            drop(b.lock()); // a check, in a thread that holds it
            third.wait();
            let again = report(|| drop(a.try_lock_for(std::time::Duration::from_millis(1))));
            assert!(again.starts_with("self-deadlock"), "{again}");
        });
        third.wait();
        // This thread no longer holds it: it waits, and gets no report.
        drop(a.lock());
    });
}

/// Classes are places in the source: this function creates all its locks at one.
fn made_at_one_place() -> Mutex<u32> {
    Mutex::new(0)
}

#[test]
fn the_class_is_the_place_where_a_lock_was_made() {
    let (a, b) = (made_at_one_place(), made_at_one_place());
    let _a = a.lock();
    assert!(report(|| drop(b.lock())).starts_with("two locks made at one place"));
}

#[test]
fn zeroed_memory_is_an_unlocked_lock_without_a_class() {
    // SAFETY: zero bytes are an unlocked mutex.
    let lock: Mutex<u32> = unsafe { std::mem::zeroed() };
    let other = Mutex::new(());
    let _other = other.lock();
    assert_eq!(*lock.lock(), 0);
}

#[test]
fn many_threads_that_keep_the_order_get_on() {
    let (a, b, sum) = (Mutex::new(0_usize), SpinLock::new(0_usize), AtomicUsize::new(0));
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
                    let mut a = a.lock();
                    *b.lock() += 1;
                    *a += 1;
                    sum.fetch_add(1, Relaxed);
                }
            });
        }
    });
    assert_eq!((*a.lock(), *b.lock()), (sum.load(Relaxed), sum.load(Relaxed)));
}

#[test]
fn a_read_within_a_read_is_reported_and_so_is_a_write() {
    let lock = RwSem::new(0);
    let reading = lock.read();
    assert!(report(|| drop(lock.read())).starts_with("read lock within a read lock"));
    assert!(report(|| drop(lock.upgradable_read())).starts_with("read lock within a read lock"));
    drop(lock.read_recursive());
    assert!(report(|| drop(lock.write())).starts_with("self-deadlock"));
    drop(lock.try_read().expect("a try does not wait"));
    drop(reading);
    let writing = lock.write();
    assert!(report(|| drop(lock.read())).starts_with("self-deadlock"));
    assert!(report(|| drop(lock.read_recursive())).starts_with("self-deadlock"));
    drop(writing);
    drop(lock.read());
}

#[test]
fn readers_and_writers_are_held_until_the_last_form_of_their_guard_goes() {
    let (lock, other) = (RwSem::new((0, 1)), Mutex::new(()));
    on_a_thread(|| {
        let _other = other.lock();
        let _write = lock.write();
    });
    let upgraded = RwSemUpgradableGuard::upgrade(lock.upgradable_read());
    let part = RwSemReadGuard::map(RwSemWriteGuard::downgrade(upgraded), |pair| &pair.1);
    assert!(report(|| drop(other.lock())).contains("inversion"));
    drop(part);
    drop(other.lock());
}

#[test]
fn a_sequence_lock_is_checked_by_who_takes_its_lock() {
    let (lock, other) = (SeqRwLock::new(0), Mutex::new(()));
    let first = line!() + 3;
    on_a_thread(|| {
        let _other = other.lock();
        let mut value = lock.write();
        *value = 1;
    });
    let reading = lock.blocking_read();
    let message = report(|| drop(other.lock()));
    assert!(message.contains("inversion"), "{message}");
    assert!(message.contains(&format!("order_check.rs:{first}:")), "line {first} is missing: {message}");
    assert!(report(|| drop(lock.blocking_read())).starts_with("read lock within a read lock"));
    assert!(report(|| drop(lock.write())).starts_with("self-deadlock"));
    let long = std::time::Duration::from_secs(60);
    assert!(report(|| drop(lock.try_write_for(long))).starts_with("self-deadlock"));
    drop(lock.try_blocking_read().expect("a try does not wait"));
    drop(reading);
    let writing = lock.write();
    assert!(report(|| drop(lock.try_blocking_read_for(long))).starts_with("self-deadlock"));
    assert!(report(|| lock.set(2)).starts_with("self-deadlock"));
    drop(writing);
    drop(other.lock());
    assert_eq!(lock.read(), 1);
}

#[test]
fn an_optimistic_read_is_in_no_order() {
    let (lock, other) = (SeqRwLock::new(0), Mutex::new(()));
    on_a_thread(|| {
        let _writing = lock.write();
        let _other = other.lock();
        assert_eq!(lock.read(), 0);
    });
    // Neither an edge to the lock with `other` held, nor a wait for a lock that this thread holds.
    let _other = other.lock();
    assert_eq!((lock.read(), lock.try_read(), lock.read_with(|value| *value)), (0, Some(0), 0));
    assert!(report(|| drop(lock.write())).contains("inversion"));
}

#[test]
fn the_lock_of_a_lockref_is_checked_and_its_count_is_not() {
    let (refs, cell, other) = (LockRef::new(1), LockRefCell::new(1, ()), Mutex::new(()));
    on_a_thread(|| {
        let _refs = refs.lock();
        let _cell = cell.lock();
        let _other = other.lock();
    });
    let held = other.lock();
    refs.get();
    assert!(cell.get_or_lock().is_none());
    assert!(cell.put_or_lock().is_none(), "there was another");
    assert!(report(|| drop(refs.lock())).contains("inversion"));
    let message = report(|| drop(cell.put_or_lock()));
    assert!(message.contains("inversion"), "the last one locks: {message}");
    drop(held);
    // The report came before the lock was taken, and before the reference was given back.
    let last = cell.put_or_lock().expect("free");
    assert!(report(|| drop(cell.lock())).starts_with("self-deadlock"));
    assert!(report(|| _ = cell.raw().put()).starts_with("self-deadlock"), "the count waits for the lock as well");
    drop(last);
    drop(cell.try_lock().expect("free"));
    drop(refs.lock());
}
