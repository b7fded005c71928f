//! The papers' locks, before and after.

pub(super) mod d_count;
pub(super) mod rename_lock;

use super::*;
use crate::platform::number;
use crate::scenarios::{read, write};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex, mcs::SpinnerQueue};
use turnwise_lineage::osv_mutex::{self, OsvMutex, OwnerAtWake, Spin, SpinAfterPush, SpinPolling, SpinToOne};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};

impl Settles for KernelTicketLock<Loom> {}
impl Settles for BiasedRwLock<Loom> {}
impl Settles for QueuedRwLock<Loom> {}
impl<V: ia64_spin::Policy> Settles for Ia64SpinLock<V, Loom> {}
impl<V: linux_mutex::Policy> Settles for LinuxMutex<V, Loom> {}
impl<V: osv_mutex::Policy> Settles for OsvMutex<V, Loom> {}

impl<V: rwsem_spinlock::Policy> Settles for RwsemSpinlock<V, Loom> {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.has_no_waiters() && self.try_lock()
    }
}

impl<V: rwsem_xadd::Policy> Settles for RwsemXadd<V, Loom> {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.has_no_waiters() && self.try_lock()
    }
}

pub(super) fn kernel_spin(call: &mut Call) -> Body {
    types! { call pages: biased = BiasedRwLock<Loom>, queued = QueuedRwLock<Loom>;
        types! { call lock: ticket = KernelTicketLock<Loom> }
    }
}

pub(super) fn ia64_spin(call: &mut Call) -> Body {
    use ia64_spin::{ExponentialCode, ExponentialKept, ExponentialProse, Plain};
    types! { call lock:
        plain = Ia64SpinLock<Plain, Loom>, code = Ia64SpinLock<ExponentialCode, Loom>,
        kept = Ia64SpinLock<ExponentialKept, Loom>, prose = Ia64SpinLock<ExponentialProse, Loom>,
    }
}

pub(super) fn linux_mutex(call: &mut Call) -> Body {
    use linux_mutex::{Baseline, NoSpin, Patch1, Patch1And2};
    types! { call lock:
        baseline = LinuxMutex<Baseline, Loom>, patch_1 = LinuxMutex<Patch1, Loom>,
        patches_1_and_2 = LinuxMutex<Patch1And2, Loom>, no_spin = LinuxMutex<NoSpin, Loom>;
        scenes! { call(): queue(threads, rounds) }
    }
}

pub(super) fn osv_mutex(call: &mut Call) -> Body {
    types! { call osv:
        plain = osv_mutex::NoSpin, offered_once = Spin<1>, offered_twice = Spin<2>, to_one_once = SpinToOne<1>,
        to_one_twice = SpinToOne<2>, polling = SpinPolling<2>, after_push = SpinAfterPush<2>,
        at_wake = OwnerAtWake<Spin<1>>,
    }
}

fn osv<V: osv_mutex::Policy>(call: &mut Call) -> Body {
    scenes! { call(): offered::<V>(), again::<V>(); lock::<OsvMutex<V, Loom>>(call) }
}

pub(super) fn rwsem_spinlock(call: &mut Call) -> Body {
    use rwsem_spinlock::{Fifo, Stealing};
    types! { call by_spinlock: fifo = Fifo, stealing = Stealing; scenes! { call(): thief() } }
}

fn by_spinlock<V: rwsem_spinlock::Policy>(call: &mut Call) -> Body {
    lowered::<RwsemSpinlock<V, Loom>>(call, RwsemSpinlock::downgrade)
}

pub(super) fn rwsem_xadd(call: &mut Call) -> Body {
    use rwsem_xadd::{FastStealing, Fifo, Stealing};
    types! { call by_xadd: fifo = Fifo, stealing = Stealing, fast_stealing = FastStealing;
        scenes! { call(): stolen() }
    }
}

fn by_xadd<V: rwsem_xadd::Policy>(call: &mut Call) -> Body {
    lowered::<RwsemXadd<V, Loom>>(call, RwsemXadd::downgrade)
}

/// The scenes of a lock with readers and writers.
fn pages<L: RawRwLock + Settles>(call: &mut Call) -> Body {
    scenes! { call():
        mixed::<L>(roles: [role]), behind::<L>(hold: hold, roles: [role]), attempt_shared::<L>(writer, to_write);
        lock::<L>(call)
    }
}

/// The scenes of such a lock whose writers may become readers.
fn lowered<L: RawRwLock + Settles>(call: &mut Call, downgrade: unsafe fn(&L)) -> Body {
    if call.name == "downgraded" { body(move || downgraded(downgrade)) } else { pages::<L>(call) }
}

fn role<L: RawRwLock<Platform = Loom>>(name: &str) -> Role<L> {
    named! { name: read, write }
}

fn hold<L: RawRwLock<Platform = Loom>>(name: &str) -> Hold<L> {
    named! { name:
        reader = (L::read, Pages::leave_reading), writer = (L::lock, Pages::leave_writing),
        written_again = (L::lock, |pages| {
            pages.leave_writing();
            write(pages);
        }),
    }
}

/// One thread writes, or reads; one tries to read, or to write.
fn attempt_shared<L: RawRwLock + Settles>(writer: bool, to_write: bool) {
    let pages = Pages::<L>::keep();
    let other = spawn(move || if writer { write(pages) } else { read(pages) });
    let got = at_once(if to_write { pages.raw.try_lock() } else { pages.raw.try_read() });
    if got && to_write {
        pages.leave_writing();
    } else if got {
        pages.leave_reading();
    }
    other.join();
    pages.is_over();
}

/// A writer becomes a reader by `downgrade` while a reader and a writer wait.
fn downgraded<L: RawRwLock + Settles>(downgrade: unsafe fn(&L)) {
    let leave = |pages: &Pages<L>| {
        pages.write();
        // SAFETY: the first thread has it, to write; released as a reader below.
        unsafe { downgrade(&pages.raw) };
        pages.leave_reading();
    };
    let roles: [Role<L>; 2] = [read, write];
    wait_behind(Pages::owned(), &roles, leave).is_over();
}

/// Every thread takes `rounds` turns in the queue of spinners.
fn queue(threads: u32, rounds: u32) {
    let (queue, data) = (keep(SpinnerQueue::<Loom>::new_in()), keep(Protected::new()));
    together(threads, move || (0..rounds).for_each(|_| queue.take_turn(|| data.add())));
    assert_eq!(data.get(), threads * rounds, "turns");
}

/// One thread acquires and another waits for it; a third tries, perhaps when the lock is on offer.
fn offered<V: osv_mutex::Policy>() {
    let guarded = Guarded::<OsvMutex<V, Loom>>::owned();
    let waits = spawn(move || guarded.round());
    let tries = spawn(move || {
        if at_once(guarded.raw.try_lock()) {
            guarded.leave();
        }
    });
    rest();
    guarded.leave();
    join([waits, tries]);
    assert!(guarded.raw.is_settled(), "something is left when everybody has left");
}

/// The owner acquires the lock again, in both ways, while another thread comes.
fn again<V: osv_mutex::Policy>() {
    let guarded = Guarded::<OsvMutex<V, Loom>>::keep();
    let other = spawn(move || guarded.round());
    guarded.raw.lock();
    guarded.raw.lock();
    assert!(guarded.raw.try_lock(), "its own lock");
    guarded.section.alone();
    // SAFETY: acquired three times.
    unsafe {
        guarded.raw.unlock();
        guarded.raw.unlock();
    }
    guarded.leave();
    other.join();
    guarded.settled(3);
}

/// A writer sleeps; the owner releases the lock and takes it again: with stealing it may be faster.
fn thief() {
    let pages = Pages::<RwsemSpinlock<rwsem_spinlock::Stealing, Loom>>::owned();
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

/// A reader sleeps; as the owner releases the lock, a newcomer may be faster than the grant.
fn stolen() {
    let pages = Pages::<RwsemXadd<rwsem_xadd::FastStealing, Loom>>::owned();
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
    join([thief, reader]);
    pages.is_over();
}
