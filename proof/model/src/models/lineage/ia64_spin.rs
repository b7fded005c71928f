//! The ia64 spin lock, with and without back-off.

use super::*;
use turnwise_lineage::ia64_spin::{ExponentialCode, ExponentialProse, Ia64SpinLock, Plain, Policy};

impl<V: Policy> Settles for Ia64SpinLock<V, Loom> {}

type Polls = Ia64SpinLock<Plain, Loom>;
type Code = Ia64SpinLock<ExponentialCode, Loom>;
type Prose = Ia64SpinLock<ExponentialProse, Loom>;

pub(super) const MODELS: &[Model] = models! { Ia64Spin:
    "ia64: two threads": PLAIN, (4, 8), ANY => all_lock::<Polls>(2, 2);
    "ia64: three threads": PLAIN, (2, 3), ANY => all_lock::<Polls>(3, 1);
    "ia64: try": PLAIN, (4, 8), EITHER => attempt::<Polls>();
    "ia64: dropped": PLAIN, (3, 6), &["dropped"] => dropped::<Polls>();
    "ia64: two threads that back off as in the code": PLAIN, (3, 6), ANY => all_lock::<Code>(2, 2);
    "ia64: three threads that back off as in the code": PLAIN, (1, 2), ANY => all_lock::<Code>(3, 1);
    "ia64: two threads that back off as in the prose": PLAIN, (3, 6), ANY => all_lock::<Prose>(2, 1);
    "ia64: dropped by one that backed off": PLAIN, (3, 6), &["dropped"] => dropped::<Code>();
};
