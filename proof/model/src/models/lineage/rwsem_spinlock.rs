//! The rwsem on a spin lock, FIFO and stealing.

use super::*;
use crate::platform::number;
use turnwise_lineage::rwsem_spinlock::{Fifo, Policy, RwsemSpinlock, Stealing};

impl<V: Policy> Settles for RwsemSpinlock<V, Loom> {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.has_no_waiters() && self.try_lock()
    }
}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call sem: fifo = Fifo, stealing = Stealing; scenes! { call(): thief() } }
}

fn sem<V: Policy>(call: &mut Call) -> Body {
    lowered::<RwsemSpinlock<V, Loom>>(call, RwsemSpinlock::downgrade)
}

/// A writer sleeps; the owner releases the lock and takes it again: with stealing it may be faster.
fn thief() {
    let pages = Pages::<RwsemSpinlock<Stealing, Loom>>::keep();
    pages.raw.lock();
    let sleeper = spawn(move || {
        pages.raw.lock();
        saw(if pages.section.data.get() == 1 { "the sleeper came second" } else { "the sleeper came last" });
        assert_eq!(number(), 1);
        pages.leave_writing();
    });
    rest();
    pages.leave_writing();
    write(pages);
    sleeper.join();
    pages.is_over();
}
