//! The rwsem on a spin lock, FIFO and stealing.

use super::*;
use crate::platform::number;
use turnwise_lineage::rwsem_spinlock::{Fifo, Policy, RwsemSpinlock, Stealing};

impl<V: Policy> Settles for RwsemSpinlock<V, Loom> {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.has_no_waiters() && self.try_lock()
    }
}

type Ordered = RwsemSpinlock<Fifo, Loom>;
type Stealer = RwsemSpinlock<Stealing, Loom>;

pub(super) const MODELS: &[Model] = models! { RwsemSpinlock:
    "rwsem-spinlock, fifo: a writer and a reader": PLAIN, (2, 4), SLEEP => mixed::<Ordered>(1, 1);
    "rwsem-spinlock, fifo: two writers": PLAIN, (2, 4), SLEEP => mixed::<Ordered>(2, 0);
    "rwsem-spinlock, fifo: behind a writer": PLAIN, (1, 2), SLEEP => behind::<Ordered>(true, 1, 1, 0);
    "rwsem-spinlock, fifo: behind a reader": PLAIN, (1, 2), SLEEP => behind::<Ordered>(false, 1, 1, 0);
    "rwsem-spinlock, fifo: two readers go in": PLAIN, (0, 1), SLEEP => behind::<Ordered>(true, 0, 2, 0);
    "rwsem-spinlock, fifo: an unwoken sleeper": SPURIOUS, (0, 1), UNWOKEN => behind::<Ordered>(true, 1, 1, 0);
    "rwsem-spinlock, fifo: downgrade": PLAIN, (0, 1), SLEEP => downgraded(Ordered::downgrade);
    "rwsem-spinlock, fifo: try to read": PLAIN, (3, 4), EITHER => attempt_shared::<Ordered>(true, false);
    "rwsem-spinlock, fifo: try to write": PLAIN, (3, 4), EITHER => attempt_shared::<Ordered>(false, true);
    "rwsem-spinlock, stealing: a writer and a reader": PLAIN, (2, 4), SLEEP => mixed::<Stealer>(1, 1);
    "rwsem-spinlock, stealing: two writers": PLAIN, (2, 4), SLEEP => mixed::<Stealer>(2, 0);
    "rwsem-spinlock, stealing: a thief": PLAIN, (1, 2), STOLEN => thief();
    "rwsem-spinlock, stealing: two writers behind one": PLAIN, (0, 1), SLEEP => behind::<Stealer>(true, 2, 0, 0);
    "rwsem-spinlock, stealing: behind a writer": PLAIN, (0, 1), SLEEP => behind::<Stealer>(true, 1, 1, 1);
    "rwsem-spinlock, stealing: behind a reader": PLAIN, (1, 2), SLEEP => behind::<Stealer>(false, 1, 1, 0);
    "rwsem-spinlock, stealing: an unwoken sleeper": SPURIOUS, (0, 1), UNWOKEN => behind::<Stealer>(true, 1, 1, 0);
    "rwsem-spinlock, stealing: downgrade": PLAIN, (0, 1), SLEEP => downgraded(Stealer::downgrade);
    "rwsem-spinlock, stealing: try to write": PLAIN, (3, 4), EITHER => attempt_shared::<Stealer>(true, true);
};

const STOLEN: Shows = &["the sleeper came last", "the sleeper came second"];

/// A writer sleeps; the owner releases the lock and takes it again: with stealing it may be faster.
fn thief() {
    let pages = Pages::<Stealer>::keep();
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
