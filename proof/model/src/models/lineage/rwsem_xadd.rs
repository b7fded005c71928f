//! The rwsem by exchange and add, in its three versions.

use super::*;
use turnwise_lineage::rwsem_xadd::{FastStealing, Fifo, Policy, RwsemXadd, Stealing};

impl<V: Policy> Settles for RwsemXadd<V, Loom> {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.has_no_waiters() && self.try_lock()
    }
}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call sem: fifo = Fifo, stealing = Stealing, fast_stealing = FastStealing; scenes! { call(): stolen() } }
}

fn sem<V: Policy>(call: &mut Call) -> Body {
    lowered::<RwsemXadd<V, Loom>>(call, RwsemXadd::downgrade)
}

/// A reader sleeps; as the owner releases the lock, a newcomer may be faster than the grant.
fn stolen() {
    let pages = Pages::<RwsemXadd<FastStealing, Loom>>::keep();
    pages.raw.lock();
    let reader = spawn(move || {
        pages.raw.read();
        saw(if pages.section.data.get() == 1 { "the thief came last" } else { "the thief came second" });
        pages.leave_reading();
    });
    rest(); // the reader goes to sleep
    let thief = spawn(move || {
        pages.raw.lock();
        rest();
        pages.leave_writing();
    });
    pages.leave_writing();
    thief.join();
    reader.join();
    pages.is_over();
}
