//! The rules, one per file.

mod conditions;
mod convoy;
mod cycle;
pub(super) mod deadlock;
mod false_sharing;
mod gil;
mod long_holds;
mod off_cpu;
mod other_locks;
mod oversubscribed;
mod polling;
mod readers;
mod saturated;
mod short_holds;
pub(super) mod unexplained;
mod unrelated;
mod wake_ups;

use super::Finding;
use super::context::Context;
use crate::model::{Lock, LockId};

pub(super) enum Rule {
    Lock(fn(&Context, LockId, &Lock) -> Option<Finding>),
    /// Judges one lock, if threads wait for it long enough to matter.
    BusyLock(fn(&Context, LockId, &Lock) -> Option<Finding>),
    Program(fn(&Context) -> Vec<Finding>),
}
use Rule::{BusyLock, Program};

pub(super) const RULES: &[Rule] = &[
    BusyLock(short_holds::find),
    Program(oversubscribed::find),
    BusyLock(off_cpu::find),
    BusyLock(convoy::find),
    BusyLock(saturated::find),
    BusyLock(long_holds::find),
    BusyLock(unrelated::find),
    Rule::Lock(readers::find),
    Program(false_sharing::find),
    Program(cycle::find),
    Program(conditions::find),
    Program(wake_ups::find),
    Program(other_locks::find),
    Program(gil::find),
    Rule::Lock(polling::find),
];

impl Rule {
    pub(super) fn find(&self, context: &Context) -> Vec<Finding> {
        match self {
            Rule::Lock(find) => context.locks().filter_map(|(number, lock)| find(context, number, lock)).collect(),
            BusyLock(find) => context.busy_locks().filter_map(|(number, lock)| find(context, number, lock)).collect(),
            Program(find) => find(context),
        }
    }
}

/// The rule that is not about speed, apart from deadlocks.
pub(super) const HAZARD: &str = cycle::NAME;

/// The approximate cost of a sleep and the wake-up that ends it: two switches and a call between CPUs. A thread that
/// waits for less time than this should rather spin.
const SWITCH_NS: u64 = 5_000;

/// The approximate cost of fetching a cache line that another CPU has just written.
const LINE_TRANSFER_NS: u64 = 100;
