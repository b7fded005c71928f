//! The papers' locks, before and after, and their present-day replacements.

mod comparisons;
mod groups;

use super::{Group, Mix, OF_KINDS, Scenario, Subject};
use groups::{D_COUNT, HANDOFF_SPIN, MUTEX_SPINNERS, RENAME_LOCK, RWLOCK, RWSEM_STEALING, SPIN_BACKOFF};

/// The papers' locks.
pub static SUBJECT: Subject = Subject {
    name: "lineage",
    help: "the papers' locks, before and after, next to what was published",
    groups: &[&MUTEX_SPINNERS, &RWSEM_STEALING, &D_COUNT, &RENAME_LOCK, &SPIN_BACKOFF, &HANDOFF_SPIN, &RWLOCK],
    default: &["mutex_spinners", "rwsem_stealing", "d_count", "rename_lock", "spin_backoff", "handoff_spin", "rwlock"],
    scenarios: SCENARIOS,
    figures: &[&["per op", "CPU per op", "fairness"], OF_KINDS, &["sleeps per op", "sleeps per s"]],
    comparisons: comparisons::EXHIBITS,
    plugged: None,
};

const fn short(group: &'static Group, name: &'static str, threads: usize, help: &'static str) -> Scenario {
    Scenario::tight(group, name, threads, help).busy(50, 100)
}

/// Returns a scenario of readers that walk up a path, with the lock, and do the same work without it.
const fn walks(name: &'static str, threads: usize, mix: Mix, help: &'static str) -> Scenario {
    Scenario::tight(&RENAME_LOCK, name, threads, help).busy(300, 300).mix(mix)
}

/// Returns a scenario of OSv's benchmark of its mutex.
const fn misc_mutex(name: &'static str, threads: usize, pinned: bool, help: &'static str) -> Scenario {
    Scenario { pinned, ..Scenario::tight(&HANDOFF_SPIN, name, threads, help) }
}

const ONE_RENAMES: Mix = Mix::Apart { writers: 1, rest_ns: 100_000 };

static SCENARIOS: &[Scenario] = &[
    short(&MUTEX_SPINNERS, "mutex-2", 2, "2 threads, 50 ns inside, 100 ns outside"),
    short(&MUTEX_SPINNERS, "mutex-4", 4, "4 threads, 50 ns inside, 100 ns outside"),
    short(&MUTEX_SPINNERS, "mutex-8", 8, "8 threads, 50 ns inside, 100 ns outside"),
    short(&MUTEX_SPINNERS, "mutex-32", 32, "32 threads, 50 ns inside, 100 ns outside"),
    short(&RWSEM_STEALING, "rwsem-8", 8, "8 writers, 50 ns inside, 100 ns outside"),
    short(&RWSEM_STEALING, "rwsem-32", 32, "32 writers, 50 ns inside, 100 ns outside"),
    Scenario::tight(&D_COUNT, "d_count-1", 1, "1 thread: dget, dput"),
    Scenario::tight(&D_COUNT, "d_count-2", 2, "2 threads, one dentry: dget, dput"),
    walks("d_path-2", 2, Mix::Mixed(100), "2 threads: d_path, 300 ns inside and outside"),
    walks("d_path-3", 3, ONE_RENAMES, "2 threads: d_path; 1 renames, and rests 100 us"),
    short(&SPIN_BACKOFF, "inode-2", 2, "2 threads read an inode, 50 ns inside, 100 ns outside").mix(Mix::Mixed(100)),
    short(&SPIN_BACKOFF, "inode-4", 4, "4 threads read an inode, 50 ns inside, 100 ns outside").mix(Mix::Mixed(100)),
    short(&SPIN_BACKOFF, "inode-write-2", 2, "2 threads write an inode, 50 ns inside, 100 ns outside"),
    misc_mutex("osv-2", 2, true, "misc-mutex, 2 threads, each on its CPU"),
    misc_mutex("osv-4", 4, false, "misc-mutex, 4 threads"),
    misc_mutex("osv-20", 20, false, "misc-mutex, 20 threads"),
    short(&RWLOCK, "rwlock-2", 2, "2 threads, half reads, 50 ns inside, 100 ns outside").mix(Mix::Mixed(50)),
    short(&RWLOCK, "rwlock-4", 4, "4 threads, half reads, 50 ns inside, 100 ns outside").mix(Mix::Mixed(50)),
];
