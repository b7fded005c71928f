//! Locks that are wrong on purpose, and the verdict that each must get: they show that the harness can fail.
//!
//! There is a file for each sort of thing, with the words of a sound one, its operations, and its flaws: a flaw is the
//! same record of operations with one or two replaced.

mod counts;
mod exclusive;
mod lineage;
mod permits;
mod references;
mod sequence;
mod shared;
mod tree;

use crate::locks;
use crate::ops::{LockRecord, Ops};
use crate::verdict::Verdict;
use crate::verdict::Verdict::{Crash, EarlyTimeout, Hang, NoOrder, Starved, TwoOwners};
use tree::{DeafToRenames, RaisesTheDead};
use turnwise::platform::Native;
use turnwise_catalogue::Nature;
use turnwise_vfs::locks::LockSet;

/// A lock that is wrong on purpose.
pub struct BrokenRecord {
    /// The lock.
    pub lock: LockRecord,
    /// The scenarios that must catch it, and the verdict that it must get there.
    pub caught_by: Catchers,
}

/// Scenarios, and the verdict of each.
type Catchers = &'static [(&'static str, Verdict)];

const NATURE: Nature =
    Nature { bounded: true, lets_go: true, forks: true, signals: true, slots: true, in_line: true, crowd: 12 };

const fn lock(name: &'static str, about: &'static str, ops: Ops, caught_by: Catchers) -> BrokenRecord {
    BrokenRecord { lock: LockRecord::new::<exclusive::Words>(name, about, NATURE, ops), caught_by }
}

const fn shared(name: &'static str, about: &'static str, ops: Ops, caught_by: Catchers) -> BrokenRecord {
    BrokenRecord { lock: LockRecord::new::<shared::Words>(name, about, NATURE, ops), caught_by }
}

const fn sequence(name: &'static str, about: &'static str, ops: Ops, caught_by: Catchers) -> BrokenRecord {
    BrokenRecord { lock: LockRecord::new::<sequence::Words>(name, about, NATURE, ops), caught_by }
}

const fn counts(name: &'static str, about: &'static str, ops: Ops, caught_by: Catchers) -> BrokenRecord {
    BrokenRecord { lock: LockRecord::new::<counts::Words>(name, about, NATURE, ops), caught_by }
}

const fn references(name: &'static str, about: &'static str, ops: Ops, caught_by: Catchers) -> BrokenRecord {
    BrokenRecord { lock: LockRecord::new::<references::Words>(name, about, NATURE, ops), caught_by }
}

const fn permits(name: &'static str, about: &'static str, ops: Ops, caught_by: Catchers) -> BrokenRecord {
    BrokenRecord { lock: LockRecord::new::<permits::Words>(name, about, NATURE, ops), caught_by }
}

const fn tree<L: LockSet<Native>>(name: &'static str, about: &'static str, caught_by: Catchers) -> BrokenRecord {
    BrokenRecord { lock: locks::tree::<L>(name, about), caught_by }
}

/// The locks.
pub static BROKEN: &[BrokenRecord] = &[
    lock(
        "no-lock",
        "does nothing",
        exclusive::NO_LOCK,
        &[
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
        ],
    ),
    lock("non-atomic", "tests, then sets", exclusive::NON_ATOMIC, &[("exclusion", TwoOwners)]),
    lock(
        "early-release",
        "is free before the owner's last write",
        exclusive::EARLY_RELEASE,
        &[("exclusion", TwoOwners)],
    ),
    lock("try-lies", "a try always succeeds", exclusive::TRY_LIES, &[("try", TwoOwners)]),
    lock("hasty", "a timed wait ends before its time", exclusive::HASTY, &[("timed", EarlyTimeout)]),
    lock("gives-up-late", "a timed wait that gives up has the lock", exclusive::GIVES_UP_LATE, &[("timed", Hang)]),
    lock("keeps-fair", "a fair release does not release", exclusive::KEEPS_FAIR, &[("fair", Hang)]),
    lock("lost-wake-up", "a release wakes no waiter", exclusive::LOST_WAKE_UP, &[("sleepy", Hang)]),
    lock("one-wake-up", "a woken waiter forgets that others sleep", exclusive::ONE_WAKE_UP, &[("sleepy", Hang)]),
    lock("no-handoff", "a waiter waits for a quiet moment", exclusive::NO_HANDOFF, &[("starvation", Starved)]),
    lock(
        "touch-after-unlock",
        "a release counts after it released",
        exclusive::TOUCH_AFTER,
        &[("destroy", Crash), ("destroy-condvar", Crash)],
    ),
    lock("deaf-to-all", "notify_all wakes one", exclusive::DEAF_TO_ALL, &[("storm", Hang)]),
    lock("deaf-to-one", "every eighth notify_one is lost", exclusive::DEAF_TO_ONE, &[("one-each", Hang)]),
    lock("late-look", "a wait looks at the sequence after the release", exclusive::LATE_LOOK, &[("ping-pong", Hang)]),
    lock(
        "hasty-wait",
        "a wait says at once that its time is out",
        exclusive::HASTY_WAIT,
        &[("timed-wait", EarlyTimeout)],
    ),
    lock(
        "needs-slot",
        "a thread without a slot never gets the lock",
        exclusive::NEEDS_SLOT,
        &[("all-slots", Hang), ("last-words", Hang)],
    ),
    lock("looks-at-stack", "owners look at an earlier owner's stack", exclusive::LOOKS_AT_STACK, &[("exits", Crash)]),
    lock("fork-forgets", "a forked child cannot release", exclusive::FORK_FORGETS, &[("fork", Hang)]),
    sequence(
        "no-second-look",
        "an optimistic read believes what it saw",
        sequence::NO_SECOND_LOOK,
        &[("torn-reads", TwoOwners)],
    ),
    sequence(
        "one-step",
        "the sequence counts only the end of a change",
        sequence::ONE_STEP,
        &[("torn-reads", TwoOwners)],
    ),
    sequence(
        "deaf-writer",
        "writers do not ask blocking readers",
        sequence::DEAF_WRITER,
        &[("blocking-reads", TwoOwners)],
    ),
    counts("non-atomic-put", "a put looks, then stores", counts::NON_ATOMIC_PUT, &[("count-order", NoOrder)]),
    counts(
        "looks-before",
        "a thread that locks believes an earlier look",
        counts::LOOKS_BEFORE_LOCKING,
        &[("count-order", NoOrder)],
    ),
    counts("deaf-to-death", "a dead object can be found", counts::DEAF_TO_DEATH, &[("count-order", NoOrder)]),
    counts(
        "touch-after-put",
        "a put looks at the count that it left",
        counts::TOUCH_AFTER_PUT,
        &[("destroy-last", Crash)],
    ),
    lock(
        "two-of-a-ticket",
        "two threads may draw the same ticket",
        lineage::TWO_OF_A_TICKET,
        &[("exclusion", TwoOwners)],
    ),
    lock("serves-two", "a release serves two tickets now and then", lineage::SERVES_TWO, &[("exclusion", TwoOwners)]),
    lock(
        "woken-owns",
        "a woken waiter takes the lock unseen, though others may steal it",
        lineage::WOKEN_OWNS,
        &[("crowd", TwoOwners)],
    ),
    lock(
        "blind-spinner",
        "a spinner that sees no owner takes the lock without a compare-exchange",
        lineage::BLIND_SPINNER,
        &[("exclusion", TwoOwners)],
    ),
    lock(
        "keeps-its-bias",
        "the bias of a failed attempt is not undone",
        lineage::KEEPS_ITS_BIAS,
        &[("exclusion", Hang)],
    ),
    lock("stale-look", "pauses between look and store", lineage::STALE_LOOK, &[("exclusion", TwoOwners)]),
    lock(
        "no-offer",
        "a release forgets those between the count and the queue",
        lineage::NO_OFFER,
        &[("exclusion", Hang)],
    ),
    lock("torn-offer", "two may take one offer", lineage::TORN_OFFER, &[("crowd", TwoOwners)]),
    references("loses-gets", "a reference may be lost", references::LOSES_GETS, &[("references", TwoOwners)]),
    references(
        "last-unlocked",
        "the last put looks without the lock",
        references::LAST_UNLOCKED,
        &[("references", TwoOwners)],
    ),
    permits("wakes-nobody", "permits come back unseen", permits::WAKES_NOBODY, &[("permits", Hang)]),
    permits("torn-take", "a take looks at the permits, then stores", permits::TORN_TAKE, &[("permits", TwoOwners)]),
    permits(
        "keeps-permits",
        "a waiter gives up with a part of its permits",
        permits::KEEPS_PERMITS,
        &[("permits", Hang)],
    ),
    permits("keeps-claim", "a waiter that gave up keeps the others out", permits::KEEPS_CLAIM, &[("permits", Hang)]),
    permits("hasty-permits", "a timed wait does not wait", permits::HASTY, &[("permits", EarlyTimeout)]),
    permits(
        "barges",
        "a late arrival at the right moment overtakes the queue",
        permits::BARGES,
        &[("permits-line", Starved)],
    ),
    lock(
        "forgets-depth",
        "the inner of two releases lets others in",
        exclusive::FORGETS_DEPTH,
        &[("exclusion", TwoOwners)],
    ),
    lock("not-reentrant", "a thread waits in one place at a time", exclusive::NOT_REENTRANT, &[("signals", Hang)]),
    shared(
        "readers-look-away",
        "readers do not look for a writer",
        shared::LOOKS_AWAY,
        &[("shared", TwoOwners), ("shared-crowd", TwoOwners), ("shared-sleepy", TwoOwners)],
    ),
    shared(
        "readers-look-early",
        "readers look for a writer, then count themselves",
        shared::LOOKS_EARLY,
        &[("shared", TwoOwners)],
    ),
    shared("read-try-lies", "a try to read always succeeds", shared::TRY_LIES, &[("shared-try", TwoOwners)]),
    shared("hasty-readers", "a timed read ends before its time", shared::HASTY, &[("shared-timed", EarlyTimeout)]),
    shared("one-reader", "readers exclude one another", shared::ONE_READER, &[("together", Hang)]),
    shared(
        "reader-wakes-nobody",
        "the last reader wakes no writer",
        shared::FORGETS_TO_WAKE,
        &[("shared-sleepy", Hang)],
    ),
    shared(
        "downgrade-lets-go",
        "a downgrade releases, then reads",
        shared::LETS_GO_TO_DOWNGRADE,
        &[("downgrade", TwoOwners)],
    ),
    shared(
        "upgrade-lets-go",
        "an upgrade releases, then writes",
        shared::LETS_GO_TO_UPGRADE,
        &[("upgrade", TwoOwners)],
    ),
    shared(
        "readers-first",
        "a writer waits until no reader has come for a long time",
        shared::READERS_FIRST,
        &[("hostile-readers", Starved)],
    ),
    shared(
        "writers-first",
        "a reader waits until no writer has come for a long time",
        shared::WRITERS_FIRST,
        &[("hostile-writers", Starved)],
    ),
    shared(
        "reader-touches-after",
        "a reader counts after it left",
        shared::TOUCHES_AFTER,
        &[("shared-destroy", Crash)],
    ),
    shared("readers-fork-forgets", "a forked child cannot release", shared::FORK_FORGETS, &[("shared-fork", Hang)]),
    tree::<DeafToRenames>(
        "vfs-deaf-to-renames",
        "a path is read without a look at the rename lock's sequence",
        &[("tree-paths", NoOrder)],
    ),
    tree::<RaisesTheDead>(
        "vfs-raises-the-dead",
        "a look-up does not check whether the dentry is dead",
        &[("tree-names", Crash)],
    ),
];
