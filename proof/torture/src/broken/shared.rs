//! Readers-writer locks that are wrong on purpose.

use crate::object::{Object, of, words_of};
use crate::ops::{Exclusive, Ops, Shared, Upgrade};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::{Duration, Instant};
use turnwise::platform::{Deadline, Lane, Native, Platform};

const WRITER: u32 = 1 << 31;
const UPGRADABLE: u32 = 1 << 30;

/// Words for a lock; [`WRITERS`] and [`READERS`] make a sound one of them.
#[derive(Default)]
#[repr(C)]
pub(super) struct Words {
    /// Readers, [`UPGRADABLE`], [`WRITER`].
    lock: AtomicU32,
    /// What a flaw needs.
    spare: AtomicU32,
}

impl Words {
    /// Changes the word if `may(word)`; says whether it did.
    fn change(&self, may: impl Fn(u32) -> bool, change: impl Fn(u32) -> u32) -> bool {
        let word = self.lock.load(Relaxed);
        // ORDERING broken_shared.acquire: pairs with broken_shared.release: nothing is broken but what the flaw says.
        may(word) && self.lock.compare_exchange(word, change(word), Acquire, Relaxed).is_ok()
    }

    fn await_change(&self, may: impl Fn(u32) -> bool, change: impl Fn(u32) -> u32) {
        while !self.change(&may, &change) {
            pause();
        }
    }

    fn take_write(&self) -> bool {
        self.change(|word| word == 0, |_| WRITER)
    }

    fn take_read(&self) -> bool {
        self.change(|word| word & WRITER == 0, |word| word + 1)
    }

    /// Returns what the word was.
    fn give(&self, what: u32) -> u32 {
        // ORDERING broken_shared.release: pairs with broken_shared.acquire.
        self.lock.fetch_sub(what, Release)
    }

    /// Waits until `busy` was not seen for longer than a thread that is about to come back is ever off its CPU.
    fn await_quiet(&self, busy: impl Fn(u32) -> bool) {
        const QUIET: Duration = Duration::from_millis(100);
        let mut since = Instant::now();
        while since.elapsed() < QUIET {
            if busy(self.lock.load(Relaxed)) {
                since = Instant::now();
            }
            std::hint::spin_loop();
        }
    }
}

/// Pauses between two tries.
fn pause() {
    std::thread::sleep(Duration::from_micros(20));
}

/// Tries until `deadline`.
fn until(deadline: Deadline, take: impl Fn() -> bool) -> bool {
    loop {
        if take() {
            return true;
        }
        if deadline.expired::<Native>() {
            return false;
        }
        pause();
    }
}

fn words(lock: Object<'_>) -> &Words {
    of(lock)
}

fn write(words: &Words) {
    while !words.take_write() {
        pause();
    }
}

fn read(words: &Words) {
    while !words.take_read() {
        pause();
    }
}

/// A sound lock's writers.
const WRITERS: Exclusive = Exclusive {
    acquire: |lock| {
        write(words(lock));
        None
    },
    try_acquire: |lock| words(lock).take_write().then_some(None),
    release: |lock, _| _ = words(lock).give(WRITER),
    acquire_until: Some(|lock, deadline| until(deadline, || words(lock).take_write()).then_some(None)),
    release_fair: None,
    before_last_write: None,
};

/// A sound lock's readers.
const READERS: Shared = Shared {
    read: |lock| read(words(lock)),
    try_read: |lock| words(lock).take_read(),
    unlock_read: |lock| _ = words(lock).give(1),
    read_until: Some(|lock, deadline| until(deadline, || words(lock).take_read())),
    downgrade: Some(|lock| _ = words(lock).give(WRITER - 1)),
    upgrade: Some(UPGRADE),
};

const UPGRADE: Upgrade = Upgrade {
    read: |lock, at_once| {
        let (may, change) = (|word| word & (WRITER | UPGRADABLE) == 0, |word| word | UPGRADABLE);
        if at_once {
            return words(lock).change(may, change);
        }
        words(lock).await_change(may, change);
        true
    },
    upgrade: |lock, deadline| {
        let (may, change) = (|word| word == UPGRADABLE, |_| WRITER);
        if let Some(deadline) = deadline {
            return until(deadline, || words(lock).change(may, change));
        }
        words(lock).await_change(may, change);
        true
    },
    downgrade: |lock| _ = words(lock).give(WRITER - UPGRADABLE),
    unlock: |lock| _ = words(lock).give(UPGRADABLE),
};

/// A lock of which one side has a flaw, or both.
const fn lock(writers: Exclusive, readers: Shared) -> Ops {
    Ops { shared: Some(readers), ..Ops::lock(writers, words_of::<Words>) }
}

pub(super) const LOOKS_AWAY: Ops = lock(WRITERS, Shared { read: |_| (), unlock_read: |_| (), ..READERS });

pub(super) const LOOKS_EARLY: Ops = lock(
    WRITERS,
    Shared {
        read: |lock| {
            while words(lock).lock.load(Relaxed) & WRITER != 0 {
                std::hint::spin_loop();
            }
            crate::arena::spin(20);
            words(lock).lock.fetch_add(1, Relaxed);
        },
        ..READERS
    },
);

pub(super) const TRY_LIES: Ops = lock(
    WRITERS,
    Shared {
        try_read: |lock| {
            words(lock).lock.fetch_add(1, Relaxed);
            true
        },
        ..READERS
    },
);

pub(super) const HASTY: Ops = lock(WRITERS, Shared { read_until: Some(|lock, _| words(lock).take_read()), ..READERS });

pub(super) const ONE_READER: Ops =
    lock(WRITERS, Shared { read: |lock| words(lock).await_change(|word| word == 0, |_| 1), ..READERS });

/// A writer that finds readers inside sleeps where the last of them would have to wake it.
pub(super) const FORGETS_TO_WAKE: Ops = lock(
    Exclusive {
        acquire: |lock| {
            while !words(lock).take_write() {
                let word = words(lock).lock.load(Relaxed);
                let lane = if word & WRITER != 0 { Lane::Waiters } else { Lane::First };
                if word != 0 {
                    Native::park(&words(lock).lock, word, lane, None);
                }
            }
            None
        },
        release: |lock, _| {
            words(lock).give(WRITER);
            Native::wake(&raw const words(lock).lock, Lane::Waiters, u32::MAX);
        },
        ..WRITERS
    },
    READERS,
);

pub(super) const LETS_GO_TO_DOWNGRADE: Ops = lock(
    WRITERS,
    Shared {
        downgrade: Some(|lock| {
            words(lock).give(WRITER);
            pause();
            read(words(lock));
        }),
        ..READERS
    },
);

pub(super) const LETS_GO_TO_UPGRADE: Ops = lock(
    WRITERS,
    Shared {
        upgrade: Some(Upgrade {
            upgrade: |lock, _| {
                words(lock).give(UPGRADABLE);
                pause();
                write(words(lock));
                true
            },
            ..UPGRADE
        }),
        ..READERS
    },
);

pub(super) const READERS_FIRST: Ops = lock(
    Exclusive {
        acquire: |lock| {
            words(lock).await_quiet(|word| word != 0);
            while !words(lock).take_write() {
                words(lock).await_quiet(|word| word != 0);
            }
            None
        },
        ..WRITERS
    },
    READERS,
);

pub(super) const WRITERS_FIRST: Ops = lock(
    WRITERS,
    Shared {
        read: |lock| {
            words(lock).await_quiet(|word| word & WRITER != 0);
            while !words(lock).take_read() {
                words(lock).await_quiet(|word| word & WRITER != 0);
            }
        },
        ..READERS
    },
);

pub(super) const TOUCHES_AFTER: Ops = lock(
    WRITERS,
    Shared {
        unlock_read: |lock| {
            static RELEASES: AtomicUsize = AtomicUsize::new(0);
            words(lock).give(1);
            // One is slower than the writer, which may take the memory away.
            if RELEASES.fetch_add(1, Relaxed).is_multiple_of(2) {
                std::thread::sleep(Duration::from_micros(500));
            }
            words(lock).spare.fetch_add(1, Relaxed);
        },
        ..READERS
    },
);

pub(super) const FORK_FORGETS: Ops = lock(
    Exclusive {
        acquire: |lock| {
            while !words(lock).take_write() {
                pause();
            }
            words(lock).spare.store(std::process::id(), Relaxed);
            None
        },
        release: |lock, _| {
            if words(lock).spare.load(Relaxed) == std::process::id() {
                words(lock).give(WRITER);
            }
        },
        ..WRITERS
    },
    READERS,
);
