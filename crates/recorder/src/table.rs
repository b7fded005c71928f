//! A thread's entries: one for each lock and call site, found by a hash of both.

use crate::locks::{self, Kind};
use crate::memory;
use crate::state::State;
use core::cell::Cell;
use core::hint::cold_path;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{ChunkKind, Entry};

/// Slots of a new table.
const FIRST_SLOTS: usize = 512;
/// 2^64 divided by the golden ratio: spreads what is close together.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// [`Entry::epoch`]: with this bit, the entry's next acquisition is to be measured. No epoch has it.
const FRESH: u32 = 1;

/// Open addressing: an entry's places are its home, by the hash, and those whose numbers are it and 1, 2, 3 ... by
/// exclusive or: the nearest are on one cache line. The slots are private memory; the entries lie in the file and never
/// move.
pub(crate) struct Table {
    slots: Cell<Slots>,
    used: Cell<usize>,
}

/// Where slots lie, and in the lower bits 64 less the logarithm of their number: one word, so that a signal handler
/// that makes the table longer leaves whoever it interrupted with the old slots, which stay mapped.
#[derive(Clone, Copy)]
struct Slots(u64);

impl Slots {
    const BITS: u64 = 63;

    fn new(slots: usize) -> Option<Slots> {
        let memory = memory::keeping_errno(|| memory::zeroed(slots * size_of::<usize>()))?;
        Some(Slots(memory.as_ptr().expose_provenance() as u64 | u64::from(64 - slots.ilog2())))
    }

    fn len(self) -> usize {
        1 << (64 - (self.0 & Self::BITS))
    }

    /// The first place of an entry.
    #[inline(always)]
    fn home(self, address: u64, site: u64) -> usize {
        (hash(address, site) >> (self.0 & Self::BITS)) as usize
    }

    #[inline(always)]
    fn slot(self, index: usize) -> *mut *const Entry {
        let slots: *mut *const Entry = ptr::with_exposed_provenance_mut((self.0 & !Self::BITS) as usize);
        slots.wrapping_add(index)
    }
}

#[inline(always)]
fn hash(address: u64, site: u64) -> u64 {
    (address ^ site.rotate_left(23)).wrapping_mul(SPREAD)
}

impl Table {
    /// Gives a new table its slots.
    pub(crate) fn prepare(&self) -> Option<()> {
        self.slots.set(Slots::new(FIRST_SLOTS)?);
        self.used.set(0);
        Some(())
    }

    #[inline(always)]
    fn slots(&self) -> Slots {
        self.slots.get()
    }
}

/// The entry of a lock and a site for the short way: if it lies in one of its first two places, and has no more first
/// acquisitions to be measured.
#[inline(always)]
pub(crate) fn glance(state: &State, address: u64, site: u64) -> Option<&'static Entry> {
    look(state.table.slots(), address, site, 2)
}

/// The same, wherever it lies.
pub(crate) fn seek(state: &State, address: u64, site: u64) -> Option<&'static Entry> {
    let slots = state.table.slots();
    look(slots, address, site, slots.len())
}

#[inline(always)]
fn look(slots: Slots, address: u64, site: u64, places: usize) -> Option<&'static Entry> {
    let home = slots.home(address, site);
    for place in 0..places {
        // SAFETY: a slot of ours, or of a table that we had before; entries stay where they are.
        let entry = unsafe { (*slots.slot(home ^ place)).as_ref() }?;
        if entry.address.load(Relaxed) == address && entry.site.load(Relaxed) == site {
            return (entry.epoch.load(Relaxed) == locks::epoch(address)).then_some(entry);
        }
        cold_path();
    }
    None
}

/// The entry of a lock and a site; `None`: there is no room.
pub(crate) fn find(state: &State, kind: Kind, address: u64, site: u64) -> Option<&'static Entry> {
    let slots = state.table.slots();
    let epoch = locks::epoch_for_lookup(address);
    let home = slots.home(address, site);
    for place in 0..slots.len() {
        let slot = slots.slot(home ^ place);
        // SAFETY: a slot of ours; entries stay where they are.
        let Some(entry) = (unsafe { (*slot).as_ref() }) else { break };
        if entry.address.load(Relaxed) != address || entry.site.load(Relaxed) != site {
            continue;
        }
        if entry.epoch.load(Relaxed) & !FRESH == epoch {
            return Some(entry);
        }
        let lock = locks::number(state, kind, address)?;
        if entry.lock.load(Relaxed) == lock {
            entry.epoch.store(epoch | entry.epoch.load(Relaxed) & FRESH, Relaxed);
            return Some(entry);
        }
        // Another lock lies there now. The old one's entry stays for the reader.
        entry.address.store(address | 1, Relaxed);
        let fresh = make(state, lock, epoch, address, site)?;
        // SAFETY: a slot of ours.
        unsafe { *slot = fresh };
        return Some(fresh);
    }
    let lock = locks::number(state, kind, address)?;
    let fresh = make(state, lock, epoch, address, site)?;
    insert(&state.table, fresh);
    Some(fresh)
}

/// An acquisition was measured: shows the entry to glances if it was the last of the first.
pub(crate) fn show(state: &State, entry: &Entry) {
    if entry.acquisitions.load(Relaxed) >= state.first.get() {
        entry.epoch.store(entry.epoch.load(Relaxed) & !FRESH, Relaxed);
    }
}

fn make(state: &State, lock: u32, epoch: u32, address: u64, site: u64) -> Option<&'static Entry> {
    let at = state.entries.take(state, ChunkKind::Entries, size_of::<Entry>())?;
    // SAFETY: room for an entry, aligned to a cache line; zero bytes are one.
    let entry: &'static Entry = unsafe { &*at.cast() };
    entry.address.store(address, Relaxed);
    entry.site.store(site, Relaxed);
    entry.lock.store(lock, Relaxed);
    entry.epoch.store(epoch | FRESH, Relaxed);
    state.entries.publish();
    crate::modules::note(state.process(), site & ((1 << 56) - 1));
    Some(entry)
}

fn insert(table: &Table, entry: &'static Entry) {
    let length = table.slots().len();
    if table.used.get() * 2 >= length && !grow(table) && table.used.get() + 1 >= length {
        // No memory: the entry is in the file, but will not be found again.
        return;
    }
    table.used.set(table.used.get() + 1);
    put(table.slots(), entry);
}

fn put(slots: Slots, entry: *const Entry) {
    // SAFETY: entries stay where they are.
    let (address, site) = unsafe { ((*entry).address.load(Relaxed), (*entry).site.load(Relaxed)) };
    let home = slots.home(address, site);
    // SAFETY: slots of ours.
    let free = (0..slots.len()).map(|place| slots.slot(home ^ place)).find(|slot| unsafe { (**slot).is_null() });
    if let Some(slot) = free {
        // SAFETY: as above.
        unsafe { *slot = entry };
    }
}

fn grow(table: &Table) -> bool {
    let old = table.slots();
    let Some(longer) = Slots::new(old.len() * 4) else { return false };
    for index in 0..old.len() {
        // SAFETY: a slot of the old table.
        let entry = unsafe { *old.slot(index) };
        if !entry.is_null() {
            put(longer, entry);
        }
    }
    table.slots.set(longer);
    true
}
