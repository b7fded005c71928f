//! One record per scenario.

mod condvar;
mod counts;
mod exclusion;
mod fork;
mod life;
mod load;
mod memory;
mod order;
mod permits;
mod references;
mod sequence;
mod shared;
mod signals;
pub(crate) mod tree;

use crate::arena::Arena;
use crate::ops::{Exclusive, LockRecord, Shared, Tree};
use exclusion::Use;

/// A scenario.
pub struct ScenarioRecord {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, and what it would catch.
    pub about: &'static str,
    /// What it does with such a lock, unless the lock lacks what the scenario needs.
    pub plan: fn(&'static LockRecord) -> Option<Plan>,
}

/// A scenario with one sort of lock. It ends the process with a verdict if something is wrong.
pub type Plan = Box<dyn Fn(&'static Arena)>;

/// Lists the scenarios: name, what runs it, with which of the lock's operations, what must hold for the lock, and what
/// the scenario does and would catch.
macro_rules! scenarios {
    ($($name:literal, $run:expr, ($($($ops:ident).+),+) $(if $nature:ident)?: $about:literal;)*) => {
        /// The scenarios.
        pub static SCENARIOS: &[ScenarioRecord] = &[$(
            ScenarioRecord {
                name: $name,
                about: $about,
                plan: |record| by(record, ($(record.ops$(.$ops?)+),+), $run)$(.filter(|_| record.nature.$nature))?,
            },
        )*];
    };
}

/// Returns the plan to run a scenario by operations that the lock has.
fn by<O: Copy + 'static>(
    record: &'static LockRecord,
    ops: O,
    run: impl Fn(&'static Arena, &LockRecord, O) + 'static,
) -> Option<Plan> {
    Some(Box::new(move |arena| run(arena, record, ops)))
}

/// Runs a scenario by writers alone.
fn alone(run: fn(&'static Arena, &LockRecord, Use)) -> impl Fn(&'static Arena, &LockRecord, Exclusive) {
    move |arena, record, ops| run(arena, record, (ops, None))
}

/// Runs a scenario by readers and writers.
fn both(run: fn(&'static Arena, &LockRecord, Use)) -> impl Fn(&'static Arena, &LockRecord, (Exclusive, Shared)) {
    move |arena, record, (ops, shared)| run(arena, record, (ops, Some(shared)))
}

scenarios! {
    "exclusion", alone(exclusion::exclusion), (exclusive): "two threads, short sections: one owner at a time";
    "crowd", alone(exclusion::crowd), (exclusive): "more threads than CPUs";
    "sleepy", alone(exclusion::sleepy), (exclusive): "owners and others sleep and yield at random";
    "try", alone(exclusion::tries), (exclusive): "tries among locks: one that succeeds has the lock";
    "timed", |arena, record, (ops, until)| exclusion::timed(arena, record, (ops, until, None)),
        (exclusive, exclusive.acquire_until):
        "random deadlines, on both clocks: no early end, no trace left";
    "fair", exclusion::fair, (exclusive, exclusive.release_fair): "fair releases among others";
    "nested", order::nested, (exclusive): "three locks, taken in order, released in any";
    "starvation", order::starvation, (exclusive) if bounded:
        "one thread takes the lock again and again: others get it in time";
    "ping-pong", condvar::ping_pong, (exclusive, condvar): "a turn goes round over a condition variable";
    "one-each", condvar::one_each, (exclusive, condvar): "notify_one for each item: no notification is lost";
    "storm", condvar::storm, (exclusive, condvar): "notify_all to many waiters: all come back";
    "timed-wait", condvar::timed, (exclusive, condvar): "condition variable with random deadlines: no early end";
    "comers", life::comers, (exclusive): "threads come and go: slots are used again";
    "all-slots", life::all_slots, (exclusive) if slots: "more threads than slots: those without one make progress";
    "exits", life::exits, (exclusive) if slots: "owners exit while others check whether they run";
    "last-words", life::last_words, (exclusive) if signals: "threads lock after they gave their slot back";
    "load", load::load, (exclusive): "acquisitions by the million: none is lost, nothing grows, nothing gets slower";
    "churn", load::churn, (exclusive): "threads and locks come and go as quickly as they can: nothing grows";
    "destroy", memory::destroy, (exclusive) if lets_go:
        "the last owner unmaps the lock at once: no thread touches it after its release";
    "destroy-condvar", memory::destroy_condvar, (exclusive, condvar):
        "the last of those notified unmaps lock and condition variable at once";
    "torn-reads", sequence::torn_reads, (sequence): "optimistic reads see whole values, in order";
    "blocking-reads", sequence::blocking_reads, (sequence):
        "nothing changes under blocking readers, and writers get their turn";
    "count-order", counts::order, (counts): "some order of the operations on a count explains what they say";
    "destroy-last", memory::destroy_last, (counts):
        "the thread that gives back the last reference unmaps the count at once";
    "references", references::come_and_go, (references): "threads take and give back references: the last one is alone";
    "permits", permits::permits, (permits): "requests of several sizes: no more permits out than there are";
    "permits-line", permits::line, (permits) if in_queue: "first come, first served, whatever a request's size";
    "fork", alone(fork::fork), (exclusive): "fork while threads contend: the child can lock";
    "signals", signals::signals, (exclusive) if signals: "handlers lock while their thread waits";
    "shared", both(exclusion::exclusion), (exclusive, shared): "two threads read and write: no reader beside a writer";
    "shared-crowd", both(exclusion::crowd), (exclusive, shared): "more readers and writers than CPUs";
    "shared-sleepy", both(exclusion::sleepy), (exclusive, shared): "readers and writers sleep and yield at random";
    "shared-try", both(exclusion::tries), (exclusive, shared): "tries among readers and writers";
    "shared-timed", |arena, record, (ops, shared, until, read_until)| {
        exclusion::timed(arena, record, (ops, until, Some((shared, read_until))));
    }, (exclusive, shared, exclusive.acquire_until, shared.read_until): "random deadlines, readers and writers";
    "together", shared::together, (exclusive, shared): "readers wait for one another inside";
    "downgrade", shared::downgrade, (exclusive, shared, shared.downgrade):
        "writers become readers, and no writer comes between";
    "upgrade", shared::upgrade, (exclusive, shared, shared.upgrade, shared.downgrade):
        "one reader at a time upgrades to a writer, atomically";
    "hostile-readers", shared::hostile_readers, (exclusive, shared) if bounded:
        "readers that overlap for ever: a writer still gets its turn in time";
    "hostile-writers", shared::hostile_writers, (exclusive, shared) if bounded:
        "writers that come again and again: a reader still gets its turn in time";
    "shared-destroy", memory::destroy_shared, (exclusive, shared) if lets_go:
        "the last reader or writer unmaps the lock at once";
    "shared-fork", both(fork::fork), (exclusive, shared) if forks: "fork with a read or the write lock";
    "tree-paths", |arena, record, tree: Tree| (tree.paths)(arena, record), (tree):
        "renames on two levels: no path that never was is read";
    "tree-names", |arena, record, tree: Tree| (tree.names)(arena, record), (tree):
        "names come and go: what stays is found, nothing is lost";
}
