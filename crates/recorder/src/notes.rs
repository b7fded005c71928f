//! What a thread remembers of its holds: the counts that are due, and the orders that it noted.

use crate::detail::HoldClass;
use crate::held::{Contexts, HELD, HeldLocks};
use crate::mapping::SPREAD;
use crate::waits::Waited;
use crate::writer::{Cursor, Writer};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{ChunkKind, Edge, Entry, Episode, LAST_EDGE};

/// The number of orders that a thread remembers.
const NOTED: usize = 8192;
/// The number of edges that one thread may write: 256 pages of them.
const EDGES: u32 = (256 * turnwise_recording::PAGE / size_of::<Edge>() as u64) as u32;

/// The facts about a hold.
#[derive(Clone, Copy)]
pub(crate) struct HoldInfo {
    /// The acquisitions that the hold stands for, if it is measured.
    pub(crate) measured: Option<HoldClass>,
    pub(crate) episode: Option<&'static Episode>,
    /// The condition variable whose wait ended with this acquisition; 0: none.
    pub(crate) woken_by: u64,
    /// The wait before it, if that is still to be counted: it was short, and is counted after the release, so that
    /// waiters need not wait for that.
    pub(crate) wait: Option<Waited>,
}

impl HoldInfo {
    /// The release is to be seen, but there is nothing to record about the hold.
    pub(crate) const NOTHING: HoldInfo = HoldInfo { measured: None, episode: None, woken_by: 0, wait: None };
}

/// The counts due after the release of a lock that the thread holds.
pub(crate) struct Pending {
    /// Ticks at the acquisition.
    pub(crate) since: Cell<u64>,
    pub(crate) info: Cell<HoldInfo>,
}

/// What a thread remembers of its holds besides the locks.
pub(crate) struct HoldNotes {
    /// For the held locks, from the first.
    pub(crate) pending: [Pending; HELD],
    pub(crate) contexts: Contexts,
    /// The number of edges written.
    written: Cell<u32>,
    /// What has been written: pairs of locks of which the thread took the second under the first alone, and contexts of
    /// more. Atomics for the same reason as [`Contexts`].
    noted: [AtomicU64; NOTED],
    edges: Cursor,
    /// The number of misuses noted.
    pub(crate) misused: Cell<u32>,
    pub(crate) misuses: Cursor,
}

impl HoldNotes {
    /// Forgets the notes of the previous thread.
    pub(crate) fn begin(&self) {
        self.written.set(0);
        self.misused.set(0);
        self.noted.iter().for_each(|known| known.store(0, Relaxed));
        self.contexts.clear();
    }

    /// Announces a lock as [`HeldLocks::announce`] does, for a thread that may have noted this order some time ago.
    pub(crate) fn announce(&self, locks: &HeldLocks, entry: &Entry, address: u64, ordered: bool) -> bool {
        if locks.depth() >= HELD {
            return false;
        }
        if ordered && locks.depth() != 0 {
            let context = locks.context(locks.depth(), entry);
            let others = locks.all().iter().filter(|held| held.address() != address);
            if self.has_noted(context)
                || self.is_no_news(others.map(|held| held.entry.load(Relaxed).cast_const()), entry)
            {
                self.contexts.remember(context);
            }
        }
        locks.announce(&self.contexts, entry, address, ordered)
    }

    /// Returns the slot of a key, which is not 0.
    fn slot(&self, key: u64) -> &AtomicU64 {
        &self.noted[(key.wrapping_mul(SPREAD) >> 32) as usize % NOTED]
    }

    pub(crate) fn has_noted(&self, key: u64) -> bool {
        self.slot(key).load(Relaxed) == key
    }

    pub(crate) fn remember(&self, key: u64) {
        self.slot(key).store(key, Relaxed);
    }

    /// Returns whether the thread took a lock under each of these alone before: then it matters no more that it does so
    /// under all of them.
    fn is_no_news(&self, mut held: impl Iterator<Item = *const Entry>, entry: *const Entry) -> bool {
        held.all(|held| self.has_noted(pair(held, entry)))
    }

    /// Records that the thread took a lock under others, once for each context (more often if the table is too small).
    /// The acquired lock may be among them. `None` instead of a lock: it is not known, and so it is not known either
    /// who would be kept away; nothing is recorded then.
    pub(crate) fn note_order(
        &self,
        writer: &Writer,
        held: impl Iterator<Item = Option<&'static Entry>> + Clone,
        entry: &Entry,
        context: u64,
    ) {
        let lock = entry.lock.load(Relaxed);
        let others = held.clone().flatten().filter(|held| held.lock.load(Relaxed) != lock);
        let number = held.clone().count() as u32;
        let is_known = self.has_noted(context) || self.is_no_news(others.map(ptr::from_ref), entry);
        if is_known || held.clone().any(|held| held.is_none()) || self.written.get() + number > EDGES {
            return;
        }
        let acquisition = self.written.get() + 1;
        for (place, held) in (1..).zip(held.clone().flatten()) {
            let Some(edge) = self.edges.take::<Edge>(writer, ChunkKind::Edges) else { return };
            edge.held.store(writer.mapping().place_of(held), Relaxed);
            edge.acquired.store(writer.mapping().place_of(entry), Relaxed);
            edge.thread.store(writer.index(), Relaxed);
            edge.acquisition.store(acquisition | if place == number { LAST_EDGE } else { 0 }, Relaxed);
            self.edges.publish();
        }
        self.written.set(self.written.get() + number);
        let key = match held.flatten().next() {
            Some(only) if number == 1 => pair(only, entry),
            _ => context,
        };
        self.remember(key);
    }
}

/// Returns the key of a lock that was taken under another alone. Entries are cache lines, so 32 bits of their addresses
/// distinguish those within 256 GB.
fn pair(first: *const Entry, second: *const Entry) -> u64 {
    let [first, second] = [first, second].map(|entry| (entry.addr() / size_of::<Entry>()) as u32);
    u64::from(first) << 32 | u64::from(second)
}
