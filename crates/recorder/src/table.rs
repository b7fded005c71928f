//! A thread's entries: one for each lock and call site, found by a hash of both.

use crate::locks::{self, Kind};
use crate::memory;
use crate::state::{RECENT, Recent, State};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::compiler_fence;
use turnwise_recording::{ChunkKind, Entry};

/// Slots of a new table.
const FIRST_SLOTS: usize = 512;
/// 2^64 divided by the golden ratio: spreads what is close together.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Open addressing. The slots are private memory; the entries lie in the file and never move.
pub(crate) struct Table {
    slots: Cell<*mut *const Entry>,
    /// 64 less the logarithm of the number of slots.
    shift: Cell<u32>,
    used: Cell<usize>,
}

#[inline(always)]
fn hash(address: u64, site: u64) -> u64 {
    (address ^ site.rotate_left(23)).wrapping_mul(SPREAD)
}

impl Table {
    /// Gives a new table its slots.
    pub(crate) fn prepare(&self) -> Option<()> {
        let slots = memory::zeroed(FIRST_SLOTS * size_of::<usize>())?;
        self.slots.set(slots.as_ptr().cast());
        self.shift.set(64 - FIRST_SLOTS.ilog2());
        self.used.set(0);
        Some(())
    }

    fn len(&self) -> usize {
        1 << (64 - self.shift.get())
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> *mut *const Entry {
        // SAFETY: callers stay below the number of slots.
        unsafe { self.slots.get().add(index) }
    }
}

/// The entry of a lock and a site for the short way: if it was used lately, or is the first in its place of the table,
/// and has no more first acquisitions to be measured. Null: it is to be looked up.
#[inline(always)]
pub(crate) fn glance(state: &State, address: u64, site: u64) -> *const Entry {
    let recent = recent(state, address, site);
    if recent.address.get() == address && recent.site.get() == site && recent.epoch.get() == locks::epoch(address) {
        return recent.entry.get();
    }
    second_glance(state, address, site)
}

#[inline(always)]
fn recent(state: &State, address: u64, site: u64) -> &Recent {
    // The upper bits: locks in a row come to lie far apart.
    &state.recent[(hash(address, site) >> (64 - RECENT.ilog2())) as usize]
}

/// The same, of the table.
#[inline(always)]
fn second_glance(state: &State, address: u64, site: u64) -> *const Entry {
    let table = &state.table;
    let index = (hash(address, site) >> table.shift.get()) as usize;
    // SAFETY: a slot of ours, or of a table that we had before; entries stay where they are.
    let Some(entry) = (unsafe { (*table.slot(index)).as_ref() }) else { return ptr::null() };
    let found = entry.address.load(Relaxed) == address
        && entry.site.load(Relaxed) == site
        && entry.epoch.load(Relaxed) == locks::epoch(address)
        && entry.acquisitions.load(Relaxed) >= state.first.get();
    if found { entry } else { ptr::null() }
}

/// The entry of a lock and a site; `None`: there is no room.
pub(crate) fn find(state: &State, kind: Kind, address: u64, site: u64) -> Option<&'static Entry> {
    // SAFETY: null or an entry, which stays where it is.
    match unsafe { glance(state, address, site).as_ref() } {
        Some(found) => Some(found),
        None => look_up(state, kind, address, site),
    }
}

/// Keeps an entry for the next glance, unless all of its next acquisitions are to be measured.
pub(crate) fn remember(state: &State, entry: &'static Entry) {
    let (address, site) = (entry.address.load(Relaxed), entry.site.load(Relaxed));
    if entry.acquisitions.load(Relaxed) < state.first.get() {
        return;
    }
    let recent = recent(state, address, site);
    // A signal handler that comes in between finds no address.
    recent.address.set(0);
    compiler_fence(SeqCst);
    recent.site.set(site);
    recent.epoch.set(entry.epoch.load(Relaxed));
    recent.entry.set(entry);
    compiler_fence(SeqCst);
    recent.address.set(address);
}

fn look_up(state: &State, kind: Kind, address: u64, site: u64) -> Option<&'static Entry> {
    let table = &state.table;
    let epoch = locks::epoch_for_lookup(address);
    let mut index = (hash(address, site) >> table.shift.get()) as usize;
    // SAFETY: as in `glance`.
    while let Some(entry) = unsafe { (*table.slot(index)).as_ref() } {
        if entry.address.load(Relaxed) == address && entry.site.load(Relaxed) == site {
            if entry.epoch.load(Relaxed) == epoch {
                return Some(entry);
            }
            let lock = locks::number(state, kind, address)?;
            if entry.lock.load(Relaxed) == lock {
                entry.epoch.store(epoch, Relaxed);
                return Some(entry);
            }
            // Another lock lies there now. The old one's entry stays for the reader.
            entry.address.store(address | 1, Relaxed);
            let fresh = make(state, lock, epoch, address, site)?;
            // SAFETY: a slot of ours.
            unsafe { *table.slot(index) = fresh };
            return Some(fresh);
        }
        index = (index + 1) & (table.len() - 1);
    }
    let lock = locks::number(state, kind, address)?;
    let fresh = make(state, lock, epoch, address, site)?;
    insert(table, fresh);
    Some(fresh)
}

fn make(state: &State, lock: u32, epoch: u32, address: u64, site: u64) -> Option<&'static Entry> {
    let at = state.entries.take(state, ChunkKind::Entries, size_of::<Entry>())?;
    // SAFETY: room for an entry, aligned to a cache line; zero bytes are one.
    let entry: &'static Entry = unsafe { &*at.cast() };
    entry.address.store(address, Relaxed);
    entry.site.store(site, Relaxed);
    entry.lock.store(lock, Relaxed);
    entry.epoch.store(epoch, Relaxed);
    state.entries.publish();
    crate::modules::note(state.process(), site & ((1 << 56) - 1));
    Some(entry)
}

fn insert(table: &Table, entry: &'static Entry) {
    if table.used.get() * 2 >= table.len() && !grow(table) && table.used.get() + 1 >= table.len() {
        // No memory: the entry is in the file, but will not be found again.
        return;
    }
    table.used.set(table.used.get() + 1);
    put(table, entry);
}

fn put(table: &Table, entry: *const Entry) {
    // SAFETY: entries stay where they are.
    let (address, site) = unsafe { ((*entry).address.load(Relaxed), (*entry).site.load(Relaxed)) };
    let mut index = (hash(address, site) >> table.shift.get()) as usize;
    // SAFETY: slots of ours; one is free.
    unsafe {
        while !(*table.slot(index)).is_null() {
            index = (index + 1) & (table.len() - 1);
        }
        *table.slot(index) = entry;
    }
}

fn grow(table: &Table) -> bool {
    // The old slots stay mapped: a signal handler may have come in the middle of a glance at them.
    let (old, length) = (table.slots.get(), table.len());
    let Some(slots) = memory::keeping_errno(|| memory::zeroed(length * 4 * size_of::<usize>())) else { return false };
    // The longer array first: an old index is within it.
    table.slots.set(slots.as_ptr().cast());
    compiler_fence(SeqCst);
    table.shift.set(table.shift.get() - 2);
    for index in 0..length {
        // SAFETY: a slot of the old table.
        let entry = unsafe { *old.add(index) };
        if !entry.is_null() {
            put(table, entry);
        }
    }
    true
}
