//! The ia64 spin lock, with and without back-off.

use super::*;
use turnwise_lineage::ia64_spin::{ExponentialCode, ExponentialProse, Ia64SpinLock, Plain, Policy};

impl<V: Policy> Settles for Ia64SpinLock<V, Loom> {}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call lock:
        plain = Ia64SpinLock<Plain, Loom>, code = Ia64SpinLock<ExponentialCode, Loom>,
        prose = Ia64SpinLock<ExponentialProse, Loom>,
    }
}
