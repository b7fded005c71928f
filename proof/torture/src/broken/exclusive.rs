//! Locks that are wrong on purpose.

use crate::object::{Object, of, words_of};
use crate::ops::{Condvar, Exclusive, Ops};
use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::{Duration, Instant};
use turnwise::platform::{Deadline, Lane, Native, Parked, Platform};

/// Words for a lock; [`SOUND`] and [`CONDVAR`] make a sound one of them.
#[derive(Default)]
#[repr(C)]
pub(super) struct Words {
    pub(super) lock: AtomicU32,
    /// Notifications.
    pub(super) sequence: AtomicU32,
    /// What a flaw needs.
    pub(super) spare: AtomicUsize,
}

impl Words {
    pub(super) fn take(&self, as_value: u32) -> bool {
        // ORDERING broken.acquire: pairs with broken.release: nothing is broken but what the flaw says.
        self.lock.compare_exchange(0, as_value, Acquire, Relaxed).is_ok()
    }

    /// Returns what the word was.
    pub(super) fn free(&self) -> u32 {
        // ORDERING broken.release: pairs with broken.acquire.
        self.lock.swap(0, Release)
    }

    pub(super) fn notify(&self, count: u32) {
        self.sequence.fetch_add(1, Relaxed);
        Native::wake(&raw const self.sequence, Lane::Waiters, count);
    }
}

pub(super) fn words(lock: Object<'_>) -> &Words {
    of(lock)
}

/// Between two tries. Longer than a yield: one of the flaws must show, not an owner that always comes first.
pub(super) fn pause() {
    std::thread::sleep(Duration::from_micros(20));
}

/// A sound lock; a flaw replaces one or two of its operations.
pub(super) const SOUND: Exclusive = Exclusive {
    acquire: |lock| {
        while !words(lock).take(1) {
            pause();
        }
        None
    },
    try_acquire: |lock| words(lock).take(1).then_some(None),
    release: |lock, _| _ = words(lock).free(),
    acquire_until: Some(|lock, deadline| {
        loop {
            if words(lock).take(1) {
                return Some(None);
            }
            if deadline.expired::<Native>() {
                return None;
            }
            pause();
        }
    }),
    release_fair: Some(|lock, _| _ = words(lock).free()),
    before_last_write: None,
};

/// A sound condition variable for a lock that acquires and releases as `SOUND` does.
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

/// Waits until the sequence is another or `deadline`, and acquires the lock; says whether the time was out.
fn sleep(lock: Object, sequence: u32, deadline: Option<Deadline>) -> bool {
    let parked = Native::park(&words(lock).sequence, sequence, Lane::Waiters, deadline);
    (SOUND.acquire)(lock);
    parked == Parked::TimedOut
}

pub(super) const fn lock(exclusive: Exclusive) -> Ops {
    condvar(exclusive, CONDVAR)
}

const fn condvar(exclusive: Exclusive, condvar: Condvar) -> Ops {
    Ops { condvar: Some(condvar), ..Ops::lock(exclusive, words_of::<Words>) }
}

pub(super) const NO_LOCK: Ops = lock(Exclusive {
    acquire: |_| None,
    try_acquire: |_| Some(None),
    release: |_, _| (),
    acquire_until: Some(|_, _| Some(None)),
    release_fair: Some(|_, _| ()),
    before_last_write: None,
});

pub(super) const NON_ATOMIC: Ops = lock(Exclusive {
    acquire: |lock| {
        while words(lock).lock.load(Relaxed) != 0 {
            std::hint::spin_loop();
        }
        words(lock).lock.store(1, Relaxed);
        None
    },
    ..SOUND
});

/// The owner leaves what it entered within the section; at its end it leaves once more.
pub(super) const FORGETS_DEPTH: Ops =
    lock(Exclusive { before_last_write: Some(|lock| _ = words(lock).free()), ..SOUND });

pub(super) const EARLY_RELEASE: Ops = lock(Exclusive {
    before_last_write: Some(|lock| _ = words(lock).free()),
    release: |_, _| (),
    release_fair: Some(|_, _| ()),
    ..SOUND
});

pub(super) const TRY_LIES: Ops = lock(Exclusive {
    try_acquire: |lock| {
        words(lock).lock.store(1, Relaxed);
        Some(None)
    },
    ..SOUND
});

pub(super) const HASTY: Ops =
    lock(Exclusive { acquire_until: Some(|lock, _| words(lock).take(1).then_some(None)), ..SOUND });

pub(super) const GIVES_UP_LATE: Ops = lock(Exclusive {
    acquire_until: Some(|lock, deadline| {
        (SOUND.acquire)(lock);
        (!deadline.expired::<Native>()).then_some(None)
    }),
    ..SOUND
});

pub(super) const KEEPS_FAIR: Ops = lock(Exclusive { release_fair: Some(|_, _| ()), ..SOUND });

/// Sleeps until it takes the lock as 1 or 2; 2: others may sleep.
fn sleep_for(words: &Words, as_value: u32) {
    if words.take(1) {
        return;
    }
    loop {
        if words.lock.swap(2, Relaxed) == 0 {
            words.lock.store(as_value, Relaxed);
            return;
        }
        Native::park(&words.lock, 2, Lane::Waiters, None);
    }
}

pub(super) const LOST_WAKE_UP: Ops = lock(Exclusive {
    acquire: |lock| {
        sleep_for(words(lock), 2);
        None
    },
    ..SOUND
});

pub(super) const ONE_WAKE_UP: Ops = lock(Exclusive {
    acquire: |lock| {
        sleep_for(words(lock), 1);
        None
    },
    release: |lock, _| {
        if words(lock).free() == 2 {
            Native::wake(&raw const words(lock).lock, Lane::Waiters, 1);
        }
    },
    ..SOUND
});

pub(super) const NO_HANDOFF: Ops = lock(Exclusive {
    acquire: |lock| {
        // Longer than an owner that is about to come back is ever off its CPU.
        const QUIET: Duration = Duration::from_millis(100);
        while !words(lock).take(1) {
            let mut taken = Instant::now();
            while taken.elapsed() < QUIET {
                if words(lock).lock.load(Relaxed) != 0 {
                    taken = Instant::now();
                }
                std::hint::spin_loop();
            }
        }
        None
    },
    ..SOUND
});

fn free_and_touch(words: &Words) {
    static RELEASES: AtomicUsize = AtomicUsize::new(0);
    words.free();
    // One is slower than the next, which may take the memory away.
    if RELEASES.fetch_add(1, Relaxed).is_multiple_of(2) {
        std::thread::sleep(Duration::from_micros(500));
    }
    words.spare.fetch_add(1, Relaxed);
}

pub(super) const TOUCH_AFTER: Ops = condvar(
    Exclusive {
        release: |lock, _| free_and_touch(words(lock)),
        release_fair: Some(|lock, _| free_and_touch(words(lock))),
        ..SOUND
    },
    Condvar { wait: |lock, deadline| wait(lock, deadline, || free_and_touch(words(lock))), ..CONDVAR },
);

pub(super) const DEAF_TO_ALL: Ops = condvar(SOUND, Condvar { notify_all: |lock| words(lock).notify(1), ..CONDVAR });

pub(super) const DEAF_TO_ONE: Ops = condvar(
    SOUND,
    Condvar {
        notify_one: |lock| {
            if !words(lock).spare.fetch_add(1, Relaxed).is_multiple_of(8) {
                words(lock).notify(1);
            }
        },
        ..CONDVAR
    },
);

pub(super) const LATE_LOOK: Ops = condvar(
    SOUND,
    Condvar {
        wait: |lock, deadline| {
            words(lock).free();
            pause();
            sleep(lock, words(lock).sequence.load(Relaxed), deadline)
        },
        ..CONDVAR
    },
);

pub(super) const HASTY_WAIT: Ops = condvar(SOUND, Condvar { wait: |_, _| true, ..CONDVAR });

pub(super) const NEEDS_SLOT: Ops = lock(Exclusive {
    acquire: |lock| {
        while Native::me().is_none() || !words(lock).take(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    },
    ..SOUND
});

pub(super) const LOOKS_AT_STACK: Ops = lock(Exclusive {
    acquire: |lock| {
        (SOUND.acquire)(lock);
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
        None
    },
    ..SOUND
});

pub(super) const FORK_FORGETS: Ops = lock(Exclusive {
    acquire: |lock| {
        while !words(lock).take(std::process::id()) {
            pause();
        }
        None
    },
    try_acquire: |lock| words(lock).take(std::process::id()).then_some(None),
    release: |lock, _| {
        if words(lock).lock.load(Relaxed) == std::process::id() {
            words(lock).free();
        }
    },
    ..SOUND
});

std::thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

pub(super) const NOT_REENTRANT: Ops = lock(Exclusive {
    acquire: |lock| {
        while WAITS.get() {
            pause();
        }
        WAITS.set(true);
        (SOUND.acquire)(lock);
        WAITS.set(false);
        None
    },
    ..SOUND
});
