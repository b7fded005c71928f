//! The condition variable on real threads, in its less common uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use turnwise::{Condvar, Mutex};

/// Long enough for a waiter that has released its mutex to fall asleep.
const NAP: Duration = Duration::from_millis(if cfg!(miri) { 1000 } else { 30 });
/// The time after which a notified waiter is back, or never will be.
const LATE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Shared {
    /// Each holds whether the wait is over.
    mutexes: [Mutex<bool>; 2],
    changed: Condvar,
    waiting: AtomicUsize,
}

/// Waits with the mutex of this number until the wait is over.
fn wait(shared: &Shared, number: usize) {
    let mut over = shared.mutexes[number].lock();
    shared.waiting.fetch_add(1, Relaxed);
    shared.changed.wait_while(&mut over, |over| !*over);
}

/// Lets one thread after the other wait with each of these mutexes, then notifies them all at once; the threads do not
/// end with the test if they hang.
fn notify_all_wakes(shared: &Arc<Shared>, numbers: &[usize]) {
    let (done, ends) = mpsc::channel();
    shared.waiting.store(0, Relaxed);
    shared.mutexes.iter().for_each(|over| *over.lock() = false);
    for (before, &number) in numbers.iter().enumerate() {
        let (shared, done) = (Arc::clone(shared), done.clone());
        let waiter = Arc::clone(&shared);
        thread::spawn(move || {
            wait(&waiter, number);
            done.send(number)
        });
        while shared.waiting.load(Relaxed) == before {
            thread::yield_now();
        }
        thread::sleep(NAP);
    }
    // Any earlier owner of one of them has released it, by waiting.
    shared.mutexes.iter().for_each(|over| *over.lock() = true);
    shared.changed.notify_all();
    for _ in numbers {
        ends.recv_timeout(LATE).unwrap_or_else(|_| panic!("of the waiters {numbers:?} one sleeps for ever"));
    }
}

#[test]
fn waiters_with_several_mutexes_are_all_woken() {
    for numbers in [&[0, 1][..], &[1, 0, 1], &[0, 0, 1, 1]] {
        notify_all_wakes(&Arc::default(), numbers);
    }
}

#[test]
fn one_mutex_after_another_is_as_good_as_one() {
    let shared = Arc::default();
    for numbers in [[0, 0], [1, 1], [0, 1], [0, 0]] {
        notify_all_wakes(&shared, &numbers);
    }
}

/// A condition variable that has moved, while no thread waited, is at a different distance from the mutex.
#[test]
fn a_condition_variable_may_move_while_nobody_waits() {
    let mut moving = Some(Condvar::new());
    for _ in 0..3 {
        let shared = Arc::new(Shared { changed: moving.take().expect("put back below"), ..Shared::default() });
        notify_all_wakes(&shared, &[0, 0, 0]);
        let mut left = shared;
        moving = Some(loop {
            // A waiter's thread drops its reference shortly after its message.
            match Arc::try_unwrap(left) {
                Ok(shared) => break shared.changed,
                Err(again) => left = again,
            }
            thread::yield_now();
        });
    }
}
