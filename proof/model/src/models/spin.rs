//! The spin locks: mutual exclusion (A1), try and timed paths, no thread forgotten, no access after the release (A2).

use super::*;
use turnwise::backoff::{Backoff, ByDistance, Exponential, NoBackoff, Proportional};
use turnwise::spin::mcs::McsNode;
use turnwise::spin::{RawMcsLock, RawQueuedSpinLock, RawSpinLock, RawTicketLock};

type Ttas<B = NoBackoff> = RawSpinLock<B, Loom>;
type Ticket<B = NoBackoff> = RawTicketLock<B, Loom>;
type Queued = RawQueuedSpinLock<Loom>;

pub(super) fn scene(call: &mut Call) -> Body {
    types! { call spins:
        ttas = Ttas, ttas_exponential = Ttas<Exponential>, ttas_by_distance = Ttas<ByDistance>,
        ticket = Ticket, ticket_proportional = Ticket<Proportional>, queued = Queued;
        scenes! { call(): uneven(), mcs(threads, rounds), mcs_try(), mcs_dropped() }
    }
}

fn spins<L: RawTimedLock + Settles>(call: &mut Call) -> Body {
    scenes! { call(): attempt_by::<L>(attempt: attempt_of); lock::<L>(call) }
}

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

fn attempt_by<R: Settles>(attempt: fn(&R) -> bool) {
    attempt_beside_rest(attempt, Guarded::leave);
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
    let got = at_once(unsafe { raw.try_lock(node) });
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
