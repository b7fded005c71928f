//! The readers-writer lock on real threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::platform::{Deadline, Native};
use turnwise::raw::{RawLock, RawRwLock, RawTimedRwLock};
use turnwise::rwsem::Prefer;
use turnwise::{
    MappedRwSemReadGuard, MappedRwSemWriteGuard, RawRwSem, RwLock, RwSem, RwSemReadGuard, RwSemUpgradableGuard,
    RwSemWriteGuard,
};

/// Fewer under Miri, which interprets, some thousand times slower.
const ROUNDS: u64 = if cfg!(miri) { 15 } else { 10_000 };
const SOON: Duration = Duration::from_millis(10);

#[test]
fn writes_are_counted_and_readers_see_whole_ones() {
    let pair = RwSem::new((0_u64, 0_u64));
    std::thread::scope(|s| {
        for number in 0..6 {
            let pair = &pair;
            s.spawn(move || {
                for round in 0..ROUNDS {
                    if (round + number) % 3 == 0 {
                        let mut pair = pair.write();
                        pair.0 += 1;
                        pair.1 += 1;
                    } else {
                        let pair = pair.read();
                        assert_eq!(pair.0, pair.1);
                    }
                }
            });
        }
    });
    let writes: u64 = (0..6).map(|number| (0..ROUNDS).filter(|round| (round + number) % 3 == 0).count() as u64).sum();
    assert_eq!(pair.into_inner(), (writes, writes));
}

#[test]
fn readers_are_inside_together() {
    const READERS: usize = 3;
    let (lock, inside) = (RwLock::new(()), Barrier::new(READERS));
    std::thread::scope(|s| {
        for _ in 0..READERS {
            s.spawn(|| {
                let _read = lock.read();
                inside.wait(); // returns when all are in
            });
        }
    });
    assert!(!lock.is_locked());
}

#[test]
fn a_reader_reads_again_past_all_waiters() {
    let lock = RwSem::new(0);
    let first = lock.read();
    std::thread::scope(|s| {
        s.spawn(|| *lock.write() += 1);
        s.spawn(|| *RwSemUpgradableGuard::upgrade(lock.upgradable_read()) += 1);
        while lock.try_read().is_some() {
            std::thread::yield_now(); // until one of them waits
        }
        assert_eq!(*lock.read_recursive(), 0);
        assert!(lock.try_read_recursive().is_some() && lock.try_read_recursive_for(SOON).is_some());
        std::thread::sleep(SOON);
        assert_eq!(*lock.read_recursive(), 0);
        drop(first);
    });
    assert_eq!(*lock.read(), 2);
    let _write = lock.write();
    std::thread::scope(|s| {
        s.spawn(|| assert!(lock.try_read_recursive().is_none() && lock.try_read_recursive_for(SOON).is_none()));
    });
}

#[test]
fn a_reader_reads_again_while_another_thread_upgrades() {
    let lock = RwSem::new(0);
    let first = lock.read();
    std::thread::scope(|s| {
        s.spawn(|| *RwSemUpgradableGuard::upgrade(lock.upgradable_read()) += 1);
        while lock.try_read().is_some() {
            std::thread::yield_now(); // until it upgrades
        }
        assert!(!lock.is_write_locked());
        assert_eq!(*lock.read_recursive(), 0);
        drop(first);
    });
    assert_eq!(lock.into_inner(), 1);
}

#[test]
fn tries_say_who_is_in() {
    let lock = RwSem::new(0);
    let read = lock.read();
    assert!(lock.try_read().is_some() && lock.try_write().is_none());
    let upgradable = lock.try_upgradable_read().expect("beside a reader");
    assert!(lock.try_upgradable_read().is_none() && lock.try_read().is_some());
    drop((read, upgradable));
    let write = lock.try_write().expect("free");
    assert!(lock.is_write_locked());
    assert!(lock.try_read().is_none() && lock.try_write().is_none() && lock.try_upgradable_read().is_none());
    drop(write);
    assert!(!lock.is_locked());
}

#[test]
fn timed_waits_end_and_leave_no_trace() {
    let lock = RwSem::new(0);
    let in_time = |start: Instant| assert!(start.elapsed() >= SOON);
    let write = lock.write();
    std::thread::scope(|s| {
        s.spawn(|| {
            let start = Instant::now();
            assert!(lock.try_read_for(SOON).is_none());
            in_time(start);
            assert!(lock.try_upgradable_read_for(SOON).is_none());
            assert!(lock.try_write_until(Deadline::after::<Native>(SOON)).is_none());
        });
    });
    drop(write);
    let read = lock.read();
    std::thread::scope(|s| {
        s.spawn(|| {
            let start = Instant::now();
            assert!(lock.try_write_for(SOON).is_none());
            in_time(start);
            assert!(lock.try_read().is_some(), "a writer that gave up bars readers");
        });
    });
    drop(read);
    assert!(lock.try_write_for(Duration::ZERO).is_some());
}

#[test]
fn a_timed_wait_gets_what_is_released_in_time() {
    let lock = RwSem::new(0);
    let write = lock.write();
    std::thread::scope(|s| {
        s.spawn(|| assert!(lock.try_read_for(Duration::from_secs(60)).is_some()));
        s.spawn(|| assert!(lock.try_write_for(Duration::from_secs(60)).is_some()));
        s.spawn(|| assert!(lock.try_upgradable_read_for(Duration::from_secs(60)).is_some()));
        std::thread::sleep(SOON);
        drop(write);
    });
}

#[test]
fn upgrades_and_downgrades_let_no_writer_between() {
    let lock = RwSem::new(0_u64);
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for _ in 0..ROUNDS / 5 {
                    let upgradable = lock.upgradable_read();
                    let seen = *upgradable;
                    let mut write = RwSemUpgradableGuard::upgrade(upgradable);
                    assert_eq!(*write, seen);
                    *write += 1;
                    let upgradable = RwSemWriteGuard::downgrade_to_upgradable(write);
                    assert_eq!(*upgradable, seen + 1);
                    let read = RwSemUpgradableGuard::downgrade(upgradable);
                    assert_eq!(*read, seen + 1);
                    drop(read);
                    let mut write = lock.write();
                    *write += 1;
                    let seen = *write;
                    assert_eq!(*RwSemWriteGuard::downgrade(write), seen);
                }
            });
        }
        s.spawn(|| (0..ROUNDS).for_each(|_| assert!(*lock.read() <= 6 * ROUNDS)));
    });
    assert_eq!(lock.into_inner(), 6 * (ROUNDS / 5));
}

#[test]
fn an_upgrade_waits_for_readers_or_gives_up() {
    let lock = RwSem::new(0);
    let upgradable = lock.upgradable_read();
    // A try, since a thread that reads again may wait for ever.
    let read = lock.try_read().expect("nobody writes");
    let upgradable = RwSemUpgradableGuard::try_upgrade(upgradable).expect_err("somebody else reads");
    let upgradable = RwSemUpgradableGuard::try_upgrade_for(upgradable, SOON).expect_err("somebody else reads");
    assert!(lock.try_read().is_some(), "an upgrader that gave up bars readers");
    drop(read);
    let mut write = RwSemUpgradableGuard::try_upgrade_for(upgradable, SOON).expect("nobody else reads");
    *write += 1;
    drop(write);
    assert_eq!(lock.into_inner(), 1);
}

#[test]
fn a_downgrade_lets_waiting_readers_in() {
    let (lock, beside) = (RwSem::new(0), Barrier::new(2));
    let write = lock.write();
    std::thread::scope(|s| {
        s.spawn(|| {
            let _read = lock.read();
            beside.wait();
        });
        std::thread::sleep(SOON);
        let _read = RwSemWriteGuard::downgrade(write);
        beside.wait();
    });
}

#[test]
fn a_sleeping_writer_bars_readers_that_respect_it_and_no_others() {
    let lock = RawRwSem::new();
    lock.read();
    std::thread::scope(|s| {
        s.spawn(|| {
            lock.lock();
            // SAFETY: locked above.
            unsafe { lock.unlock() };
        });
        while lock.try_read() {
            // SAFETY: locked above.
            unsafe { lock.unlock_read() };
            std::thread::yield_now();
        }
        assert!(!lock.read_until(Deadline::after::<Native>(SOON)));
        assert!(lock.read_with(Prefer::Readers, None));
        // SAFETY: two read locks, one from here and one from above.
        unsafe {
            lock.unlock_read_with(Prefer::Readers);
            lock.unlock_read_with(Prefer::Readers);
        }
    });
    assert!(lock.try_lock());
}

#[test]
fn parts_of_the_data_keep_the_lock() {
    let lock = RwSem::new((1, [2, 3]));
    let array = RwSemReadGuard::map(lock.read(), |data| &data.1);
    let second = MappedRwSemReadGuard::map(array, |array| &array[1]);
    assert_eq!((*second, lock.try_write().is_none(), lock.try_read().is_some()), (3, true, true));
    let second = MappedRwSemReadGuard::try_map(second, |_| None::<&u8>).expect_err("there is no such part");
    drop(second);
    let read = RwSemReadGuard::try_map(lock.read(), |_| None::<&u8>).expect_err("there is no such part");
    drop(read);
    let array = RwSemWriteGuard::map(lock.write(), |data| &mut data.1);
    let mut second = MappedRwSemWriteGuard::map(array, |array| &mut array[1]);
    *second = 5;
    assert!(lock.try_read().is_none());
    let second = MappedRwSemWriteGuard::try_map(second, |_| None::<&mut u8>).expect_err("there is no such part");
    drop(second);
    let write = RwSemWriteGuard::try_map(lock.write(), |data| data.1.first_mut()).expect("the first");
    drop(write);
    assert_eq!(lock.into_inner(), (1, [2, 5]));
}

#[test]
fn a_guard_can_let_go_for_a_while() {
    let lock = RwSem::new(1);
    let mut write = lock.write();
    RwSemWriteGuard::unlocked(&mut write, || *lock.write() += 1);
    assert_eq!((*write, lock.try_read().is_none()), (2, true));
    drop(write);
    let mut read = lock.read();
    RwSemReadGuard::unlocked(&mut read, || *lock.write() += 1);
    assert_eq!((*read, lock.try_write().is_none()), (3, true));
}

#[test]
fn a_panic_releases_the_lock() {
    let lock = RwSem::new(0);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut write = lock.write();
        *write = 1;
        let _part = RwSemWriteGuard::map(write, |_| -> &mut i32 { panic!("in a section") });
    }));
    assert!(outcome.is_err());
    assert_eq!(lock.try_read().map(|guard| *guard), Some(1));
}

#[test]
fn it_looks_as_it_should() {
    let mut lock: RwSem<u8> = 7.into();
    *lock.get_mut() += 1;
    assert_eq!(format!("{lock:?}"), "RwSem { data: 8, .. }");
    let write = lock.write();
    assert_eq!((format!("{lock:?}"), format!("{write}")), ("RwSem { data: <locked>, .. }".to_owned(), "8".to_owned()));
    drop(write);
    assert_eq!(RwSem::<u8>::default().into_inner(), 0);
    if cfg!(not(any(feature = "stats", feature = "order-check"))) {
        let size = if cfg!(feature = "spin") { 12 } else { 4 };
        assert_eq!((size_of::<RawRwSem>(), size_of::<RwSem<u32>>()), (size, size + 4));
    }
}

#[test]
fn the_count_of_readers_does_not_overflow() {
    const FULL: u32 = 1 << 20;
    let lock = RawRwSem::new();
    // SAFETY: the lock begins with its word.
    let word = unsafe { &*(&raw const lock).cast::<AtomicU32>() };
    word.store(FULL, Relaxed);
    assert!(!lock.try_read() && !lock.read_until(Deadline::after::<Native>(SOON)) && !lock.try_lock());
    assert_eq!(word.load(Relaxed), FULL);
    std::thread::scope(|s| {
        s.spawn(|| lock.read());
        std::thread::sleep(SOON);
        // SAFETY: this many read locks are held.
        unsafe { lock.unlock_read() };
    });
    assert_eq!(word.load(Relaxed), FULL);
}

/// Checks that a thread that waits while others come again and again gets in long before they stop.
fn gets_in(torment: impl Fn() + Sync, wait: impl Fn()) {
    const TURNS: u64 = if cfg!(miri) { 1 } else { 5 };
    let (over, sections) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                while !over.load(Relaxed) {
                    torment();
                    sections.fetch_add(1, Relaxed);
                }
            });
        }
        for _ in 0..TURNS {
            let begun = sections.load(Relaxed);
            wait();
            while sections.load(Relaxed) == begun {
                std::thread::yield_now();
            }
        }
        over.store(true, Relaxed);
    });
}

#[test]
fn neither_readers_nor_writers_starve() {
    let lock = RwSem::new(0_u64);
    gets_in(|| assert!(*lock.read() < u64::MAX), || *lock.write() += 1);
    gets_in(|| *lock.write() += 1, || assert!(*lock.read() > 0));
    gets_in(|| *lock.write() += 1, || assert!(*lock.upgradable_read() > 0));
}

/// This includes one that was overtaken for long, and requests a hand-off.
#[test]
fn who_waits_to_be_upgradable_keeps_no_reader_from_an_upgradable_reader() {
    let lock = RwSem::new(1);
    for _ in 0..3 {
        let upgradable = lock.upgradable_read();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| *lock.upgradable_read());
            std::thread::sleep(Duration::from_millis(10));
            drop(upgradable);
            // It overtakes the second, unless that was faster and is gone.
            let upgradable = lock.upgradable_read();
            std::thread::sleep(Duration::from_millis(10));
            let reader = scope.spawn(|| *lock.read());
            assert_eq!(reader.join().expect("it does not panic"), 1, "it is inside, too");
            assert_eq!(lock.try_read().as_deref(), Some(&1));
            drop(upgradable);
            assert_eq!(second.join().expect("it does not panic"), 1);
        });
    }
}
