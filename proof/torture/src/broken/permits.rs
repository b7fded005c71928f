//! Semaphores that are wrong on purpose.

use super::pause;
use crate::object::{Object, debug_of, of};
use crate::ops::{Ops, Permits};
use crate::verdict::Verdict::{EarlyTimeout, Hang, Starved, TwoOwners};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use turnwise::platform::{Deadline, Lane, Native, Platform};

/// Permits, and a thread that claims the next ones.
#[derive(Debug)]
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

    /// Sleeps until permits are given back, if fewer than `n` are there.
    fn sleep(&self, n: u32, deadline: Option<Deadline>) {
        let permits = self.permits.load(SeqCst);
        if permits < n {
            Native::park(&self.permits, permits, Lane::Waiters, deadline);
        } else {
            pause();
        }
    }
}

fn words(semaphore: Object<'_>) -> &Words {
    of(semaphore)
}

/// Takes `n` permits by `try_take`, at `deadline` at the latest, or never if there is none; returns whether it did.
fn wait(words: &Words, n: u32, deadline: Option<Deadline>, try_take: fn(&Words, u32) -> bool) -> bool {
    while !try_take(words, n) {
        if deadline.is_some_and(Deadline::expired::<Native>) {
            return false;
        }
        words.sleep(n, deadline);
    }
    true
}

/// A sound semaphore, which serves any thread that comes at the right moment.
const PERMITS: Permits = Permits {
    take: |semaphore, n| _ = wait(words(semaphore), n, None, Words::take),
    try_take: |semaphore, n| words(semaphore).take(n),
    take_until: |semaphore, n, deadline| wait(words(semaphore), n, Some(deadline), Words::take),
    give: |semaphore, n| {
        words(semaphore).add(n);
        words(semaphore).wake_all();
    },
};

const SOUND: Ops = Ops { permits: Some(PERMITS), ..Ops::none(debug_of::<Words>) };

fn torn_take(words: &Words, n: u32) -> bool {
    let permits = words.permits.load(SeqCst);
    if permits < n {
        return false;
    }
    pause();
    words.permits.store(permits - n, SeqCst);
    true
}

broken! { SOUND:
    "barges", "a late arrival at the right moment overtakes the queue", &[("permits-line", Starved)];
    "wakes-nobody", "permits come back unseen", &[("permits", Hang)],
        permits: Permits { give: |semaphore, n| words(semaphore).add(n) };
    "torn-take", "a take looks at the permits, then stores", &[("permits", TwoOwners)], permits: Permits {
        take: |semaphore, n| _ = wait(words(semaphore), n, None, torn_take),
        try_take: |semaphore, n| torn_take(words(semaphore), n),
        take_until: |semaphore, n, deadline| wait(words(semaphore), n, Some(deadline), torn_take),
    };
    "keeps-permits", "a waiter gives up with a part of its permits", &[("permits", Hang)], permits: Permits {
        take_until: |semaphore, n, deadline| (0..n).all(|_| (PERMITS.take_until)(semaphore, 1, deadline)),
    };
    "keeps-claim", "a waiter that gave up keeps the others out", &[("permits", Hang)], permits: Permits {
        take_until: |semaphore, n, deadline| {
            let got = (PERMITS.take_until)(semaphore, n, deadline);
            if !got {
                words(semaphore).claimed.store(1, SeqCst);
            }
            got
        },
    };
    "hasty-permits", "a timed wait does not wait", &[("permits", EarlyTimeout)],
        permits: Permits { take_until: |semaphore, n, _| words(semaphore).take(n) };
}
