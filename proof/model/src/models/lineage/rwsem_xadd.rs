//! The rwsem by exchange and add, in its three versions.

use super::*;
use crate::check::Lock;
use turnwise::platform::Parked;
use turnwise_lineage::rwsem_xadd::{FastStealing, Fifo, Policy, RwsemXadd, Stealing};

impl<V: Policy> Settles for RwsemXadd<V, Loom> {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.has_no_waiters()
    }
}

type Rwsem<V> = RwsemXadd<V, Loom>;

const RESTLESS: Setup = Setup { spurious: Some(Parked::Woken), ..PLAIN };
const KERNEL: Setup = Setup { kernel: true, ..PLAIN };

const fn model(name: &'static str, setup: Setup, preemptions: (usize, usize), shows: Shows, body: fn()) -> Model {
    Model { name, lock: Lock::RwsemXadd, setup, preemptions, shows, body }
}

const UNWOKEN: Shows = &["slept", "woke unwoken"];

pub(super) const MODELS: &[Model] = &[
    model("rwsem-xadd, fifo: a writer and a reader", PLAIN, (3, 4), SLEEP, || mixed::<Rwsem<Fifo>>(1, 1)),
    model("rwsem-xadd, fifo: two writers", PLAIN, (3, 4), SLEEP, || mixed::<Rwsem<Fifo>>(2, 0)),
    model("rwsem-xadd, fifo: a writer and two readers", PLAIN, (1, 2), SLEEP, || mixed::<Rwsem<Fifo>>(1, 2)),
    model("rwsem-xadd, fifo: two writers and a reader", PLAIN, (1, 2), SLEEP, || mixed::<Rwsem<Fifo>>(2, 1)),
    model("rwsem-xadd, fifo: behind a writer", PLAIN, (1, 2), SLEEP, || behind::<Rwsem<Fifo>>(true, 1, 1, 0)),
    model("rwsem-xadd, fifo: behind a reader", PLAIN, (1, 2), SLEEP, || behind::<Rwsem<Fifo>>(false, 1, 1, 0)),
    model("rwsem-xadd, fifo: an unwoken sleeper", RESTLESS, (0, 1), UNWOKEN, || behind::<Rwsem<Fifo>>(true, 1, 1, 0)),
    model("rwsem-xadd, fifo, in a kernel: behind a writer", KERNEL, (1, 2), SLEEP, || {
        behind::<Rwsem<Fifo>>(true, 1, 1, 0);
    }),
    model("rwsem-xadd, fifo: downgrade", PLAIN, (1, 2), SLEEP, downgrade::<Fifo>),
    model("rwsem-xadd, fifo: try to read", PLAIN, (4, 8), EITHER, || attempt_shared::<Rwsem<Fifo>>(true, false)),
    model("rwsem-xadd, fifo: try to write", PLAIN, (4, 8), EITHER, || attempt_shared::<Rwsem<Fifo>>(false, true)),
    model("rwsem-xadd, stealing: two writers", PLAIN, (2, 4), SLEEP, || mixed::<Rwsem<Stealing>>(2, 0)),
    model("rwsem-xadd, stealing: a writer and a reader", PLAIN, (2, 4), SLEEP, || mixed::<Rwsem<Stealing>>(1, 1)),
    model("rwsem-xadd, stealing: behind a writer", PLAIN, (1, 2), SLEEP, || behind::<Rwsem<Stealing>>(true, 1, 1, 0)),
    model("rwsem-xadd, stealing: behind a reader", PLAIN, (0, 1), SLEEP, || behind::<Rwsem<Stealing>>(false, 2, 0, 0)),
    model("rwsem-xadd, stealing: an unwoken sleeper", RESTLESS, (0, 1), UNWOKEN, || {
        behind::<Rwsem<Stealing>>(true, 2, 0, 0);
    }),
    model("rwsem-xadd, stealing: downgrade", PLAIN, (0, 1), SLEEP, downgrade::<Stealing>),
    model("rwsem-xadd, fast stealing: two writers", PLAIN, (3, 4), SLEEP, || mixed::<Rwsem<FastStealing>>(2, 0)),
    model("rwsem-xadd, fast stealing: a writer and a reader", PLAIN, (3, 4), SLEEP, || {
        mixed::<Rwsem<FastStealing>>(1, 1);
    }),
    model("rwsem-xadd, fast stealing: the owner comes again", PLAIN, (2, 3), SLEEP, || {
        behind::<Rwsem<FastStealing>>(true, 0, 1, 1);
    }),
    model("rwsem-xadd, fast stealing: behind a writer", PLAIN, (0, 1), SLEEP, || {
        behind::<Rwsem<FastStealing>>(true, 1, 1, 1);
    }),
    model("rwsem-xadd, fast stealing: behind a reader", PLAIN, (0, 1), SLEEP, || {
        behind::<Rwsem<FastStealing>>(false, 1, 1, 0);
    }),
    model("rwsem-xadd, fast stealing: stolen before the grant", PLAIN, (2, 3), STOLEN, stolen),
    model("rwsem-xadd, fast stealing: downgrade", PLAIN, (0, 1), SLEEP, downgrade::<FastStealing>),
];

const STOLEN: Shows = &["slept", "the thief came second", "the thief came last"];

/// A reader sleeps; as the owner releases the lock, a newcomer may be faster than the grant.
fn stolen() {
    let pages = Pages::<Rwsem<FastStealing>>::keep();
    pages.raw.lock();
    let reader = spawn(move || {
        pages.raw.read();
        saw(if pages.data.get() == 1 { "the thief came last" } else { "the thief came second" });
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
    pages.settled(2);
}

/// A writer becomes a reader while a reader and a writer wait.
fn downgrade<V: Policy>() {
    let pages = Pages::<Rwsem<V>>::keep();
    pages.raw.lock();
    let others = [spawn(move || pages.read()), spawn(move || pages.write())];
    rest();
    pages.data.add();
    // SAFETY: locked above; released as a reader below.
    unsafe { pages.raw.downgrade() };
    pages.leave_reading();
    others.into_iter().for_each(Handle::join);
    pages.settled(2);
}
