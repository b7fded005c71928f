//! The rwsem by exchange and add, in its three versions.

use super::*;
use turnwise_lineage::rwsem_xadd::{FastStealing, Fifo, Policy, RwsemXadd, Stealing};

impl<V: Policy> Settles for RwsemXadd<V, Loom> {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.has_no_waiters() && self.try_lock()
    }
}

type Ordered = RwsemXadd<Fifo, Loom>;
type Stealer = RwsemXadd<Stealing, Loom>;
type FastStealer = RwsemXadd<FastStealing, Loom>;

pub(super) const MODELS: &[Model] = models! { RwsemXadd:
    "rwsem-xadd, fifo: a writer and a reader": PLAIN, (3, 4), SLEEP => mixed::<Ordered>(1, 1);
    "rwsem-xadd, fifo: two writers": PLAIN, (3, 4), SLEEP => mixed::<Ordered>(2, 0);
    "rwsem-xadd, fifo: a writer and two readers": PLAIN, (1, 2), SLEEP => mixed::<Ordered>(1, 2);
    "rwsem-xadd, fifo: two writers and a reader": PLAIN, (1, 2), SLEEP => mixed::<Ordered>(2, 1);
    "rwsem-xadd, fifo: behind a writer": PLAIN, (1, 2), SLEEP => behind::<Ordered>(true, 1, 1, 0);
    "rwsem-xadd, fifo: behind a reader": PLAIN, (1, 2), SLEEP => behind::<Ordered>(false, 1, 1, 0);
    "rwsem-xadd, fifo: an unwoken sleeper": SPURIOUS, (0, 1), UNWOKEN => behind::<Ordered>(true, 1, 1, 0);
    "rwsem-xadd, fifo, in a kernel: behind a writer": KERNEL, (1, 2), SLEEP => behind::<Ordered>(true, 1, 1, 0);
    "rwsem-xadd, fifo: downgrade": PLAIN, (1, 2), SLEEP => downgraded(Ordered::downgrade);
    "rwsem-xadd, fifo: try to read": PLAIN, (4, 8), EITHER => attempt_shared::<Ordered>(true, false);
    "rwsem-xadd, fifo: try to write": PLAIN, (4, 8), EITHER => attempt_shared::<Ordered>(false, true);
    "rwsem-xadd, stealing: two writers": PLAIN, (2, 4), SLEEP => mixed::<Stealer>(2, 0);
    "rwsem-xadd, stealing: a writer and a reader": PLAIN, (2, 4), SLEEP => mixed::<Stealer>(1, 1);
    "rwsem-xadd, stealing: behind a writer": PLAIN, (1, 2), SLEEP => behind::<Stealer>(true, 1, 1, 0);
    "rwsem-xadd, stealing: behind a reader": PLAIN, (0, 1), SLEEP => behind::<Stealer>(false, 2, 0, 0);
    "rwsem-xadd, stealing: an unwoken sleeper": SPURIOUS, (0, 1), UNWOKEN => behind::<Stealer>(true, 2, 0, 0);
    "rwsem-xadd, stealing: downgrade": PLAIN, (0, 1), SLEEP => downgraded(Stealer::downgrade);
    "rwsem-xadd, fast stealing: two writers": PLAIN, (3, 4), SLEEP => mixed::<FastStealer>(2, 0);
    "rwsem-xadd, fast stealing: a writer and a reader": PLAIN, (3, 4), SLEEP => mixed::<FastStealer>(1, 1);
    "rwsem-xadd, fast stealing: the owner comes again": PLAIN, (2, 3), SLEEP => behind::<FastStealer>(true, 0, 1, 1);
    "rwsem-xadd, fast stealing: behind a writer": PLAIN, (0, 1), SLEEP => behind::<FastStealer>(true, 1, 1, 1);
    "rwsem-xadd, fast stealing: behind a reader": PLAIN, (0, 1), SLEEP => behind::<FastStealer>(false, 1, 1, 0);
    "rwsem-xadd, fast stealing: stolen before the grant": PLAIN, (2, 3), STOLEN => stolen();
    "rwsem-xadd, fast stealing: downgrade": PLAIN, (0, 1), SLEEP => downgraded(FastStealer::downgrade);
};

const STOLEN: Shows = &["slept", "the thief came second", "the thief came last"];

/// A reader sleeps; as the owner releases the lock, a newcomer may be faster than the grant.
fn stolen() {
    let pages = Pages::<FastStealer>::keep();
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
