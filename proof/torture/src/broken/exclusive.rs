//! Locks for one owner at a time that are wrong on purpose.

use super::{Catchers, pause, quiet, slow_every_other, until};
use crate::arena::spin;
use crate::object::{Object, of, words_of};
use crate::ops::{Condvar, Exclusive, Ops};
use crate::verdict::Verdict::{Crash, EarlyTimeout, Grew, Hang, Slowed, Starved, TwoOwners};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::Duration;
use turnwise::platform::{Deadline, Lane, Native, Parked, Platform};

/// Words for a lock; [`SOUND`] makes a sound one of them.
#[derive(Default)]
#[repr(C)]
pub(super) struct Words {
    pub(super) lock: AtomicU32,
    /// Notifications.
    pub(super) sequence: AtomicU32,
    /// A spare word for a flaw.
    pub(super) spare: AtomicUsize,
}

impl Words {
    pub(super) fn take(&self, as_value: u32) -> bool {
        // ORDERING broken.acquire: pairs with broken.release: only what the flaw names is broken.
        self.lock.compare_exchange(0, as_value, Acquire, Relaxed).is_ok()
    }

    fn await_take(&self, as_value: u32) {
        while !self.take(as_value) {
            pause();
        }
    }

    /// Frees the lock; returns the old value of the word.
    pub(super) fn free(&self) -> u32 {
        // ORDERING broken.release: pairs with broken.acquire.
        self.lock.swap(0, Release)
    }

    fn free_and_touch(&self) {
        self.free();
        // One thread is slower than the next, which may free the memory.
        slow_every_other();
        self.spare.fetch_add(1, Relaxed);
    }

    pub(super) fn notify(&self, count: u32) {
        self.sequence.fetch_add(1, Relaxed);
        Native::wake(&raw const self.sequence, Lane::Waiters, count);
    }

    /// Sleeps until it takes the lock as 1 or 2; 2: others may sleep.
    fn sleep_for(&self, as_value: u32) {
        if self.take(1) {
            return;
        }
        while self.lock.swap(2, Relaxed) != 0 {
            Native::park(&self.lock, 2, Lane::Waiters, None);
        }
        self.lock.store(as_value, Relaxed);
    }
}

pub(super) fn words(lock: Object<'_>) -> &Words {
    of(lock)
}

const LOCK: Exclusive = Exclusive {
    acquire: |lock| words(lock).await_take(1),
    try_acquire: |lock| words(lock).take(1),
    release: |lock| _ = words(lock).free(),
    acquire_until: Some(|lock, deadline| until(deadline, || words(lock).take(1))),
    release_fair: Some(|lock| _ = words(lock).free()),
    before_last_write: None,
};

/// For a lock that acquires and releases as [`LOCK`] does.
const CONDVAR: Condvar = Condvar {
    wait: |lock, deadline| wait(lock, deadline, || _ = words(lock).free()),
    notify_one: |lock| words(lock).notify(1),
    notify_all: |lock| words(lock).notify(u32::MAX),
};

fn wait(lock: Object, deadline: Option<Deadline>, release: impl FnOnce()) -> bool {
    let sequence = words(lock).sequence.load(Relaxed);
    release();
    sleep(lock, sequence, deadline)
}

/// Waits until the sequence changes or until `deadline`, and acquires the lock; returns whether it timed out.
fn sleep(lock: Object, sequence: u32, deadline: Option<Deadline>) -> bool {
    let parked = Native::park(&words(lock).sequence, sequence, Lane::Waiters, deadline);
    (LOCK.acquire)(lock);
    parked == Parked::TimedOut
}

/// A sound lock with its condition variable; a flaw replaces one or two of their operations.
pub(super) const SOUND: Ops = Ops { condvar: Some(CONDVAR), ..Ops::lock(LOCK, words_of::<Words>) };

const NO_LOCK_IS_CAUGHT: Catchers = &[
    ("exclusion", TwoOwners),
    ("crowd", TwoOwners),
    ("sleepy", TwoOwners),
    ("try", TwoOwners),
    ("timed", TwoOwners),
    ("fair", TwoOwners),
    ("nested", TwoOwners),
    ("comers", TwoOwners),
    ("last-words", TwoOwners),
    ("signals", TwoOwners),
];

std::thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

broken! { SOUND:
    "no-lock", "does nothing", NO_LOCK_IS_CAUGHT, exclusive: Exclusive {
        acquire: |_| (),
        try_acquire: |_| true,
        release: |_| (),
        acquire_until: Some(|_, _| true),
        release_fair: Some(|_| ()),
    };
    "non-atomic", "tests, then sets", &[("exclusion", TwoOwners)], exclusive: Exclusive {
        acquire: |lock| {
            while words(lock).lock.load(Relaxed) != 0 {
                std::hint::spin_loop();
            }
            words(lock).lock.store(1, Relaxed);
        },
    };
    "early-release", "is free before the owner's last write", &[("exclusion", TwoOwners)], exclusive: Exclusive {
        before_last_write: Some(|lock| _ = words(lock).free()),
        release: |_| (),
        release_fair: Some(|_| ()),
    };
    // The owner leaves what it entered within the section; at its end it leaves once more.
    "forgets-depth", "the inner of two releases lets others in", &[("exclusion", TwoOwners)],
        exclusive: Exclusive { before_last_write: Some(|lock| _ = words(lock).free()) };
    "try-lies", "a try always succeeds", &[("try", TwoOwners)], exclusive: Exclusive {
        try_acquire: |lock| {
            words(lock).lock.store(1, Relaxed);
            true
        },
    };
    "hasty", "a timed wait ends before its time", &[("timed", EarlyTimeout)],
        exclusive: Exclusive { acquire_until: Some(|lock, _| words(lock).take(1)) };
    "gives-up-late", "a timed wait that gives up has the lock", &[("timed", Hang)], exclusive: Exclusive {
        acquire_until: Some(|lock, deadline| {
            (LOCK.acquire)(lock);
            !deadline.expired::<Native>()
        }),
    };
    "keeps-fair", "a fair release does not release", &[("fair", Hang)],
        exclusive: Exclusive { release_fair: Some(|_| ()) };
    "lost-wake-up", "a release wakes no waiter", &[("sleepy", Hang)],
        exclusive: Exclusive { acquire: |lock| words(lock).sleep_for(2) };
    "one-wake-up", "a woken waiter forgets that others sleep", &[("sleepy", Hang)], exclusive: Exclusive {
        acquire: |lock| words(lock).sleep_for(1),
        release: |lock| {
            if words(lock).free() == 2 {
                Native::wake(&raw const words(lock).lock, Lane::Waiters, 1);
            }
        },
    };
    "no-handoff", "a waiter waits for a quiet moment", &[("starvation", Starved)], exclusive: Exclusive {
        acquire: |lock| {
            while !words(lock).take(1) {
                quiet(|| words(lock).lock.load(Relaxed) != 0);
            }
        },
    };
    "hoards", "every acquisition keeps some memory", &[("load", Grew), ("churn", Grew)], exclusive: Exclusive {
        acquire: |lock| {
            (LOCK.acquire)(lock);
            std::mem::forget(black_box(vec![1_u8; 512]));
        },
    };
    "tires", "every acquisition takes a little longer", &[("load", Slowed)], exclusive: Exclusive {
        acquire: |lock| {
            (LOCK.acquire)(lock);
            spin(100 + words(lock).spare.fetch_add(1, Relaxed) as u32 / 100);
        },
    };
    "touch-after-unlock", "a release counts after it released", &[("destroy", Crash), ("destroy-condvar", Crash)],
    exclusive: Exclusive {
        release: |lock| words(lock).free_and_touch(),
        release_fair: Some(|lock| words(lock).free_and_touch()),
    }, condvar: Condvar { wait: |lock, deadline| wait(lock, deadline, || words(lock).free_and_touch()) };
    "deaf-to-all", "notify_all wakes one", &[("storm", Hang)],
        condvar: Condvar { notify_all: |lock| words(lock).notify(1) };
    "deaf-to-one", "every eighth notify_one is lost", &[("one-each", Hang)], condvar: Condvar {
        notify_one: |lock| {
            if !words(lock).spare.fetch_add(1, Relaxed).is_multiple_of(8) {
                words(lock).notify(1);
            }
        },
    };
    "late-look", "a wait looks at the sequence after the release", &[("ping-pong", Hang)], condvar: Condvar {
        wait: |lock, deadline| {
            words(lock).free();
            pause();
            sleep(lock, words(lock).sequence.load(Relaxed), deadline)
        },
    };
    "hasty-wait", "a wait says at once that its time is out", &[("timed-wait", EarlyTimeout)],
        condvar: Condvar { wait: |_, _| true };
    "needs-slot", "a thread without a slot never gets the lock", &[("all-slots", Hang), ("last-words", Hang)],
    exclusive: Exclusive {
        acquire: |lock| {
            while Native::me().is_none() || !words(lock).take(1) {
                std::thread::sleep(Duration::from_millis(1));
            }
        },
    };
    "looks-at-stack", "owners look at an earlier owner's stack", &[("exits", Crash)], exclusive: Exclusive {
        acquire: |lock| {
            (LOCK.acquire)(lock);
            let words = words(lock);
            let last = std::ptr::with_exposed_provenance::<u8>(words.spare.load(Relaxed));
            if !last.is_null() {
                // SAFETY: none: the owner may be gone, and its stack with it. This is the flaw.
                std::hint::black_box(unsafe { last.read_volatile() });
            }
            let mine = 0_u8;
            if words.sequence.fetch_add(1, Relaxed).is_multiple_of(16) {
                words.spare.store((&raw const mine).expose_provenance(), Relaxed);
            }
        },
    };
    "fork-forgets", "a forked child cannot release", &[("fork", Hang)], exclusive: Exclusive {
        acquire: |lock| words(lock).await_take(std::process::id()),
        try_acquire: |lock| words(lock).take(std::process::id()),
        release: |lock| {
            if words(lock).lock.load(Relaxed) == std::process::id() {
                words(lock).free();
            }
        },
    };
    "not-reentrant", "a thread waits in one place at a time", &[("signals", Hang)], exclusive: Exclusive {
        acquire: |lock| {
            while WAITS.get() {
                pause();
            }
            WAITS.set(true);
            (LOCK.acquire)(lock);
            WAITS.set(false);
        },
    };
}
