//! The condition variable: no notification is lost, no waiter is forgotten on the mutex (P1), and a waiter that times
//! out consumes no other thread's notification (P2).
//!
//! The threads wait for coins in a purse, as for any condition: in a loop, under the mutex.

use super::*;
use turnwise::{Condvar, RawMutex};

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call():
        one(under_the_mutex), two(), two_at_once(), all_under_the_mutex(), two_mutexes_at_once(),
        two_mutexes_in_between(), newcomers_first(), two_notifiers(), timed(), timed_and_patient(), vanished(more),
    }
}

/// The flag of a polling waiter, in the condition variable's first word.
const POLLING: u32 = 2;

/// Coins under a mutex, and the threads that wait for them.
struct Purse {
    mutex: RawMutex<Loom>,
    more: Condvar<Loom>,
    coins: Protected,
    /// For threads that want nothing else.
    silver: Protected,
}

impl Purse {
    fn keep() -> &'static Purse {
        let (coins, silver) = (Protected::new(), Protected::new());
        keep(Purse { mutex: RawMutex::new_in(), more: Condvar::new_in(), coins, silver })
    }

    fn unlock(&self) {
        // SAFETY: the caller has the mutex.
        unsafe { self.mutex.unlock() };
    }

    /// Waits for a coin and takes it; `false` if there was none at `deadline`.
    fn take(&self, deadline: Option<Deadline>) -> bool {
        self.take_of(&self.coins, &self.more, deadline)
    }

    /// Waits for one of these coins with this condition variable and takes it; `false` if there was none at `deadline`.
    fn take_of(&self, coins: &Protected, more: &Condvar<Loom>, deadline: Option<Deadline>) -> bool {
        self.mutex.lock();
        let mut late = false;
        let got = loop {
            if coins.take() {
                break true;
            }
            if late {
                break false;
            }
            // SAFETY: locked above, and again by each wait.
            late = unsafe { more.wait_raw(&self.mutex, deadline) }.timed_out();
        };
        self.unlock();
        got
    }

    fn put(&self, coins: u32) {
        self.mutex.lock();
        (0..coins).for_each(|_| self.coins.add());
        self.unlock();
    }

    /// Puts a coin there, and notifies one.
    fn give(&self) {
        self.put(1);
        self.more.notify_one();
    }

    /// Returns the number of waiters.
    fn waiters(&self) -> u32 {
        // SAFETY: the second word of a `repr(C)` condition variable.
        unsafe { &*ptr::from_ref(&self.more).cast::<LoomU32>().add(1) }.fetch_or(0, Relaxed)
    }

    /// Takes a coin, if there is one, and leaves the purse empty.
    fn take_what_is_left(&self) {
        self.mutex.lock();
        self.coins.take();
        self.unlock();
        self.empty_and_free();
    }

    fn empty_and_free(&self) {
        assert_eq!(self.waiters(), 0, "waiters left");
        assert_eq!(self.coins.get(), 0, "coins left");
        assert!(!self.mutex.is_locked(), "locked when everybody has left");
    }
}

fn takes(purse: &Purse) {
    assert!(purse.take(None), "a wait without a deadline has no end but success");
}

fn patient(purse: &'static Purse) -> Handle {
    spawn(move || takes(purse))
}

/// One waiter, one coin.
fn one(under_the_mutex: bool) {
    one_at(Purse::keep(), under_the_mutex);
}

fn one_at(purse: &'static Purse, under_the_mutex: bool) {
    let waiter = patient(purse);
    if under_the_mutex {
        purse.mutex.lock();
        purse.coins.add();
        purse.more.notify_one();
        purse.unlock();
    } else {
        purse.give();
    }
    waiter.join();
    purse.empty_and_free();
}

/// In a forked child: the flag is set by a thread that does not exist here. `more` threads have waited since with a
/// coin each, before the coin that all threads wait for comes.
fn vanished(more: u32) {
    let purse = Purse::keep();
    // SAFETY: the first word of a `repr(C)` condition variable.
    let sequence = unsafe { &*ptr::from_ref(&purse.more).cast::<LoomU32>() };
    sequence.fetch_or(POLLING, Relaxed);
    forked();
    for _ in 0..=more {
        one_at(purse, false);
    }
    assert_eq!(sequence.load(Relaxed) & POLLING, 0, "the flag is left over");
}

/// Two wait for what the first thread does then.
fn two_wait(then: fn(&'static Purse)) {
    wait_behind(Purse::keep(), &[takes; 2], then).empty_and_free();
}

/// Two waiters, a coin at a time.
fn two() {
    two_wait(|purse| (0..2).for_each(|_| purse.give()));
}

/// Two waiters, all coins at once.
fn two_at_once() {
    two_wait(|purse| {
        purse.put(2);
        purse.more.notify_all();
    });
}

/// Two coins: one thread notifies all, and finds the sequence changed by the other, which notifies one.
fn two_notifiers() {
    two_wait(|purse| {
        purse.put(2);
        let other = spawn(move || purse.more.notify_one());
        purse.more.notify_all();
        other.join();
    });
}

/// The waiters are moved to a mutex that is held, whose release must wake them.
fn all_under_the_mutex() {
    two_wait(|purse| {
        purse.mutex.lock();
        purse.coins.add();
        purse.coins.add();
        purse.more.notify_all();
        purse.unlock();
    });
}

/// One wants two coins: it comes again while the other may still sleep, and the first notification is under way.
fn newcomers_first() {
    let purse = Purse::keep();
    let waiters = [patient(purse), spawn(move || assert!(purse.take(None) && purse.take(None)))];
    rest();
    (0..3).for_each(|_| purse.give());
    join(waiters);
    purse.empty_and_free();
}

/// Starts a waiter of `of`'s coins with its mutex, on the condition variable of another purse.
fn guest(of: &'static Purse, at: &'static Purse) -> Handle {
    spawn(move || assert!(of.take_of(&of.coins, &at.more, None), "a wait without a deadline has no end but success"))
}

/// Two waiters with a mutex each, all coins at once.
fn two_mutexes_at_once() {
    let (purse, other) = (Purse::keep(), Purse::keep());
    let waiters = [patient(purse), guest(other, purse)];
    rest();
    purse.put(1);
    other.put(1);
    purse.more.notify_all();
    join(waiters);
    purse.empty_and_free();
    other.empty_and_free();
}

/// One waits. Others come as it is being notified: one with another mutex, and one with the first one's. If they were
/// moved to the first one's mutex, its release would wake the former, which continues with its own, and not the latter.
fn two_mutexes_in_between() {
    let (purse, other) = (Purse::keep(), Purse::keep());
    let first = patient(purse);
    rest();
    let second = guest(other, purse);
    let third = spawn(move || assert!(purse.take_of(&purse.silver, &purse.more, None)));
    purse.put(1);
    purse.more.notify_all();
    purse.mutex.lock();
    purse.silver.add();
    purse.unlock();
    other.put(1);
    purse.more.notify_all();
    join([first, second, third]);
    purse.empty_and_free();
    other.empty_and_free();
}

/// Waits for one coin, without patience.
fn tries(purse: &Purse) {
    let got = purse.take(Some(EARLY));
    saw(if got { "a coin in time" } else { "no coin in time" });
}

fn timed() {
    wait_behind(Purse::keep(), &[tries], Purse::give).take_what_is_left();
}

/// If the impatient waiter did not take the coin, then the patient one was notified of it.
fn timed_and_patient() {
    let purse = Purse::keep();
    let (first, second) = (spawn(move || tries(purse)), patient(purse));
    rest();
    purse.give();
    first.join();
    // The impatient waiter may have been notified, and found its coin taken by the other, which came by: no harm. It
    // may have taken the coin: then there must be another.
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
    purse.take_what_is_left();
}
