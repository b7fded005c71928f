//! What the locks keep per thread: a place in a queue of spinners, and what the thread learnt about waiting.

use super::{Platform, Token, Word};
use crate::osq::Node;
use core::cell::Cell;

/// The storage of one thread. A platform keeps these in static memory, so that no lock path allocates and a
/// pointer to one never dangles.
#[repr(align(128))]
#[cfg_attr(not(feature = "spin"), allow(dead_code, reason = "read by the optimistic spinners"))]
pub struct ThreadSlot<P: Platform> {
    /// Its node in the queue of spinners that it waits in (a thread waits in one place at a time).
    pub(crate) node: Node<P>,
    /// Changes when the thread releases a [`crate::LockRef`] that others sleep for; they sleep here.
    pub(crate) released: P::U32,
    /// Only the thread that owns the slot touches this.
    pub(crate) private: Private,
}

/// Notes that a thread makes for itself. Lost when it exits; never needed for correctness.
#[cfg_attr(not(feature = "spin"), allow(dead_code, reason = "read by the optimistic spinners"))]
pub(crate) struct Private {
    /// The node is in a queue: set while waiting, so that a signal handler that locks does not reuse it.
    pub(crate) node_busy: Cell<bool>,
    /// Its turn on the lock that it last contended for.
    #[cfg(feature = "spin")]
    pub(crate) turn: Cell<Quantum>,
    /// What became of recent spins, by lock.
    #[cfg(feature = "spin")]
    pub(crate) spins: [Cell<SpinRecord>; Private::SPINS],
}

impl Private {
    /// Locks that a thread remembers at a time.
    #[cfg(feature = "spin")]
    pub(crate) const SPINS: usize = 8;

    /// Forgets what the thread before learnt.
    #[cfg(feature = "native")]
    pub(crate) fn reset(&self) {
        self.node_busy.set(false);
        #[cfg(feature = "spin")]
        {
            self.turn.set(Quantum::NEW);
            self.spins.iter().for_each(|s| s.set(SpinRecord::NEW));
        }
    }

    pub(crate) const fn new() -> Self {
        Private {
            node_busy: Cell::new(false),
            #[cfg(feature = "spin")]
            turn: Cell::new(Quantum::NEW),
            #[cfg(feature = "spin")]
            spins: [const { Cell::new(SpinRecord::NEW) }; Self::SPINS],
        }
    }
}

/// A thread's turn on a lock that it contends for.
#[cfg(feature = "spin")]
#[derive(Clone, Copy)]
pub(crate) struct Quantum {
    /// Which lock: its address.
    pub(crate) address: usize,
    pub(crate) since: u64,
    pub(crate) seen: u64,
    pub(crate) ticks: u32,
}

#[cfg(feature = "spin")]
impl Quantum {
    pub(crate) const NEW: Quantum = Quantum { address: 0, since: 0, seen: 0, ticks: 0 };
}

/// What became of one thread's recent spins on one lock.
#[cfg(feature = "spin")]
#[derive(Clone, Copy)]
pub(crate) struct SpinRecord {
    /// Which lock: bits of its address.
    pub(crate) tag: u32,
    /// Spins in a row that used up their budget for nothing.
    pub(crate) failures: u8,
    /// Share of spins that ended with the lock, lately: 255 is all.
    pub(crate) score: u8,
    /// Spins to leave out before the next attempt.
    pub(crate) skip: u8,
    /// Share of waits that were no early success, lately: 255 is all.
    pub(crate) late: u8,
}

#[cfg(feature = "spin")]
impl SpinRecord {
    /// Zero bytes, as all that is in a new slot: the table of slots takes no room in a file.
    pub(crate) const NEW: SpinRecord = SpinRecord { tag: 0, failures: 0, score: 0, skip: 0, late: 0 };
}

// SAFETY: `node` is made of shared words; `private` is touched by the one thread that owns the slot (contract of
// `Platform::me`).
unsafe impl<P: Platform> Sync for ThreadSlot<P> {}

impl<P: Platform> ThreadSlot<P> {
    /// A slot of any platform.
    pub fn new_in() -> Self {
        ThreadSlot { node: Node::new_in(), released: P::U32::new(0), private: Private::new() }
    }
}

/// The calling thread, as a platform knows it.
pub struct Me<P: Platform> {
    /// Its token.
    pub token: Token,
    /// Its slot.
    pub slot: &'static ThreadSlot<P>,
}

impl<P: Platform> Clone for Me<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform> Copy for Me<P> {}
