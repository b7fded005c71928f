//! The condition variable, with the mutex that it moves waiters to.

use super::SOON;
use super::mutex::Guarded as Locked;
use crate::check::Lock;
use crate::explicit::Explicit;
use crate::explicit::check::{Check, Machine, Size, Stage};
use crate::platform::saw;
use std::cell::Cell;
use turnwise::RawCondvar;

type Shows = &'static [&'static str];

const fn check(name: &'static str, sizes: (Size, Size), shows: Shows, body: fn(&Stage, Size)) -> Check {
    Check { name, lock: Lock::Condvar, machine: Machine::SLEEPS, sizes, shows, body }
}

const ONCE: (Size, Size) = (Size::of(2, 2), Size::of(3, 1));
const FOUR: (Size, Size) = (Size::of(3, 1), Size::of(4, 1));
const TIMED_PAIR: (Size, Size) = (Size { timeouts: 1, ..Size::of(2, 1) }, Size { timeouts: 1, ..Size::of(3, 1) });
const TIMED: (Size, Size) = (Size { timeouts: 1, ..Size::of(3, 1) }, Size { timeouts: 1, ..Size::of(4, 1) });
const SIGNALS: (Size, Size) =
    (Size { interrupts: 1, unwoken: 1, ..Size::of(2, 2) }, Size { interrupts: 1, unwoken: 1, ..Size::of(3, 1) });

pub(super) const CHECKS: &[Check] = &[
    check("condvar: one is notified for each token", ONCE, &["waited"], |s, z| tokens(s, z, false, false)),
    check("condvar: all are notified of all tokens", FOUR, &["waited"], |s, z| tokens(s, z, true, false)),
    check("condvar: one waiter has no time", TIMED_PAIR, &["gave up"], |s, z| tokens(s, z, false, true)),
    check("condvar: all are notified, one has no time", TIMED, &["gave up"], |s, z| tokens(s, z, true, true)),
    check("condvar: sleepers wake for nothing", SIGNALS, &["waited"], |s, z| tokens(s, z, false, false)),
    check("condvar: they do, and all are notified", SIGNALS, &["waited"], |s, z| tokens(s, z, true, false)),
];

struct Queue {
    condvar: RawCondvar<Explicit>,
    tokens: Cell<u32>,
    /// Tokens that nobody will take.
    left: Cell<u32>,
}

/// Waits for a token and takes it; `false`: the time was out.
fn take(locked: &Locked, queue: &Queue, hasty: bool) -> bool {
    locked.raw.lock();
    locked.section.alone();
    let mut timed_out = false;
    while queue.tokens.get() == 0 && !timed_out {
        saw("waited");
        locked.section.write(-1);
        // SAFETY: locked above.
        timed_out = unsafe { queue.condvar.wait(&locked.raw, hasty.then_some(SOON)) }.timed_out();
        locked.section.write(1);
    }
    let taken = queue.tokens.get() > 0;
    if taken {
        queue.tokens.set(queue.tokens.get() - 1);
    }
    locked.section.write(-1);
    // SAFETY: `wait` returned with it.
    unsafe { locked.raw.unlock() };
    taken
}

fn give(locked: &Locked, queue: &Queue, tokens: u32, all: bool) {
    locked.raw.lock();
    locked.section.alone();
    queue.tokens.set(queue.tokens.get() + tokens);
    locked.section.write(-1);
    // SAFETY: locked above.
    unsafe { locked.raw.unlock() };
    if all {
        queue.condvar.notify_all();
    } else {
        queue.condvar.notify_one();
    }
}

/// The first thread gives a token for each of the others. One that has no time may leave its own, and must not take a
/// notification along that was another's.
fn tokens(stage: &Stage, size: Size, all: bool, hasty: bool) {
    let locked = Locked::keep(stage);
    let queue = stage.keep(Queue { condvar: RawCondvar::new_in(), tokens: Cell::new(0), left: Cell::new(0) });
    // One that has no time comes once.
    let rounds = if hasty { 1 } else { size.rounds };
    let patient = size.threads as u32 - 1 - u32::from(hasty);
    stage.spawn(move || {
        for _ in 0..rounds {
            let tokens = patient + u32::from(hasty);
            if all {
                give(locked, queue, tokens, true);
            } else {
                (0..tokens).for_each(|_| give(locked, queue, 1, false));
            }
        }
    });
    for _ in 0..patient {
        stage.spawn(move || (0..rounds).for_each(|_| assert!(take(locked, queue, false))));
    }
    if hasty {
        stage.spawn(move || {
            if !take(locked, queue, true) {
                saw("gave up");
                queue.left.set(1);
            }
        });
    }
    stage.at_end(move || {
        assert_eq!(queue.tokens.get(), queue.left.get(), "tokens are left");
        assert!(!locked.raw.is_locked());
    });
}
