//! Waits with a deadline, on the simulated machine: they end in time on either clock, and reveal nothing of the lock.

mod machine;

use machine::{Config, Traced, run, work};
use std::cell::Cell;
use std::rc::Rc;
use turnwise::platform::{Clock, Deadline, Platform};
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use turnwise::{RawMutex, RawRwSem};

/// A way to take a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Mutex,
    Read,
    Write,
    Upgradable,
}

const WAYS: [How; 4] = [How::Mutex, How::Read, How::Write, How::Upgradable];

struct Locks {
    mutex: RawMutex<Traced>,
    rwsem: RawRwSem<Traced>,
    /// The waiter has given up for the last time.
    gave_up: Cell<bool>,
    /// The owner has the lock once more.
    again: Cell<bool>,
    released_at: Cell<u64>,
}

impl Locks {
    fn new() -> Rc<Locks> {
        Rc::new(Locks {
            mutex: RawMutex::new_in(),
            rwsem: RawRwSem::new_in(),
            gave_up: Cell::new(false),
            again: Cell::new(false),
            released_at: Cell::new(0),
        })
    }

    fn take_until(&self, how: How, deadline: Deadline) -> bool {
        match how {
            How::Mutex => self.mutex.lock_until(deadline),
            How::Read => self.rwsem.read_until(deadline),
            How::Write => self.rwsem.lock_until(deadline),
            How::Upgradable => self.rwsem.upgradable_read_until(deadline),
        }
    }

    fn take(&self, how: How) {
        match how {
            How::Mutex => self.mutex.lock(),
            How::Read => self.rwsem.read(),
            How::Write => self.rwsem.lock(),
            How::Upgradable => self.rwsem.upgradable_read(),
        }
    }

    /// Acts as an owner that keeps all other threads out.
    fn own(&self) {
        self.mutex.lock();
        self.rwsem.lock();
    }

    fn disown(&self) {
        self.released_at.set(Traced::now());
        // SAFETY: `own` came before.
        unsafe {
            self.mutex.unlock();
            self.rwsem.unlock();
        }
    }
}

fn wait_for(flag: &Cell<bool>) {
    while !flag.get() {
        work(1);
    }
}

/// Returns a deadline this soon.
fn soon(clock: Clock) -> Deadline {
    const NS: u64 = 5_000;
    Deadline { clock, at: Traced::now() + NS }
}

/// One thread has the locks, and another one does this meanwhile, each on a CPU of its own.
fn beside_an_owner(seed: u64, its: impl FnOnce(&Locks) + 'static) {
    let locks = Locks::new();
    let owned = Rc::clone(&locks);
    let owner = move || {
        owned.own();
        wait_for(&owned.gave_up);
        owned.disown();
        owned.own();
        owned.again.set(true);
        work(120); // about 8 us, less than a spinner waits for one section
        owned.disown();
    };
    let waiter = move || {
        work(100);
        its(&locks);
    };
    run(Config::new(2, seed), vec![Box::new(owner), Box::new(waiter)]).expect("both get on");
}

#[test]
fn a_spin_ends_at_the_deadline_on_either_clock() {
    /// What falling asleep and waking up takes, which would be added to a spin for its whole budget.
    const LATE_NS: u64 = 30_000;
    for clock in [Clock::Monotonic, Clock::Realtime] {
        for (seed, how) in (1..).zip(WAYS) {
            beside_an_owner(seed, move |locks| {
                let deadline = soon(clock);
                assert!(!locks.take_until(how, deadline), "{how:?}: the owner still has it");
                let late = Traced::now() - deadline.at;
                assert!(late < LATE_NS, "{how:?} on the {clock:?} clock: {late} ns after the deadline");
                locks.gave_up.set(true);
            });
        }
    }
}

#[test]
fn a_wait_that_the_callers_deadline_ended_switches_no_spinning_off() {
    /// Enough that after this many fruitless spins the next ones are left out.
    const POLLS: usize = 12;
    /// Less than a sleeper takes to wake up.
    const SPINNING_NS: u64 = 5_000;
    for (seed, how) in (1..).zip(WAYS) {
        beside_an_owner(seed, move |locks| {
            for _ in 0..POLLS {
                assert!(!locks.take_until(how, soon(Clock::Monotonic)), "{how:?}: the owner still has it");
            }
            locks.gave_up.set(true);
            wait_for(&locks.again);
            locks.take(how);
            let took = Traced::now() - locks.released_at.get();
            assert!(took < SPINNING_NS, "{how:?}: it slept, and had the lock {took} ns after the release");
        });
    }
}
