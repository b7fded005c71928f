//! The spin locks: mutual exclusion (A1), try and timed paths, no thread forgotten, no access after the release (A2).

use super::*;
use turnwise::backoff::{Backoff, ByDistance, Exponential, NoBackoff, Proportional};
use turnwise::spin::mcs::McsNode;
use turnwise::spin::{RawMcsLock, RawQueuedSpinLock, RawSpinLock, RawTicketLock};

const PLAIN: Setup = HASTY;

type Ttas<B = NoBackoff> = RawSpinLock<B, Loom>;
type Ticket<B = NoBackoff> = RawTicketLock<B, Loom>;
type Queued = RawQueuedSpinLock<Loom>;

pub(super) const MODELS: &[Model] = models! { Spin:
    "spin: two threads": PLAIN, (4, 8), ANY => all_lock::<Ttas>(2, 2);
    "spin: three threads": PLAIN, (2, 3), ANY => all_lock::<Ttas>(3, 1);
    "spin: two threads that back off": Setup::PLAIN, (3, 4), ANY => all_lock::<Ttas<Exponential>>(2, 1);
    "spin: two threads on two nodes": Setup::PLAIN, (3, 4), ANY => all_lock::<Ttas<ByDistance>>(2, 1);
    "spin: try": PLAIN, (4, 8), EITHER => attempt_by::<Ttas>(RawLock::try_lock);
    "spin: timed": PLAIN, (3, 6), EITHER => attempt_by::<Ttas>(soon);
    "spin: dropped": PLAIN, (3, 6), DROP => dropped::<Ttas>();
    "ticket: two threads": PLAIN, (4, 8), ANY => all_lock::<Ticket>(2, 2);
    "ticket: three threads": PLAIN, (2, 3), ANY => all_lock::<Ticket>(3, 1);
    "ticket: three threads that back off": Setup::PLAIN, (1, 2), ANY => all_lock::<Ticket<Proportional>>(3, 1);
    "ticket: try": PLAIN, (4, 8), EITHER => attempt_by::<Ticket>(RawLock::try_lock);
    "ticket: timed": PLAIN, (3, 6), EITHER => attempt_by::<Ticket>(soon);
    "ticket: dropped": PLAIN, (3, 6), DROP => dropped::<Ticket>();
    "queued: two threads": PLAIN, (3, 6), ANY => all_lock::<Queued>(2, 2);
    "queued: three threads": PLAIN, (2, 3), ANY => all_lock::<Queued>(3, 1);
    "queued: three threads, one comes twice": PLAIN, (1, 2), ANY => uneven();
    "queued: two in the queue behind an owner": PLAIN, (2, 3), ANY => held::<Queued>(2, 0);
    "queued: two in the queue behind an owner, twice": PLAIN, (1, 2), ANY => queued_up::<Queued>(2, 2, 0);
    "queued: three in the queue behind an owner": PLAIN, (0, 1), ANY => held::<Queued>(3, 0);
    "queued: two threads without slots": NAMELESS, (4, 8), ANY => all_lock::<Queued>(2, 2);
    "queued: two in the queue behind an owner that comes again": PLAIN, (0, 1), ANY => queued_up::<Queued>(2, 2, 1);
    "queued: try": PLAIN, (4, 8), EITHER => attempt_by::<Queued>(RawLock::try_lock);
    "queued: timed": PLAIN, (3, 6), EITHER => attempt_by::<Queued>(soon);
    "queued: dropped": PLAIN, (3, 6), DROP => dropped::<Queued>();
    "mcs: two threads": PLAIN, (3, 6), ANY => mcs(2, 2);
    "mcs: three threads": PLAIN, (2, 3), ANY => mcs(3, 1);
    "mcs: try": PLAIN, (4, 8), EITHER => mcs_try();
    "mcs: dropped": PLAIN, (3, 6), DROP => mcs_dropped();
};

impl<B: Backoff> Settles for Ttas<B> {}
impl<B: Backoff> Settles for Ticket<B> {}
impl Settles for Queued {}

/// The first of three threads comes again: its node is reused while the others may still access it.
fn uneven() {
    let guarded = Guarded::<Queued>::keep();
    let others = [(); 2].map(|()| spawn(move || guarded.round()));
    guarded.round();
    guarded.round();
    join(others);
    guarded.settled(4);
}

/// One thread acquires and rests, one attempts to acquire.
fn attempt_by<R: Settles>(attempt: fn(&R) -> bool) {
    let other = |guarded: &Guarded<R>| {
        guarded.raw.lock();
        rest();
        guarded.leave();
    };
    attempt_beside(other, attempt);
}

fn soon<R: RawTimedLock>(raw: &R) -> bool {
    raw.lock_until(EARLY)
}

/// Passes once through the queue of an MCS lock, with a node of its own that is dropped right after.
fn mcs_section(raw: &RawMcsLock<Loom>, section: &mut dyn FnMut()) {
    let node = keep(McsNode::new_in());
    // SAFETY: the node is in no other line, and its memory stays.
    unsafe { raw.lock(node) };
    section();
    mcs_leave(raw, node);
}

fn mcs_leave(raw: &RawMcsLock<Loom>, node: &'static McsNode<Loom>) {
    // SAFETY: the lock was acquired through the node, which is in no queue after this; the memory stays.
    unsafe {
        raw.unlock(node);
        std::ptr::drop_in_place(std::ptr::from_ref(node).cast_mut());
    }
}

fn mcs(threads: u32, rounds: u32) {
    let (raw, data) = (keep(RawMcsLock::<Loom>::new_in()), keep(Protected::new()));
    together(threads, move || (0..rounds).for_each(|_| mcs_section(raw, &mut || data.add())));
    assert!(!raw.is_locked(), "locked when everybody has left");
    assert_eq!(data.get(), threads * rounds, "critical sections");
}

fn mcs_try() {
    let (raw, data) = (keep(RawMcsLock::<Loom>::new_in()), keep(Protected::new()));
    let other = spawn(move || mcs_section(raw, &mut || data.add()));
    let node = keep(McsNode::new_in());
    // SAFETY: as in `mcs_section`.
    let got = unsafe { raw.try_lock(node) };
    saw(if got { "got it" } else { "did not" });
    if got {
        data.add();
        mcs_leave(raw, node);
    }
    other.join();
    assert!(!raw.is_locked(), "locked when everybody has left");
    assert_eq!(data.get(), 1 + u32::from(got), "critical sections");
}

fn mcs_dropped() {
    drop_after_release(RawMcsLock::<Loom>::new_in(), 2, mcs_section);
}
