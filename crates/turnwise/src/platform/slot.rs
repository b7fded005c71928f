//! Per-thread storage of the locks: a place in a queue of spinners, and notes about the thread's waits.

use super::{Platform, Token};
use crate::osq::Node;
use crate::wait::Reserved;
use core::cell::Cell;

/// The storage of one thread. A platform keeps these in static memory, so that no lock path allocates and a
/// pointer to one never dangles.
///
/// ```
/// use turnwise::platform::{Bare, ThreadSlot};
///
/// // A platform has one for each thread.
/// static SLOTS: [ThreadSlot<Bare>; 4] = [const { ThreadSlot::const_new_in() }; 4];
/// assert_eq!(SLOTS.len(), 4);
/// ```
#[repr(align(128))]
#[cfg_attr(not(feature = "spin"), allow(dead_code, reason = "read by the optimistic spinners"))]
pub struct ThreadSlot<P: Platform> {
    /// The thread's node in the queue of spinners that it waits in (it waits in one place at a time).
    pub(crate) node: Node<P>,
    /// A count of the thread's releases of [`crate::LockRef`]s that others sleep for; they sleep here.
    pub(crate) released: P::U32,
    /// Notes that only the thread that owns the slot touches.
    pub(crate) private: Private,
}

/// Notes that a thread makes for itself. They are lost when it exits, and never needed for correctness.
#[cfg_attr(not(feature = "spin"), allow(dead_code, reason = "read by the optimistic spinners"))]
pub(crate) struct Private {
    /// Whether the node is in a queue: set while waiting, so that a signal handler that locks does not reuse it.
    pub(crate) node_busy: Cell<bool>,
    /// The lock that it last found reserved for another.
    pub(crate) reserved: Cell<Reserved>,
    /// The current wait of the thread, if the platform records that; [`Waited::NOWHERE`] if there is none.
    #[cfg_attr(not(feature = "native"), allow(dead_code, reason = "for platforms whose threads may leave by a jump"))]
    pub(crate) waited: Cell<Waited>,
    /// The thread's quantum on its CPU, with the lock that it last contended for.
    #[cfg(feature = "spin")]
    pub(crate) yield_interval: Cell<YieldInterval>,
    /// How often it has met other readers, as [`crate::big_reader`] counts that.
    pub(crate) meetings: Cell<u32>,
}

impl Private {
    /// Clears the notes of the slot's previous thread.
    #[cfg(feature = "native")]
    pub(crate) fn reset(&self) {
        self.node_busy.set(false);
        self.reserved.set(Reserved::NONE);
        self.waited.set(Waited::NOWHERE);
        #[cfg(feature = "spin")]
        self.yield_interval.set(YieldInterval::NEW);
        self.meetings.set(0);
    }

    pub(crate) const fn new() -> Self {
        Private {
            node_busy: Cell::new(false),
            reserved: Cell::new(Reserved::NONE),
            waited: Cell::new(Waited::NOWHERE),
            #[cfg(feature = "spin")]
            yield_interval: Cell::new(YieldInterval::NEW),
            meetings: Cell::new(0),
        }
    }
}

/// A wait of a thread.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "native"), allow(dead_code, reason = "for platforms whose threads may leave by a jump"))]
pub(crate) struct Waited {
    /// Its position on the stack, or 0 for none.
    pub(crate) frame: usize,
    /// The address of the lock.
    pub(crate) lock: usize,
}

impl Waited {
    pub(crate) const NOWHERE: Waited = Waited { frame: 0, lock: 0 };
}

/// A thread's quantum on its CPU while it contends for a lock.
#[cfg(feature = "spin")]
#[derive(Clone, Copy)]
pub(crate) struct YieldInterval {
    /// The address of the lock.
    pub(crate) address: usize,
    pub(crate) since: u64,
    pub(crate) seen: u64,
}

#[cfg(feature = "spin")]
impl YieldInterval {
    pub(crate) const NEW: YieldInterval = YieldInterval { address: 0, since: 0, seen: 0 };
}

// SAFETY: `node` is made of shared words; `private` is touched by the one thread that owns the slot (contract of
// `Platform::me`).
unsafe impl<P: Platform> Sync for ThreadSlot<P> {}

raw_constructors!(ThreadSlot, "a slot", { node: [Node<P>], released: U32, private: (Private::new()), });

impl<P: Platform> ThreadSlot<P> {
    /// Records that the node is no longer in a queue, unless it is gone: then it must not join one again.
    #[cfg_attr(not(feature = "spin"), allow(dead_code, reason = "called by the spinners"))]
    pub(crate) fn node_is_back(&self) {
        self.private.node_busy.set(self.node.is_gone());
    }
}

// The notes belong to their thread alone.
shows!([P: Platform] ThreadSlot<P>, |slot| node: slot.node);

/// The calling thread's token and slot.
///
/// ```
/// use turnwise::platform::{DefaultPlatform, Me, Platform};
///
/// let me: Option<Me<DefaultPlatform>> = DefaultPlatform::me();
/// assert!(me.is_none_or(|me| std::ptr::eq(me.slot, DefaultPlatform::slot(me.token))));
/// ```
#[expect(clippy::exhaustive_structs, reason = "a platform makes it")]
pub struct Me<P: Platform> {
    /// The thread's token.
    pub token: Token,
    /// The thread's slot.
    pub slot: &'static ThreadSlot<P>,
}

impl<P: Platform> Clone for Me<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform> Copy for Me<P> {}

shows!([P: Platform] Me<P>, |me| token: me.token, slot: me.slot);
