//! The models can fail: locks that are wrong on purpose are caught, and the report says how.

use loom::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Platform, Preempt, SpinLimit, Word};
use turnwise_model::check::{Cause, Failure, Lock, Model, Width};
use turnwise_model::platform::{Handle, Loom, LoomU32, Setup, keep, rest, set_stage, sleeping, spawn};

fn model(name: &'static str, most: usize, shows: &'static [&'static str], body: fn()) -> Model {
    let (setup, preemptions) = (Setup::PLAIN, (most, most));
    Model { name, lock: Lock::Broken, setup, preemptions, shows, body: Box::leak(Box::new(body)) }
}

fn fails(body: fn()) -> Failure {
    let model = model("broken", 3, &[], body);
    let failure = model.run(Width::Bounded, &[]).failure.expect("the model finds what is wrong");
    assert_eq!(failure.cause, Cause::Wrong, "{failure}");
    failure
}

/// A mutex in one word: 0 free, 1 locked, 2 locked with possible sleepers. The faults are in the callers.
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
    let outcome = model("simple", 4, &["slept"], body).run(Width::Bounded, &[]);
    assert!(outcome.failure.is_none(), "{}", outcome.failure.unwrap());
}

#[test]
fn a_lost_wake_up_is_caught_and_names_the_sleeper() {
    let failure = fails(|| {
        let lock = Simple::keep();
        pair(|| {
            lock.lock();
            lock.section();
            // Forgets that a thread may sleep.
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
            Loom::preempt(Preempt::Off);
            lock.lock();
            lock.section();
            lock.unlock();
            Loom::preempt(Preempt::On);
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
                // SAFETY: all threads have released the lock; its memory stays.
                unsafe { ptr::drop_in_place(ptr::from_ref(lock).cast_mut()) };
            } else {
                lock.word.load(Relaxed); // no longer holds the lock
            }
        });
    });
    assert!(failure.message.contains("after it was dropped"), "{failure}");
}

#[derive(Clone, Copy)]
struct Shared(&'static UnsafeCell<u32>);
// SAFETY: loom checks each access.
unsafe impl Send for Shared {}
// SAFETY: loom checks each access for order.
unsafe impl Sync for Shared {}

#[test]
fn a_model_that_shows_nothing_fails() {
    let failure = model("empty", 1, &["slept"], || {}).run(Width::Bounded, &[]).failure.expect("nobody sleeps in it");
    assert_eq!(failure.cause, Cause::Empty);
}

/// One thread announces itself, and spins; the other goes wrong if it sees that. Most schedules in which the first
/// polls without success are cut short; this one must not be lost with them.
#[test]
fn what_happens_beside_one_that_polls_without_success_is_found() {
    fn body() {
        let words = keep([LoomU32::new(0), LoomU32::new(0)]);
        let spinner = spawn(|| {
            words[0].store(1, Relaxed);
            let _ = Loom::spin_until(&words[1], |word| word == 1, SpinLimit::NONE);
        });
        let late = words[0].load(Relaxed) == 1;
        words[1].store(1, Relaxed);
        spinner.join();
        assert!(!late, "the other was there before");
    }
    let failure = fails(body);
    assert!(failure.message.contains("the other was there before"), "{failure}");
}

/// What happens only alongside two unsuccessfully polling threads is found: the third goes wrong only when both poll.
#[test]
fn what_happens_beside_two_that_poll_without_success_is_found() {
    fn body() {
        let (come, go) = (keep(LoomU32::new(0)), keep(LoomU32::new(0)));
        let spinners = [(); 2].map(|()| {
            spawn(|| {
                come.fetch_add(1, Relaxed);
                let _ = Loom::spin_until(go, |word| word == 1, SpinLimit::NONE);
            })
        });
        let both = come.fetch_add(0, Relaxed) == 2;
        go.store(1, Relaxed);
        spinners.into_iter().for_each(Handle::join);
        assert!(!both, "both were there before");
    }
    let failure = fails(body);
    assert!(failure.message.contains("both were there before"), "{failure}");
}

/// However long the stage took, what comes after it is tried in all orders.
#[test]
fn what_happens_after_the_stage_is_set_is_found() {
    fn body() {
        let (sleeps, data) = (keep(LoomU32::new(0)), keep(LoomU32::new(0)));
        let mut threads = Vec::new();
        set_stage(|| {
            for sleepers in 1..=3 {
                threads.push(spawn(|| {
                    Loom::park(sleeps, 0, Lane::Waiters, None);
                    data.store(data.load(Relaxed) + 1, Relaxed);
                }));
                while sleeping() < sleepers {
                    rest();
                }
            }
        });
        sleeps.store(1, Relaxed);
        Loom::wake(sleeps, Lane::Waiters, 3);
        threads.into_iter().for_each(Handle::join);
        assert_eq!(data.fetch_add(0, Relaxed), 3, "an addition was lost");
    }
    let failure = fails(body);
    assert!(failure.message.contains("an addition was lost"), "{failure}");
}

/// Two threads that wait for each other are found, whichever others still run for a while.
#[test]
fn two_that_spin_for_each_other_are_found() {
    fn body() {
        let words = keep([LoomU32::new(0), LoomU32::new(0)]);
        let pair = [0, 1].map(|own: usize| {
            spawn(move || {
                let _ = Loom::spin_until(&words[1 - own], |word| word == 1, SpinLimit::NONE);
                words[own].store(1, Relaxed);
            })
        });
        (0..20).for_each(|_| rest());
        pair.into_iter().for_each(Handle::join);
    }
    let failure = fails(body);
    assert!(failure.message.contains("nobody gets on"), "{failure}");
}
