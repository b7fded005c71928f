//! The kernel's spin locks: ticket, biased readers-writer lock, queued readers-writer lock.

use super::*;
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};

impl Settles for KernelTicketLock<Loom> {}
impl Settles for BiasedRwLock<Loom> {}
impl Settles for QueuedRwLock<Loom> {}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call pages: biased = BiasedRwLock<Loom>, queued = QueuedRwLock<Loom>;
        types! { call lock: ticket = KernelTicketLock<Loom> }
    }
}
