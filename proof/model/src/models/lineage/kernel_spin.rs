//! The kernel's spin locks: ticket, biased readers-writer lock, queued readers-writer lock.

use super::*;
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};

type Ticket = KernelTicketLock<Loom>;
type Biased = BiasedRwLock<Loom>;
type Queued = QueuedRwLock<Loom>;

impl Settles for Ticket {}

impl Settles for Biased {}
impl Settles for Queued {}

models_of!(KernelSpin, PLAIN);

/// Makes no yield stand in for disabled preemption.
const fn in_kernel(name: &'static str, preemptions: (usize, usize), body: fn()) -> Model {
    Model { setup: KERNEL, ..model(name, preemptions, &[], body) }
}

pub(super) const MODELS: &[Model] = &[
    model("kernel ticket: two threads", (4, 8), &[], || all_lock::<Ticket>(2, 2)),
    model("kernel ticket: three threads", (2, 3), &[], || all_lock::<Ticket>(3, 1)),
    in_kernel("kernel ticket, in a kernel: two threads", (4, 8), || all_lock::<Ticket>(2, 2)),
    in_kernel("biased, in a kernel: a writer and a reader", (4, 8), || mixed::<Biased>(1, 1)),
    model("kernel ticket: try", (4, 8), EITHER, attempt::<Ticket>),
    model("kernel ticket: dropped", (3, 6), DROP, dropped::<Ticket>),
    model("biased: a writer and a reader", (4, 8), &[], || mixed::<Biased>(1, 1)),
    model("biased: two writers", (4, 8), &[], || mixed::<Biased>(2, 0)),
    model("biased: a writer and two readers", (2, 3), &[], || mixed::<Biased>(1, 2)),
    model("biased: two writers and a reader", (1, 2), &[], || mixed::<Biased>(2, 1)),
    model("biased: try to read", (4, 8), EITHER, || attempt_shared::<Biased>(true, false)),
    model("biased: try to write", (4, 8), EITHER, || attempt_shared::<Biased>(true, true)),
    model("biased: try to write while one reads", (4, 8), EITHER, || attempt_shared::<Biased>(false, true)),
    model("biased: dropped", (3, 6), DROP, dropped::<Biased>),
    model("queued rw: a writer and a reader", (4, 8), &[], || mixed::<Queued>(1, 1)),
    model("queued rw: two writers", (4, 8), &[], || mixed::<Queued>(2, 0)),
    model("queued rw: a writer and two readers", (2, 3), &[], || mixed::<Queued>(1, 2)),
    model("queued rw: two writers and a reader", (1, 2), &[], || mixed::<Queued>(2, 1)),
    model("queued rw: all wait for a reader", (1, 2), &[], || behind::<Queued>(false, 1, 1, 0)),
    model("queued rw: try to read", (4, 8), EITHER, || attempt_shared::<Queued>(true, false)),
    model("queued rw: try to write", (4, 8), EITHER, || attempt_shared::<Queued>(true, true)),
    model("queued rw: try to write while one reads", (4, 8), EITHER, || attempt_shared::<Queued>(false, true)),
    model("queued rw: dropped", (3, 6), DROP, dropped::<Queued>),
];
