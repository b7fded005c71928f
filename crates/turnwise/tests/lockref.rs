//! Count and lock in one word, on real threads.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::lockref::COUNT_MAX;
use turnwise::{LockRef, LockRefCell, LockRefCellGuard};

/// Fewer under Miri, which interprets, some thousand times slower.
const ROUNDS: u32 = if cfg!(miri) { 10 } else { 30_000 };

/// Returns whether `f` panics about a `LockRef`, whose message is suppressed: Miri takes seconds for each backtrace.
fn panics<R>(f: impl FnOnce() -> R) -> bool {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            let (text, string) = (info.payload().downcast_ref::<&str>(), info.payload().downcast_ref::<String>());
            let message = text.copied().or(string.map(String::as_str));
            if !message.is_some_and(|message| message.contains("a LockRef")) {
                usual(info);
            }
        }));
    });
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn the_rules_of_zero_last_and_dead() {
    let refs = LockRef::new(0);
    assert!(!refs.get_not_zero());
    let guard = refs.get_or_lock().expect("nobody has a reference");
    assert!(refs.try_lock().is_none() && guard.count() == 0);
    guard.get();
    drop(guard);
    assert!(refs.get_not_zero() && refs.get_or_lock().is_none());
    assert_eq!(refs.count(), 3);
    assert!(refs.put_or_lock().is_none() && refs.put_not_last());
    assert!(!refs.put_not_last(), "the last one");
    refs.mark_dead();
    assert!(!refs.get_not_zero());
    assert!(refs.get_or_lock().expect("dead").is_dead());
    refs.get();
    assert_eq!(refs.put(), 1);
    let last = refs.put_or_lock().expect("the last one");
    assert_eq!(last.put(), 0);
    drop(last);
    assert!(!refs.is_locked() && refs.is_dead());
    assert_eq!(format!("{refs:?}"), "LockRef { count: 0, dead: true, locked: false }");
}

#[test]
fn one_too_many_and_one_too_few_are_panics_that_change_nothing() {
    let empty = LockRef::new(0);
    assert!(panics(|| empty.get()));
    assert!(panics(|| empty.put()));
    assert!(panics(|| empty.put_not_last()));
    assert!(panics(|| empty.put_or_lock()));
    assert!(panics(|| empty.lock().put()));
    assert!(empty.count() == 0 && !empty.is_locked());
    let full = LockRef::new(COUNT_MAX);
    assert!(panics(|| full.get()));
    assert!(panics(|| full.get_not_zero()));
    assert!(panics(|| full.get_or_lock()));
    assert!(panics(|| full.lock().get()));
    assert!(full.count() == COUNT_MAX && !full.is_locked());
    full.mark_dead();
    assert!(!full.get_not_zero(), "dead comes first");
    assert_eq!(full.put(), COUNT_MAX - 1);
    assert!(panics(|| LockRef::new(COUNT_MAX + 1)));
}

#[test]
fn the_lock_protects_while_the_count_changes() {
    let cell = LockRefCell::new(1, 0_u64);
    std::thread::scope(|s| {
        for thread in 0..4 {
            let cell = &cell;
            s.spawn(move || {
                for round in 0..ROUNDS {
                    if (thread + round) % 3 == 0 {
                        *cell.lock() += 1;
                    } else {
                        cell.raw().get();
                        assert!(cell.raw().put() >= 1);
                    }
                }
            });
        }
    });
    let expected = (0..4).map(|thread| (0..ROUNDS).filter(|round| (thread + round) % 3 == 0).count() as u64).sum();
    assert_eq!((cell.raw().count(), cell.into_inner()), (1, expected));
}

#[test]
fn one_thread_has_the_last_reference() {
    for _ in 0..ROUNDS.div_ceil(15) {
        let (refs, last) = (LockRef::new(3), AtomicU32::new(0));
        std::thread::scope(|s| {
            for way in 0..3 {
                let (refs, last) = (&refs, &last);
                s.spawn(move || {
                    let was_last = match way {
                        0 => refs.put() == 0,
                        1 => refs.put_or_lock().is_some_and(|guard| guard.put() == 0),
                        _ => !refs.put_not_last() && refs.put() == 0,
                    };
                    last.fetch_add(u32::from(was_last), Relaxed);
                });
            }
        });
        assert_eq!((last.load(Relaxed), refs.count()), (1, 0));
    }
}

#[test]
fn waiters_sleep_and_are_woken_and_can_give_up() {
    let cell = LockRefCell::new(1, 0);
    let mut held = cell.lock();
    std::thread::scope(|s| {
        let waiters = [(); 3].map(|()| s.spawn(|| *cell.lock() += 1));
        let counts = s.spawn(|| cell.raw().get());
        let timed = s.spawn(|| {
            let start = Instant::now();
            assert!(cell.try_lock_for(Duration::from_millis(20)).is_none());
            assert!(start.elapsed() >= Duration::from_millis(20));
        });
        timed.join().expect("no panic");
        assert_eq!(
            (*held, LockRefCellGuard::refs(&mut held).count()),
            (0, 1),
            "nothing changes while we have the lock"
        );
        *held = 10;
        drop(held);
        waiters.into_iter().for_each(|waiter| waiter.join().expect("no panic"));
        counts.join().expect("no panic");
    });
    assert_eq!((cell.raw().count(), *cell.lock()), (2, 13));
    assert!(cell.try_lock_for(Duration::ZERO).is_some());
}

#[test]
fn data_of_any_size_and_every_way_to_the_lock() {
    let cell: &LockRefCell<[u8]> = &LockRefCell::new(1, [1, 2, 3]);
    assert_eq!(cell.lock().len(), 3);
    assert!(cell.get_or_lock().is_none());
    assert!(cell.put_or_lock().is_none());
    cell.put_or_lock().expect("the last one")[0] = 9;
    assert_eq!(&*cell.try_lock().expect("free"), [9, 2, 3]);
    let mut own = LockRefCell::new(0, String::from("a"));
    own.get_mut().push('b');
    assert_eq!(*own.get_or_lock().expect("no reference"), "ab");
    assert_eq!(own.into_inner(), "ab");
}
