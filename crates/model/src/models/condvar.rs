//! The condition variable: no notification is lost, no waiter is forgotten on the mutex, and a waiter whose time is out
//! takes nobody's notification with it.
//!
//! The threads wait for coins in a purse, as any condition is waited for: in a loop, under the mutex.

use super::Protected;
use crate::check::{Lock, Model};
use crate::platform::{Handle, Identity, Loom, Setup, keep, rest, saw, spawn};
use turnwise::platform::{Clock, Deadline, Parked};
use turnwise::{RawCondvar, RawMutex};

const PLAIN: Setup = Setup { identity: Identity::NoSlot, looks: 1, ..Setup::PLAIN };
const TIMED: Setup = Setup { alarms: 1, ..PLAIN };
const RESTLESS: Setup = Setup { spurious: Some(Parked::Woken), ..PLAIN };
const INTERRUPTED: Setup = Setup { spurious: Some(Parked::Interrupted), ..PLAIN };

type Shows = &'static [&'static str];
const SLEEP: Shows = &["slept"];
const MOVED: Shows = &["moved a sleeper"];
const EITHER: Shows = &["woken as the time was out", "a coin in time", "no coin in time"];

const fn model(name: &'static str, setup: Setup, preemptions: (usize, usize), shows: Shows, body: fn()) -> Model {
    Model { name, lock: Lock::Condvar, setup, preemptions, shows, body }
}

pub(super) const MODELS: &[Model] = &[
    model("condvar: one waiter, notified after the release", PLAIN, (3, 6), SLEEP, || one(false)),
    model("condvar: one waiter, notified before the release", PLAIN, (3, 6), SLEEP, || one(true)),
    model("condvar: a waiter wakes for no reason", RESTLESS, (2, 4), SLEEP, || one(false)),
    model("condvar: a waiter is interrupted", INTERRUPTED, (2, 4), SLEEP, || one(false)),
    model("condvar: two waiters, notified one by one", PLAIN, (1, 2), SLEEP, || two(RawCondvar::notify_one)),
    model("condvar: two waiters, all notified", PLAIN, (1, 2), MOVED, two_at_once),
    model("condvar: all notified under the mutex", PLAIN, (1, 2), MOVED, all_under_the_mutex),
    model("condvar: a timed waiter", TIMED, (2, 4), EITHER, timed),
    model("condvar: a timed waiter and a patient one", TIMED, (1, 2), EITHER, timed_and_patient),
];

/// Coins under a mutex, and who waits for them.
struct Purse {
    mutex: RawMutex<Loom>,
    more: RawCondvar<Loom>,
    coins: Protected,
}

const SOON: Deadline = Deadline { clock: Clock::Monotonic, at: 1_000 };

impl Purse {
    fn keep() -> &'static Purse {
        keep(Purse { mutex: RawMutex::new_in(), more: RawCondvar::new_in(), coins: Protected::new() })
    }

    fn unlock(&self) {
        // SAFETY: whoever calls this has the mutex.
        unsafe { self.mutex.unlock() };
    }

    /// Waits for a coin and takes it; `false` if there was none at `deadline`.
    fn take(&self, deadline: Option<Deadline>) -> bool {
        self.mutex.lock();
        let mut late = false;
        let got = loop {
            if self.coins.take() {
                break true;
            }
            if late {
                break false;
            }
            // SAFETY: locked above, and again by each wait.
            late = unsafe { self.more.wait(&self.mutex, deadline) }.timed_out();
        };
        self.unlock();
        got
    }

    fn put(&self, coins: u32) {
        self.mutex.lock();
        (0..coins).for_each(|_| self.coins.add());
        self.unlock();
    }

    fn empty_and_free(&self) {
        assert_eq!(self.coins.get(), 0, "coins left");
        assert!(!self.mutex.is_locked(), "locked when everybody has left");
    }
}

fn patient(purse: &'static Purse) -> Handle {
    spawn(move || assert!(purse.take(None), "a wait without a deadline has no end but success"))
}

/// One waiter, one coin.
fn one(under_the_mutex: bool) {
    let purse = Purse::keep();
    let waiter = patient(purse);
    if under_the_mutex {
        purse.mutex.lock();
        purse.coins.add();
        purse.more.notify_one();
        purse.unlock();
    } else {
        purse.put(1);
        purse.more.notify_one();
    }
    waiter.join();
    purse.empty_and_free();
}

/// Two waiters, a coin at a time.
fn two(notify: fn(&RawCondvar<Loom>)) {
    let purse = Purse::keep();
    let waiters = [(); 2].map(|()| patient(purse));
    rest();
    for _ in 0..2 {
        purse.put(1);
        notify(&purse.more);
    }
    waiters.into_iter().for_each(Handle::join);
    purse.empty_and_free();
}

/// Two waiters, all coins at once.
fn two_at_once() {
    let purse = Purse::keep();
    let waiters = [(); 2].map(|()| patient(purse));
    rest();
    purse.put(2);
    purse.more.notify_all();
    waiters.into_iter().for_each(Handle::join);
    purse.empty_and_free();
}

/// The waiters are moved to a mutex that is held, whose release must wake them.
fn all_under_the_mutex() {
    let purse = Purse::keep();
    let waiters = [(); 2].map(|()| patient(purse));
    rest();
    purse.mutex.lock();
    purse.coins.add();
    purse.coins.add();
    purse.more.notify_all();
    purse.unlock();
    waiters.into_iter().for_each(Handle::join);
    purse.empty_and_free();
}

/// One impatient waiter, one coin.
fn impatient(purse: &'static Purse) -> Handle {
    spawn(move || {
        let got = purse.take(Some(SOON));
        saw(if got { "a coin in time" } else { "no coin in time" });
    })
}

fn timed() {
    let purse = Purse::keep();
    let waiter = impatient(purse);
    rest();
    purse.put(1);
    purse.more.notify_one();
    waiter.join();
    purse.mutex.lock();
    purse.coins.take();
    purse.unlock();
    purse.empty_and_free();
}

/// If the impatient one did not take the coin, then the patient one was notified of it.
fn timed_and_patient() {
    let purse = Purse::keep();
    let (first, second) = (impatient(purse), patient(purse));
    rest();
    purse.put(1);
    purse.more.notify_one();
    first.join();
    // The impatient one may have been notified, and found its coin taken by the other, who came by: no harm. It may
    // have taken the coin: then there must be another.
    purse.mutex.lock();
    let refill = purse.coins.get() == 0;
    if refill {
        purse.coins.add();
    }
    purse.unlock();
    if refill {
        purse.more.notify_one();
    }
    second.join();
    purse.mutex.lock();
    purse.coins.take();
    purse.unlock();
    purse.empty_and_free();
}
