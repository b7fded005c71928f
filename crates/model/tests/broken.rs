//! The models can fail: locks that are wrong on purpose are caught, and the report says how.

use loom::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Lane, Platform, SpinLimit, Word};
use turnwise_model::check::{Cause, Failure, Lock, Model, Width};
use turnwise_model::platform::{Loom, LoomU32, Setup, keep, spawn};

fn fails(body: fn()) -> Failure {
    let model =
        Model { name: "broken", lock: Lock::Broken, setup: Setup::PLAIN, preemptions: (3, 3), shows: &[], body };
    let failure = model.run(Width::Bounded, &[]).failure.expect("the model finds what is wrong");
    assert_eq!(failure.cause, Cause::Wrong, "{failure}");
    failure
}

/// A mutex in one word: 0 free, 1 locked, 2 locked and somebody may sleep. The faults are in the callers.
struct Simple {
    word: LoomU32,
    data: UnsafeCell<u32>,
}

// SAFETY: loom checks each access of the data.
unsafe impl Sync for Simple {}

impl Simple {
    fn keep() -> &'static Simple {
        keep(Simple { word: LoomU32::new(0), data: UnsafeCell::new(0) })
    }

    fn lock(&self) {
        if self.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while self.word.swap(2, Acquire) != 0 {
                Loom::park(&self.word, 2, Lane::Waiters, None);
            }
        }
    }

    fn unlock(&self) {
        if self.word.swap(0, Release) == 2 {
            Loom::wake(&raw const self.word, Lane::Waiters, 1);
        }
    }

    fn section(&self) {
        // SAFETY: loom fails the model if another access is not ordered with this one.
        self.data.with_mut(|value| unsafe { *value += 1 });
    }
}

fn pair(body: impl Fn() + Copy + Send + 'static) {
    let other = spawn(body);
    body();
    other.join();
}

#[test]
fn a_correct_lock_passes() {
    fn body() {
        let lock = Simple::keep();
        pair(|| {
            lock.lock();
            lock.section();
            lock.unlock();
        });
    }
    let model =
        Model { name: "simple", lock: Lock::Broken, setup: Setup::PLAIN, preemptions: (4, 4), shows: &["slept"], body };
    let outcome = model.run(Width::Bounded, &[]);
    assert!(outcome.failure.is_none(), "{}", outcome.failure.unwrap());
}

#[test]
fn a_lost_wake_up_is_caught_and_names_the_sleeper() {
    let failure = fails(|| {
        let lock = Simple::keep();
        pair(|| {
            lock.lock();
            lock.section();
            // Forgets that somebody may sleep.
            lock.word.swap(0, Release);
        });
    });
    assert!(failure.message.contains("sleeps on word"), "{failure}");
}

#[test]
fn a_check_then_act_is_caught() {
    fails(|| {
        let lock = Simple::keep();
        pair(|| {
            let _ = Loom::spin_until(&lock.word, |word| word == 0, SpinLimit::NONE);
            lock.word.store(1, Release);
            lock.word.load(Acquire);
            lock.section();
            lock.word.store(0, Release);
        });
    });
}

#[test]
fn a_wake_up_orders_nothing() {
    let failure = fails(|| {
        let lock = Simple::keep();
        let sleeper = spawn(|| {
            while lock.word.load(Relaxed) == 0 {
                Loom::park(&lock.word, 0, Lane::Waiters, None);
            }
            lock.section();
        });
        lock.section();
        lock.word.store(1, Release);
        Loom::wake(&raw const lock.word, Lane::Waiters, 1);
        sleeper.join();
    });
    assert!(failure.message.contains("Causality violation"), "{failure}");
}

#[test]
fn sleeping_with_preemption_off_is_caught() {
    let failure = fails(|| {
        let lock = Simple::keep();
        pair(|| {
            Loom::preempt_off();
            lock.lock();
            lock.section();
            lock.unlock();
            Loom::preempt_on();
        });
    });
    assert!(failure.message.contains("sleeps with preemption off"), "{failure}");
}

#[test]
fn a_touch_after_the_release_is_caught() {
    let failure = fails(|| {
        let (lock, left) = (Simple::keep(), keep(UnsafeCell::new(2)));
        let left = Shared(left);
        pair(move || {
            let left = left;
            lock.lock();
            // SAFETY: as in `section`.
            let last = left.0.with_mut(|left| unsafe {
                *left -= 1;
                *left == 0
            });
            lock.unlock();
            if last {
                // SAFETY: everybody has released the lock; its memory stays.
                unsafe { ptr::drop_in_place(ptr::from_ref(lock).cast_mut()) };
            } else {
                lock.word.load(Relaxed); // not its lock any more
            }
        });
    });
    assert!(failure.message.contains("after it was dropped"), "{failure}");
}

#[derive(Clone, Copy)]
struct Shared(&'static UnsafeCell<u32>);
// SAFETY: loom checks each access.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

#[test]
fn a_model_that_shows_nothing_fails() {
    let model = Model {
        name: "empty",
        lock: Lock::Broken,
        setup: Setup::PLAIN,
        preemptions: (1, 1),
        shows: &["slept"],
        body: || {},
    };
    let failure = model.run(Width::Bounded, &[]).failure.expect("nobody sleeps in it");
    assert_eq!(failure.cause, Cause::Empty);
}
