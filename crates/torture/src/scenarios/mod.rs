//! One record per scenario.

mod condvar;
mod counts;
mod exclusion;
mod fork;
mod life;
mod memory;
mod order;
mod permits;
mod references;
mod sequence;
mod shared;
mod signals;
mod tree;

use crate::arena::Arena;
use crate::locks::{Abilities, LockRecord};

/// A scenario.
pub struct ScenarioRecord {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, and what it would catch.
    pub about: &'static str,
    /// Whether a lock with these abilities can go through it.
    pub suits: fn(&Abilities) -> bool,
    /// Runs it; ends the process with a verdict if something is wrong.
    pub run: fn(&'static Arena, &LockRecord),
}

const fn scenario(
    name: &'static str,
    about: &'static str,
    suits: fn(&Abilities) -> bool,
    run: fn(&'static Arena, &LockRecord),
) -> ScenarioRecord {
    ScenarioRecord { name, about, suits, run }
}

/// Any lock.
const fn any(can: &Abilities) -> bool {
    !can.tree
}

/// The scenarios.
pub static SCENARIOS: &[ScenarioRecord] = &[
    scenario("exclusion", "two threads, short sections: one owner at a time", any, exclusion::exclusion),
    scenario("crowd", "more threads than CPUs", any, exclusion::crowd),
    scenario("sleepy", "owners and others sleep and yield at random", any, exclusion::sleepy),
    scenario("try", "tries among locks: one that succeeds has the lock", any, exclusion::tries),
    scenario(
        "timed",
        "random deadlines, on both clocks: no early end, no trace left",
        |can| can.timed,
        exclusion::timed,
    ),
    scenario("fair", "fair releases among others", |can| can.fair, exclusion::fair),
    scenario("nested", "three locks, taken in order, released in any", any, order::nested),
    scenario(
        "starvation",
        "one that takes the lock again and again: others get it in time",
        |can| can.bounded,
        order::starvation,
    ),
    scenario("ping-pong", "a turn goes round over a condition variable", |can| can.condvar, condvar::ping_pong),
    scenario("one-each", "notify_one for each item: no notification is lost", |can| can.condvar, condvar::one_each),
    scenario("storm", "notify_all to many waiters: all come back", |can| can.condvar, condvar::storm),
    scenario("timed-wait", "condition variable with random deadlines: no early end", |can| can.condvar, condvar::timed),
    scenario("comers", "threads come and go: slots are used again", any, life::comers),
    scenario("all-slots", "more threads than slots: those without get on", |can| can.slots, life::all_slots),
    scenario("exits", "owners exit while others look whether they run", |can| can.slots, life::exits),
    scenario("last-words", "threads lock after they gave their slot back", |can| can.signals, life::last_words),
    scenario(
        "destroy",
        "the last owner unmaps the lock at once: nobody touches it after its release",
        |can| can.lets_go,
        memory::destroy,
    ),
    scenario(
        "destroy-condvar",
        "the last of those notified unmaps lock and condition variable at once",
        |can| can.condvar,
        memory::destroy_condvar,
    ),
    scenario("torn-reads", "optimistic reads see whole values, in order", |can| can.sequence, sequence::torn_reads),
    scenario(
        "blocking-reads",
        "nothing changes under blocking readers, and writers get their turn",
        |can| can.sequence,
        sequence::blocking_reads,
    ),
    scenario(
        "count-order",
        "some order of the operations on a count explains what they say",
        |can| can.counts,
        counts::order,
    ),
    scenario(
        "destroy-last",
        "who gives the last reference back unmaps the count at once",
        |can| can.counts,
        memory::destroy_last,
    ),
    scenario(
        "references",
        "threads take and give back references: the last one is alone",
        |can| can.references,
        references::come_and_go,
    ),
    scenario(
        "permits",
        "requests of several sizes: no more permits out than there are",
        |can| can.permits,
        permits::permits,
    ),
    scenario("permits-line", "who came first is served first, whatever it wants", |can| can.in_line, permits::line),
    scenario("fork", "fork while threads contend: the child can lock", any, fork::fork),
    scenario("signals", "handlers lock while their thread waits", |can| can.signals, signals::signals),
    scenario("shared", "two threads read and write: no reader beside a writer", |can| can.shared, shared::exclusion),
    scenario("shared-crowd", "more readers and writers than CPUs", |can| can.shared, shared::crowd),
    scenario("shared-sleepy", "readers and writers sleep and yield at random", |can| can.shared, shared::sleepy),
    scenario("shared-try", "tries among readers and writers", |can| can.shared, shared::tries),
    scenario("shared-timed", "random deadlines, readers and writers", |can| can.shared && can.timed, shared::timed),
    scenario("together", "readers wait for one another inside", |can| can.shared, shared::together),
    scenario(
        "downgrade",
        "writers become readers, and no writer comes between",
        |can| can.downgrades,
        shared::downgrade,
    ),
    scenario(
        "upgrade",
        "one reader at a time becomes a writer, and none comes between",
        |can| can.upgrades,
        shared::upgrade,
    ),
    scenario(
        "hostile-readers",
        "readers that overlap for ever: a writer gets in in time",
        |can| can.shared && can.bounded,
        shared::hostile_readers,
    ),
    scenario(
        "hostile-writers",
        "writers that come again and again: a reader gets in in time",
        |can| can.shared && can.bounded,
        shared::hostile_writers,
    ),
    scenario(
        "shared-destroy",
        "the last reader or writer unmaps the lock at once",
        |can| can.shared && can.lets_go,
        memory::destroy_shared,
    ),
    scenario("shared-fork", "fork with a read or the write lock", |can| can.shared && can.forks, fork::fork_shared),
    scenario("tree-paths", "renames on two levels: no path that never was is read", |can| can.tree, tree::paths),
    scenario("tree-names", "names come and go: what stays is found, nothing is lost", |can| can.tree, tree::names),
];
