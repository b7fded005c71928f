//! The mutex on real threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use turnwise::{Condvar, Mutex, MutexGuard};

/// Fewer under Miri, which interprets, some thousand times slower.
const ROUNDS: u64 = if cfg!(miri) { 20 } else { 20_000 };
const TURNS: usize = if cfg!(miri) { 5 } else { 500 };

#[test]
fn counts_every_increment() {
    let total = Mutex::new(0_u64);
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                for _ in 0..ROUNDS {
                    *total.lock() += 1;
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 8 * ROUNDS);
}

#[test]
fn timed_lock_gives_up_and_leaves_the_lock_usable() {
    let lock = Mutex::new(());
    let held = lock.lock();
    std::thread::scope(|s| {
        s.spawn(|| {
            let start = Instant::now();
            assert!(lock.try_lock_for(Duration::from_millis(30)).is_none());
            assert!(start.elapsed() >= Duration::from_millis(30));
        });
    });
    drop(held);
    assert!(lock.try_lock_for(Duration::ZERO).is_some());
}

#[test]
fn timed_lock_gets_a_lock_that_is_released_in_time() {
    let lock = Mutex::new(());
    let held = lock.lock();
    std::thread::scope(|s| {
        s.spawn(|| assert!(lock.try_lock_for(Duration::from_secs(60)).is_some()));
        std::thread::sleep(Duration::from_millis(20));
        drop(held);
    });
}

#[test]
fn condvar_passes_a_token_around() {
    const THREADS: usize = 4;
    let (turn, changed) = (Mutex::new(0_usize), Condvar::new());
    std::thread::scope(|s| {
        for me in 0..THREADS {
            let (turn, changed) = (&turn, &changed);
            s.spawn(move || {
                for _ in 0..TURNS {
                    let mut now = turn.lock();
                    changed.wait_while(&mut now, |t| *t % THREADS != me);
                    *now += 1;
                    changed.notify_all();
                }
            });
        }
    });
    assert_eq!(turn.into_inner(), THREADS * TURNS);
}

#[test]
fn fair_unlock_lets_the_sleeper_go_first() {
    // A thread that is delayed on its way to sleep is overtaken.
    assert!((0..50).any(|_| the_sleeper_goes_first()), "the releaser is always first");
}

fn the_sleeper_goes_first() -> bool {
    let order = Mutex::new(Vec::new());
    let asleep = AtomicUsize::new(0);
    let held = order.lock();
    std::thread::scope(|s| {
        s.spawn(|| {
            asleep.store(1, Ordering::Relaxed);
            order.lock().push("sleeper");
        });
        while asleep.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(if cfg!(miri) { 3000 } else { 50 }));
        MutexGuard::unlock_fair(held);
        order.lock().push("releaser");
    });
    order.into_inner() == ["sleeper", "releaser"]
}

#[test]
fn a_part_of_the_data_keeps_the_lock() {
    let pair = Mutex::new((1, 2));
    let mut second = MutexGuard::map(pair.lock(), |p| &mut p.1);
    *second = 5;
    assert!(pair.try_lock().is_none());
    drop(second);
    assert_eq!(pair.into_inner(), (1, 5));
}
