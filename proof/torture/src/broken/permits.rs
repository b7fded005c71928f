//! Semaphores that are wrong on purpose.

use crate::object::{Object, of};
use crate::ops::{Ops, Permits};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use turnwise::platform::{Deadline, Lane, Native, Platform};

/// Permits, and one who claims the next ones.
pub(super) struct Words {
    permits: AtomicU32,
    claimed: AtomicU32,
}

impl Default for Words {
    fn default() -> Self {
        Words { permits: AtomicU32::new(1), claimed: AtomicU32::new(0) }
    }
}

impl Words {
    fn take(&self, n: u32) -> bool {
        let less = |permits: u32| permits.checked_sub(n);
        self.claimed.load(SeqCst) == 0 && self.permits.fetch_update(SeqCst, SeqCst, less).is_ok()
    }

    fn add(&self, n: u32) {
        self.permits.fetch_add(n, SeqCst);
    }

    fn wake_all(&self) {
        Native::wake(&raw const self.permits, Lane::Waiters, u32::MAX);
    }

    /// Sleeps until somebody gives permits back, if fewer than `n` are there.
    fn sleep(&self, n: u32, deadline: Option<Deadline>) {
        let permits = self.permits.load(SeqCst);
        if permits < n {
            Native::park(&self.permits, permits, Lane::Waiters, deadline);
        } else {
            pause();
        }
    }
}

/// Between a look and what rests on it. Sleeping lets the others come in even if there is one CPU for all.
fn pause() {
    std::thread::sleep(Duration::from_micros(50));
}

fn words(semaphore: Object<'_>) -> &Words {
    of(semaphore)
}

/// Takes `n` permits by `try_take`, at `deadline` at the latest, or never if there is none; says whether it did.
fn wait(words: &Words, n: u32, deadline: Option<Deadline>, try_take: fn(&Words, u32) -> bool) -> bool {
    while !try_take(words, n) {
        if deadline.is_some_and(Deadline::expired::<Native>) {
            return false;
        }
        words.sleep(n, deadline);
    }
    true
}

/// A sound semaphore, which serves whoever comes at the right moment.
const SOUND: Permits = Permits {
    take: |semaphore, n| _ = wait(words(semaphore), n, None, Words::take),
    try_take: |semaphore, n| words(semaphore).take(n),
    take_until: |semaphore, n, deadline| wait(words(semaphore), n, Some(deadline), Words::take),
    give: |semaphore, n| {
        words(semaphore).add(n);
        words(semaphore).wake_all();
    },
};

const fn permits(permits: Permits) -> Ops {
    let report = |semaphore: Object| {
        let Words { permits, claimed } = words(semaphore);
        format!("{} permits, claimed: {}", permits.load(SeqCst), claimed.load(SeqCst))
    };
    Ops { permits: Some(permits), ..Ops::none(report) }
}

/// Nothing but its order is wrong.
pub(super) const BARGES: Ops = permits(SOUND);

/// Wakes nobody.
pub(super) const WAKES_NOBODY: Ops = permits(Permits { give: |semaphore, n| words(semaphore).add(n), ..SOUND });

/// Looks, then stores.
pub(super) const TORN_TAKE: Ops = permits(Permits {
    take: |semaphore, n| _ = wait(words(semaphore), n, None, torn_take),
    try_take: |semaphore, n| torn_take(words(semaphore), n),
    take_until: |semaphore, n, deadline| wait(words(semaphore), n, Some(deadline), torn_take),
    ..SOUND
});

fn torn_take(words: &Words, n: u32) -> bool {
    let permits = words.permits.load(SeqCst);
    if permits < n {
        return false;
    }
    pause();
    words.permits.store(permits - n, SeqCst);
    true
}

/// A timed waiter takes what there is, and gives up with it.
pub(super) const KEEPS_PERMITS: Ops = permits(Permits {
    take_until: |semaphore, n, deadline| (0..n).all(|_| (SOUND.take_until)(semaphore, 1, deadline)),
    ..SOUND
});

/// A timed waiter keeps the others out, and gives up without letting them in.
pub(super) const KEEPS_CLAIM: Ops = permits(Permits {
    take_until: |semaphore, n, deadline| {
        let got = (SOUND.take_until)(semaphore, n, deadline);
        if !got {
            words(semaphore).claimed.store(1, SeqCst);
        }
        got
    },
    ..SOUND
});

/// A timed waiter does not wait.
pub(super) const HASTY: Ops = permits(Permits { take_until: |semaphore, n, _| words(semaphore).take(n), ..SOUND });
