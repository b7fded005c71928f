//! The kernel's spin locks: ticket, biased readers-writer lock, queued readers-writer lock.

use super::*;
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};

type Ticket = KernelTicketLock<Loom>;
type Biased = BiasedRwLock<Loom>;
type Queued = QueuedRwLock<Loom>;

impl Settles for Ticket {}

impl Settles for Biased {}
impl Settles for Queued {}

pub(super) const MODELS: &[Model] = models! { KernelSpin:
    "kernel ticket: two threads": PLAIN, (4, 8), ANY => all_lock::<Ticket>(2, 2);
    "kernel ticket: three threads": PLAIN, (2, 3), ANY => all_lock::<Ticket>(3, 1);
    "kernel ticket, in a kernel: two threads": KERNEL, (4, 8), ANY => all_lock::<Ticket>(2, 2);
    "biased, in a kernel: a writer and a reader": KERNEL, (4, 8), ANY => mixed::<Biased>(1, 1);
    "kernel ticket: try": PLAIN, (4, 8), EITHER => attempt::<Ticket>();
    "kernel ticket: dropped": PLAIN, (3, 6), DROP => dropped::<Ticket>();
    "biased: a writer and a reader": PLAIN, (4, 8), ANY => mixed::<Biased>(1, 1);
    "biased: two writers": PLAIN, (4, 8), ANY => mixed::<Biased>(2, 0);
    "biased: a writer and two readers": PLAIN, (2, 3), ANY => mixed::<Biased>(1, 2);
    "biased: two writers and a reader": PLAIN, (1, 2), ANY => mixed::<Biased>(2, 1);
    "biased: try to read": PLAIN, (4, 8), EITHER => attempt_shared::<Biased>(true, false);
    "biased: try to write": PLAIN, (4, 8), EITHER => attempt_shared::<Biased>(true, true);
    "biased: try to write while one reads": PLAIN, (4, 8), EITHER => attempt_shared::<Biased>(false, true);
    "biased: dropped": PLAIN, (3, 6), DROP => dropped::<Biased>();
    "queued rw: a writer and a reader": PLAIN, (4, 8), ANY => mixed::<Queued>(1, 1);
    "queued rw: two writers": PLAIN, (4, 8), ANY => mixed::<Queued>(2, 0);
    "queued rw: a writer and two readers": PLAIN, (2, 3), ANY => mixed::<Queued>(1, 2);
    "queued rw: two writers and a reader": PLAIN, (1, 2), ANY => mixed::<Queued>(2, 1);
    "queued rw: all wait for a reader": PLAIN, (1, 2), ANY => behind::<Queued>(false, 1, 1, 0);
    "queued rw: try to read": PLAIN, (4, 8), EITHER => attempt_shared::<Queued>(true, false);
    "queued rw: try to write": PLAIN, (4, 8), EITHER => attempt_shared::<Queued>(true, true);
    "queued rw: try to write while one reads": PLAIN, (4, 8), EITHER => attempt_shared::<Queued>(false, true);
    "queued rw: dropped": PLAIN, (3, 6), DROP => dropped::<Queued>();
};
