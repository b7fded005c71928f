//! Trees of names: our file system on today's locks and on those of the papers' kernels, and possible replacements for
//! it.

use super::{Group, LockInfo, Scenario, Subject, Waiting::*};
use crate::adapt::trees::{Holding, LockedTree, OurPaths, Ours, Table, Tmpfs, TmpfsPaths};
use crate::load::names::{self, Disjoint, Question, Shared, Siblings, Whose};
use turnwise_vfs::locks::{Linux37, Linux310, Linux310Dcache, Linux312, Today};

/// Trees of names.
pub static SUBJECT: Subject = Subject {
    name: "vfs",
    help: "file systems in memory: an operation asks what is at a path of five components, or for such a path",
    groups: &[&SHARED, &SIBLINGS, &DISJOINT, &HELD, &PATH_SHARED, &PATH_DISJOINT],
    default: &["look-up-shared", "look-up-siblings", "look-up-disjoint", "held-shared", "path-shared", "path-disjoint"],
    scenarios: SCENARIOS,
    figures: &[&["per op", "CPU per op", "fairness", "p99 wait", "longest wait", "sleeps per op", "preempted per op"]],
    comparisons: &[],
    plugged: None,
};

impl LockInfo {
    /// Returns a file system that is queried for what is at a path, or for the path of something.
    const fn tree<Q: Question, W: Whose>(name: &'static str, help: &'static str) -> LockInfo {
        LockInfo::by(names::sample::<Q, W>, name, Sleeps, help)
    }
}

const TODAY: &str = "our file system, today's locks";
const OLD: &str = "the same, locks of Linux 3.7";
const BEFORE: &str = "the same, locks of Linux 3.10: before `dcache`";
const PATCHED: &str = "the same, with the paper's locks";
const MERGED: &str = "the same, locks of Linux 3.12";

static SHARED: Group = Group {
    name: "look-up-shared",
    help: "look-ups of the same files below one directory",
    locks: &trees::<Shared>(),
    default: &["all"],
    reference: &["tmpfs"],
};

static SIBLINGS: Group = Group {
    name: "look-up-siblings",
    help: "look-ups below one directory, each thread of files of its own",
    locks: &trees::<Siblings>(),
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

static HELD: Group = Group {
    name: "held-shared",
    help: "look-ups of the same files, which are held for a moment: a reference is taken and given back",
    locks: &[
        LockInfo::tree::<Holding<Today>, Shared>("turnwise", TODAY).ours(),
        LockInfo::tree::<Holding<Linux37>, Shared>("linux-3.7", OLD),
        LockInfo::tree::<Holding<Linux310>, Shared>("linux-3.10", BEFORE),
        LockInfo::tree::<Holding<Linux310Dcache>, Shared>("linux-3.10-dcache", PATCHED),
        LockInfo::tree::<Holding<Linux312>, Shared>("linux-3.12", MERGED),
    ],
    default: &["all"],
    reference: &["linux-3.10"],
};

static PATH_SHARED: Group = Group {
    name: "path-shared",
    help: "d_path of files in one directory",
    locks: &paths::<Shared>(),
    default: &["all"],
    reference: &["linux-3.10"],
};

static PATH_DISJOINT: Group = Group {
    name: "path-disjoint",
    help: "d_path, each thread below a directory of its own",
    locks: &paths::<Disjoint>(),
    default: &["all"],
    reference: &["linux-3.10"],
};

const fn trees<W: Whose>() -> [LockInfo; 8] {
    [
        LockInfo::tree::<Ours<Today>, W>("turnwise", TODAY).ours(),
        LockInfo::tree::<Ours<Linux37>, W>("linux-3.7", OLD),
        LockInfo::tree::<Ours<Linux310>, W>("linux-3.10", BEFORE),
        LockInfo::tree::<Ours<Linux310Dcache>, W>("linux-3.10-dcache", PATCHED),
        LockInfo::tree::<Ours<Linux312>, W>("linux-3.12", MERGED),
        LockInfo::tree::<Tmpfs, W>("tmpfs", "stat(2) on the kernel's tmpfs"),
        LockInfo::tree::<Table, W>("dashmap", "DashMap<PathBuf, _>: no directory can be renamed"),
        LockInfo::tree::<LockedTree, W>("rwlock-btree", "std's RwLock around a BTreeMap<PathBuf, _>"),
    ]
}

const fn paths<W: Whose>() -> [LockInfo; 6] {
    [
        LockInfo::tree::<OurPaths<Today>, W>("turnwise", TODAY).ours(),
        LockInfo::tree::<OurPaths<Linux37>, W>("linux-3.7", OLD),
        LockInfo::tree::<OurPaths<Linux310>, W>("linux-3.10", BEFORE),
        LockInfo::tree::<OurPaths<Linux310Dcache>, W>("linux-3.10-dcache", PATCHED),
        LockInfo::tree::<OurPaths<Linux312>, W>("linux-3.12", MERGED),
        LockInfo::tree::<TmpfsPaths, W>("tmpfs", "readlink(2) in /proc/self/fd, on the kernel's tmpfs"),
    ]
}

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&SHARED, "shared-1", 1, "look-ups, 1 thread"),
    Scenario::tight(&SHARED, "shared-2", 2, "look-ups, 2 threads, the same files").scales("shared-1"),
    Scenario::tight(&SIBLINGS, "siblings-1", 1, "look-ups, 1 thread, every eighth file"),
    Scenario::tight(&SIBLINGS, "siblings-2", 2, "look-ups, 2 threads, files of its own for each").scales("siblings-1"),
    Scenario::tight(&DISJOINT, "disjoint-1", 1, "look-ups, 1 thread, again"),
    Scenario::tight(&DISJOINT, "disjoint-2", 2, "look-ups, 2 threads, a directory for each").scales("disjoint-1"),
    Scenario::tight(&HELD, "held-1", 1, "look-ups that hold what they find, 1 thread"),
    Scenario::tight(&HELD, "held-2", 2, "look-ups that hold what they find, 2 threads, the same files")
        .scales("held-1"),
    Scenario::tight(&PATH_SHARED, "path-1", 1, "d_path, 1 thread"),
    Scenario::tight(&PATH_SHARED, "path-2", 2, "d_path, 2 threads, the same files").scales("path-1"),
    Scenario::tight(&PATH_DISJOINT, "path-disjoint-1", 1, "d_path, 1 thread, again"),
    Scenario::tight(&PATH_DISJOINT, "path-disjoint-2", 2, "d_path, 2 threads, a directory for each")
        .scales("path-disjoint-1"),
];
