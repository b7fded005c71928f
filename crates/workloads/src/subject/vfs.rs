//! Trees of names: our file system on today's locks and on those of the documents' kernels, and what one might use in
//! place of it.

use super::{Group, LockInfo, Scenario, Subject, Waiting::*};
use crate::adapt::trees::{LockedTree, Table, Tmpfs};
use crate::load::names::{self, Disjoint, Shared, Tree, Whose};

/// Trees of names.
pub static SUBJECT: Subject = Subject {
    name: "vfs",
    help: "file systems in memory: an operation looks up a path of five components, or asks for one",
    groups: &[&SHARED, &DISJOINT],
    default: &["look-up-shared", "look-up-disjoint"],
    scenarios: SCENARIOS,
    figures: &["per op", "CPU per op", "fairness", "p99 wait", "longest wait", "sleeps per op", "preempted per op"],
    exhibits: &[],
};

impl LockInfo {
    /// A peer that finds names.
    const fn tree<T: Tree, W: Whose>(name: &'static str, help: &'static str) -> LockInfo {
        LockInfo { name, help, waiting: Sleeps, ours: false, entry: None, sample: names::look_ups::<T, W> }
    }
}

static SHARED: Group = Group {
    name: "look-up-shared",
    help: "look-ups below one directory",
    locks: &trees::<Shared>(),
    default: &["all"],
    reference: &["tmpfs"],
};

static DISJOINT: Group = Group {
    name: "look-up-disjoint",
    help: "look-ups, each thread below a directory of its own",
    locks: &trees::<Disjoint>(),
    default: &["all"],
    reference: &["tmpfs"],
};

const fn trees<W: Whose>() -> [LockInfo; 3] {
    [
        LockInfo::tree::<Tmpfs, W>("tmpfs", "stat(2) on the kernel's tmpfs, from an open directory"),
        LockInfo::tree::<Table, W>("dashmap", "DashMap<PathBuf, _>: no directory can be renamed"),
        LockInfo::tree::<LockedTree, W>("rwlock-btree", "std's RwLock around a BTreeMap<PathBuf, _>"),
    ]
}

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&SHARED, "shared-1", 1, "look-ups, 1 thread"),
    Scenario::tight(&SHARED, "shared-2", 2, "look-ups, 2 threads, the same files"),
    Scenario::tight(&DISJOINT, "disjoint-1", 1, "look-ups, 1 thread, again"),
    Scenario::tight(&DISJOINT, "disjoint-2", 2, "look-ups, 2 threads, a directory for each"),
];
