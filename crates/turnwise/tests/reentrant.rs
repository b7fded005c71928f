//! The re-entrant mutex on real threads.
#![cfg(feature = "native")]

use std::cell::{Cell, RefCell};
use std::time::Duration;
use turnwise::{ReentrantMutex, ReentrantMutexGuard};

const ROUNDS: u32 = if cfg!(miri) { 10 } else { 5_000 };

fn add(total: &ReentrantMutex<Cell<u32>>, levels: u32) {
    let guard = total.lock();
    guard.set(guard.get() + 1);
    if levels > 1 {
        add(total, levels - 1);
    }
}

#[test]
fn excludes_others_at_every_depth() {
    static TOTAL: ReentrantMutex<Cell<u32>> = ReentrantMutex::new(Cell::new(0));
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| (0..ROUNDS).for_each(|round| add(&TOTAL, 1 + round % 3)));
        }
    });
    let each: u32 = (0..ROUNDS).map(|round| 1 + round % 3).sum();
    assert_eq!(TOTAL.lock().get(), 4 * each);
    assert!(!TOTAL.is_locked());
}

#[test]
fn the_lock_is_kept_until_the_last_release_in_whatever_order() {
    let lock = ReentrantMutex::new(());
    let first = lock.lock();
    let mut second = lock.try_lock().expect("it is ours");
    assert_eq!(ReentrantMutexGuard::depth(&mut second), 2);
    let others = || std::thread::scope(|s| s.spawn(|| lock.try_lock().is_some() || lock.is_mine()).join().unwrap());
    drop(first);
    assert!(lock.is_mine() && lock.is_locked() && !others());
    ReentrantMutexGuard::unlock_fair(second);
    assert!(!lock.is_mine() && !lock.is_locked() && others() == lock.try_lock().is_some());
}

#[test]
fn timed_waits_end_and_the_owner_never_waits() {
    let lock = ReentrantMutex::new(());
    let _held = lock.lock();
    assert!(lock.try_lock_for(Duration::ZERO).is_some());
    std::thread::scope(|s| {
        s.spawn(|| assert!(lock.try_lock_for(Duration::from_millis(5)).is_none()));
    });
}

#[test]
fn a_part_of_the_data_keeps_the_lock_and_a_panic_releases_it() {
    let lock = ReentrantMutex::new((RefCell::new(1), 2));
    let part = ReentrantMutexGuard::map_shared(lock.lock(), |pair| &pair.0);
    *part.borrow_mut() += 4;
    assert!(lock.is_locked());
    drop(part);
    let result = std::thread::scope(|s| {
        s.spawn(|| {
            let _guard = lock.lock();
            let _again = lock.lock();
            std::panic::resume_unwind(Box::new(()));
        })
        .join()
    });
    assert!(result.is_err() && !lock.is_locked());
    assert_eq!(lock.into_inner(), (RefCell::new(5), 2));
}
