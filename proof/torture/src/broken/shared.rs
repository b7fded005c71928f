//! Readers-writer locks that are wrong on purpose.

use super::exclusive::{Words, words};
use super::{pause, quiet, slow_every_other, until};
use crate::object::{Object, words_of};
use crate::ops::{Exclusive, Ops, Shared, Upgrade};
use crate::verdict::Verdict::{Crash, EarlyTimeout, Hang, Starved, TwoOwners};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Lane, Native, Platform};

const WRITER: u32 = 1 << 31;
const UPGRADABLE: u32 = 1 << 30;

/// [`SOUND`] makes a sound lock of them: `lock` is the number of readers, with [`UPGRADABLE`] and [`WRITER`].
impl Words {
    /// Changes the word if `may(word)`; returns whether it did.
    fn change(&self, may: impl Fn(u32) -> bool, change: impl Fn(u32) -> u32) -> bool {
        let word = self.lock.load(Relaxed);
        // ORDERING broken_shared.acquire: pairs with broken_shared.release: only what the flaw names is broken.
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

    /// Gives `what` back; returns the old value of the word.
    fn give(&self, what: u32) -> u32 {
        // ORDERING broken_shared.release: pairs with broken_shared.acquire.
        self.lock.fetch_sub(what, Release)
    }
}

fn write(lock: Object) {
    while !words(lock).take_write() {
        pause();
    }
}

fn read(lock: Object) {
    while !words(lock).take_read() {
        pause();
    }
}

/// A sound lock's writers.
const WRITERS: Exclusive = Exclusive {
    acquire: write,
    try_acquire: |lock| words(lock).take_write(),
    release: |lock| _ = words(lock).give(WRITER),
    acquire_until: Some(|lock, deadline| until(deadline, || words(lock).take_write())),
    release_fair: None,
    before_last_write: None,
};

/// A sound lock's readers.
const READERS: Shared = Shared {
    read,
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

const SOUND: Ops = Ops { shared: Some(READERS), ..Ops::lock(WRITERS, words_of::<Words>) };

broken! { SOUND:
    "readers-look-away",
    "readers do not look for a writer",
    &[("shared", TwoOwners), ("shared-crowd", TwoOwners), ("shared-sleepy", TwoOwners)],
        shared: Shared { read: |_| (), unlock_read: |_| () };
    "readers-look-early", "readers look for a writer, then count themselves", &[("shared", TwoOwners)], shared: Shared {
        read: |lock| {
            while words(lock).lock.load(Relaxed) & WRITER != 0 {
                std::hint::spin_loop();
            }
            crate::arena::spin(20);
            words(lock).lock.fetch_add(1, Relaxed);
        },
    };
    "read-try-lies", "a try to read always succeeds", &[("shared-try", TwoOwners)], shared: Shared {
        try_read: |lock| {
            words(lock).lock.fetch_add(1, Relaxed);
            true
        },
    };
    "hasty-readers", "a timed read ends before its time", &[("shared-timed", EarlyTimeout)],
        shared: Shared { read_until: Some(|lock, _| words(lock).take_read()) };
    "one-reader", "readers exclude one another", &[("together", Hang)],
        shared: Shared { read: |lock| words(lock).await_change(|word| word == 0, |_| 1) };
    // A writer that finds readers inside sleeps where the last of them would have to wake it.
    "reader-wakes-nobody", "the last reader wakes no writer", &[("shared-sleepy", Hang)], exclusive: Exclusive {
        acquire: |lock| {
            while !words(lock).take_write() {
                let word = words(lock).lock.load(Relaxed);
                let lane = if word & WRITER != 0 { Lane::Waiters } else { Lane::First };
                if word != 0 {
                    Native::park(&words(lock).lock, word, lane, None);
                }
            }
        },
        release: |lock| {
            words(lock).give(WRITER);
            Native::wake(&raw const words(lock).lock, Lane::Waiters, u32::MAX);
        },
    };
    "downgrade-lets-go", "a downgrade releases, then reads", &[("downgrade", TwoOwners)], shared: Shared {
        downgrade: Some(|lock| {
            words(lock).give(WRITER);
            pause();
            read(lock);
        }),
    };
    "upgrade-lets-go", "an upgrade releases, then writes", &[("upgrade", TwoOwners)], shared: Shared {
        upgrade: Some(Upgrade {
            upgrade: |lock, _| {
                words(lock).give(UPGRADABLE);
                pause();
                write(lock);
                true
            },
            ..UPGRADE
        }),
    };
    "readers-first", "a writer waits until no reader has come for a long time", &[("hostile-readers", Starved)],
    exclusive: Exclusive {
        acquire: |lock| {
            quiet(|| words(lock).lock.load(Relaxed) != 0);
            while !words(lock).take_write() {
                quiet(|| words(lock).lock.load(Relaxed) != 0);
            }
        },
    };
    "writers-first", "a reader waits until no writer has come for a long time", &[("hostile-writers", Starved)],
    shared: Shared {
        read: |lock| {
            quiet(|| words(lock).lock.load(Relaxed) & WRITER != 0);
            while !words(lock).take_read() {
                quiet(|| words(lock).lock.load(Relaxed) & WRITER != 0);
            }
        },
    };
    "reader-touches-after", "a reader counts after it left", &[("shared-destroy", Crash)], shared: Shared {
        unlock_read: |lock| {
            words(lock).give(1);
            // One thread is slower than the writer, which may free the memory.
            slow_every_other();
            words(lock).spare.fetch_add(1, Relaxed);
        },
    };
    "readers-fork-forgets", "a forked child cannot release", &[("shared-fork", Hang)], exclusive: Exclusive {
        acquire: |lock| {
            write(lock);
            words(lock).spare.store(std::process::id() as usize, Relaxed);
        },
        release: |lock| {
            if words(lock).spare.load(Relaxed) == std::process::id() as usize {
                words(lock).give(WRITER);
            }
        },
    };
}
