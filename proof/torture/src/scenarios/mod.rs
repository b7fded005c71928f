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
use crate::ops::{Condvar, Exclusive, LockRecord, Shared};

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

const fn scenario(
    name: &'static str,
    about: &'static str,
    plan: fn(&'static LockRecord) -> Option<Plan>,
) -> ScenarioRecord {
    ScenarioRecord { name, about, plan }
}

/// Returns the plan to run a scenario by operations that the lock has.
fn by<O: Copy + 'static>(record: &'static LockRecord, ops: O, run: fn(&'static Arena, &LockRecord, O)) -> Option<Plan> {
    Some(Box::new(move |arena| run(arena, record, ops)))
}

/// Returns the plan to run a scenario for a lock that has one owner at a time.
fn lock(record: &'static LockRecord, run: fn(&'static Arena, &LockRecord, Exclusive)) -> Option<Plan> {
    by(record, record.ops.exclusive?, run)
}

/// Returns the plan to run a scenario for a lock that has readers as well.
fn readers(record: &'static LockRecord, run: fn(&'static Arena, &LockRecord, (Exclusive, Shared))) -> Option<Plan> {
    by(record, (record.ops.exclusive?, record.ops.shared?), run)
}

/// Returns the plan to run a scenario for a lock that has a condition variable.
fn condvars(record: &'static LockRecord, run: fn(&'static Arena, &LockRecord, (Exclusive, Condvar))) -> Option<Plan> {
    by(record, (record.ops.exclusive?, record.ops.condvar?), run)
}

/// The scenarios.
pub static SCENARIOS: &[ScenarioRecord] = &[
    scenario("exclusion", "two threads, short sections: one owner at a time", |r| lock(r, exclusion::exclusion)),
    scenario("crowd", "more threads than CPUs", |r| lock(r, exclusion::crowd)),
    scenario("sleepy", "owners and others sleep and yield at random", |r| lock(r, exclusion::sleepy)),
    scenario("try", "tries among locks: one that succeeds has the lock", |r| lock(r, exclusion::tries)),
    scenario("timed", "random deadlines, on both clocks: no early end, no trace left", |r| {
        by(r, (r.ops.exclusive?, r.ops.exclusive?.acquire_until?), exclusion::timed)
    }),
    scenario("fair", "fair releases among others", |r| {
        by(r, (r.ops.exclusive?, r.ops.exclusive?.release_fair?), exclusion::fair)
    }),
    scenario("nested", "three locks, taken in order, released in any", |r| lock(r, order::nested)),
    scenario("starvation", "one thread takes the lock again and again: others get it in time", |r| {
        lock(r, order::starvation).filter(|_| r.nature.bounded)
    }),
    scenario("ping-pong", "a turn goes round over a condition variable", |r| condvars(r, condvar::ping_pong)),
    scenario("one-each", "notify_one for each item: no notification is lost", |r| condvars(r, condvar::one_each)),
    scenario("storm", "notify_all to many waiters: all come back", |r| condvars(r, condvar::storm)),
    scenario("timed-wait", "condition variable with random deadlines: no early end", |r| condvars(r, condvar::timed)),
    scenario("comers", "threads come and go: slots are used again", |r| lock(r, life::comers)),
    scenario("all-slots", "more threads than slots: those without one make progress", |r| {
        lock(r, life::all_slots).filter(|_| r.nature.slots)
    }),
    scenario("exits", "owners exit while others check whether they run", |r| {
        lock(r, life::exits).filter(|_| r.nature.slots)
    }),
    scenario("last-words", "threads lock after they gave their slot back", |r| {
        lock(r, life::last_words).filter(|_| r.nature.signals)
    }),
    scenario("load", "acquisitions by the million: none is lost, nothing grows, nothing gets slower", |r| {
        lock(r, load::load)
    }),
    scenario("churn", "threads and locks come and go as quickly as they can: nothing grows", |r| lock(r, load::churn)),
    scenario("destroy", "the last owner unmaps the lock at once: no thread touches it after its release", |r| {
        lock(r, memory::destroy).filter(|_| r.nature.lets_go)
    }),
    scenario("destroy-condvar", "the last of those notified unmaps lock and condition variable at once", |r| {
        condvars(r, memory::destroy_condvar)
    }),
    scenario("torn-reads", "optimistic reads see whole values, in order", |r| {
        by(r, r.ops.sequence?, sequence::torn_reads)
    }),
    scenario("blocking-reads", "nothing changes under blocking readers, and writers get their turn", |r| {
        by(r, r.ops.sequence?, sequence::blocking_reads)
    }),
    scenario("count-order", "some order of the operations on a count explains what they say", |r| {
        by(r, r.ops.counts?, counts::order)
    }),
    scenario("destroy-last", "the thread that gives back the last reference unmaps the count at once", |r| {
        by(r, r.ops.counts?, memory::destroy_last)
    }),
    scenario("references", "threads take and give back references: the last one is alone", |r| {
        by(r, r.ops.references?, references::come_and_go)
    }),
    scenario("permits", "requests of several sizes: no more permits out than there are", |r| {
        by(r, r.ops.permits?, permits::permits)
    }),
    scenario("permits-line", "first come, first served, whatever a request's size", |r| {
        by(r, r.ops.permits?, permits::line).filter(|_| r.nature.in_queue)
    }),
    scenario("fork", "fork while threads contend: the child can lock", |r| lock(r, fork::fork)),
    scenario("signals", "handlers lock while their thread waits", |r| {
        lock(r, signals::signals).filter(|_| r.nature.signals)
    }),
    scenario("shared", "two threads read and write: no reader beside a writer", |r| readers(r, shared::exclusion)),
    scenario("shared-crowd", "more readers and writers than CPUs", |r| readers(r, shared::crowd)),
    scenario("shared-sleepy", "readers and writers sleep and yield at random", |r| readers(r, shared::sleepy)),
    scenario("shared-try", "tries among readers and writers", |r| readers(r, shared::tries)),
    scenario("shared-timed", "random deadlines, readers and writers", |r| {
        let (ops, shared) = (r.ops.exclusive?, r.ops.shared?);
        by(r, (ops, shared, ops.acquire_until?, shared.read_until?), shared::timed)
    }),
    scenario("together", "readers wait for one another inside", |r| readers(r, shared::together)),
    scenario("downgrade", "writers become readers, and no writer comes between", |r| {
        let shared = r.ops.shared?;
        by(r, (r.ops.exclusive?, shared, shared.downgrade?), shared::downgrade)
    }),
    scenario("upgrade", "one reader at a time upgrades to a writer, atomically", |r| {
        let shared = r.ops.shared?;
        by(r, (r.ops.exclusive?, shared, shared.upgrade?, shared.downgrade?), shared::upgrade)
    }),
    scenario("hostile-readers", "readers that overlap for ever: a writer still gets its turn in time", |r| {
        readers(r, shared::hostile_readers).filter(|_| r.nature.bounded)
    }),
    scenario("hostile-writers", "writers that come again and again: a reader still gets its turn in time", |r| {
        readers(r, shared::hostile_writers).filter(|_| r.nature.bounded)
    }),
    scenario("shared-destroy", "the last reader or writer unmaps the lock at once", |r| {
        readers(r, memory::destroy_shared).filter(|_| r.nature.lets_go)
    }),
    scenario("shared-fork", "fork with a read or the write lock", |r| {
        readers(r, fork::fork_shared).filter(|_| r.nature.forks)
    }),
    scenario("tree-paths", "renames on two levels: no path that never was is read", |r| {
        by(r, r.ops.tree?, |arena, record, tree| (tree.paths)(arena, record))
    }),
    scenario("tree-names", "names come and go: what stays is found, nothing is lost", |r| {
        by(r, r.ops.tree?, |arena, record, tree| (tree.names)(arena, record))
    }),
];
