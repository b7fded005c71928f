//! What each paper claims, as pairs of locks.

use crate::documents::Measure::{Reads, Switches, Throughput, Time};
use crate::documents::{Comparison, Measure};

const fn comparison(
    scenario: &'static str,
    (before, after): (&'static str, &'static str),
    measure: Measure,
    published: Option<&'static str>,
) -> Comparison {
    Comparison { scenario, before, after, measure, published }
}

const SPINNERS: (&str, &str) = ("linux-mutex-baseline", "linux-mutex-patch1-and-2");
const LOOKING: (&str, &str) = ("linux-mutex-baseline", "linux-mutex-patch1");
const STEALING: (&str, &str) = ("rwsem-spinlock-fifo", "rwsem-spinlock-stealing");
const XADD: (&str, &str) = ("rwsem-xadd-fifo", "rwsem-xadd-stealing");
const CMPXCHG: (&str, &str) = ("d-count-under-lock", "d-count-cmpxchg");
const LOCKREF: (&str, &str) = ("d-count-under-lock", "d-count-lockref");
const D_PATH: (&str, &str) = ("rename-lock-exclusive", "rename-lock-seqrw");
const BACK_OFF: (&str, &str) = ("inode-lock-spin", "inode-lock-backoff");
const REDESIGN: (&str, &str) = ("inode-lock-spin", "inode-lock-rwsem");
const SPINNING: (&str, &str) = ("osv-mutex-no-spin", "osv-mutex-spin");

pub(super) static EXHIBITS: &[Comparison] = &[
    comparison("mutex-2", SPINNERS, Throughput, Some("mutex-patch2-1-node")),
    comparison("mutex-4", SPINNERS, Throughput, Some("mutex-patch2-2-nodes")),
    comparison("mutex-8", SPINNERS, Throughput, Some("mutex-patch2-4-nodes")),
    comparison("mutex-32", SPINNERS, Throughput, Some("mutex-patch2-8-nodes")),
    comparison("mutex-32", LOOKING, Throughput, Some("mutex-patch1-8-nodes")),
    comparison("rwsem-8", STEALING, Throughput, Some("rwsem-throughput")),
    comparison("rwsem-8", STEALING, Switches, Some("rwsem-switches")),
    comparison("rwsem-32", STEALING, Throughput, Some("rwsem-throughput")),
    comparison("rwsem-32", STEALING, Switches, Some("rwsem-switches")),
    comparison("rwsem-8", XADD, Throughput, Some("rwsem-xadd")),
    comparison("rwsem-32", XADD, Throughput, Some("rwsem-xadd")),
    comparison("d_count-2", CMPXCHG, Time, Some("dcache-reaim")),
    comparison("d_count-2", LOCKREF, Time, None),
    comparison("d_path-2", D_PATH, Throughput, Some("dcache-total")),
    comparison("d_path-3", D_PATH, Reads, None),
    comparison("inode-2", BACK_OFF, Time, Some("backoff-8")),
    comparison("inode-4", BACK_OFF, Time, Some("backoff-64")),
    comparison("inode-2", REDESIGN, Time, None),
    comparison("inode-4", REDESIGN, Time, None),
    comparison("osv-2", SPINNING, Time, Some("osv-2")),
    comparison("osv-4", SPINNING, Time, Some("osv-4")),
    comparison("osv-20", SPINNING, Time, None),
    comparison("rwlock-4", ("biased-rwlock", "queued-rwlock"), Throughput, None),
];
