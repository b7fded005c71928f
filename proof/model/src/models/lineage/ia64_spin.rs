//! The ia64 spin lock, with and without back-off.

use super::*;
use turnwise_lineage::ia64_spin::{ExponentialCode, ExponentialProse, Ia64SpinLock, Plain, Policy};

impl<V: Policy> Settles for Ia64SpinLock<V, Loom> {}

models_of!(Ia64Spin, PLAIN);

type Polls = Ia64SpinLock<Plain, Loom>;
type Code = Ia64SpinLock<ExponentialCode, Loom>;
type Prose = Ia64SpinLock<ExponentialProse, Loom>;

pub(super) const MODELS: &[Model] = &[
    model("ia64: two threads", (4, 8), &[], || all_lock::<Polls>(2, 2)),
    model("ia64: three threads", (2, 3), &[], || all_lock::<Polls>(3, 1)),
    model("ia64: try", (4, 8), EITHER, attempt::<Polls>),
    model("ia64: dropped", (3, 6), &["dropped"], dropped::<Polls>),
    model("ia64: two threads that back off as in the code", (3, 6), &[], || all_lock::<Code>(2, 2)),
    model("ia64: three threads that back off as in the code", (1, 2), &[], || all_lock::<Code>(3, 1)),
    model("ia64: two threads that back off as in the prose", (3, 6), &[], || all_lock::<Prose>(2, 1)),
    model("ia64: dropped by one that backed off", (3, 6), &["dropped"], dropped::<Code>),
];
