//! A thread's entries: one for each lock and call site, found by a hash of both.

use crate::locks;
use crate::mapping::SPREAD;
use crate::writer::Writer;
use crate::{filter, memory, modules};
use core::cell::Cell;
use core::hint::cold_path;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{ChunkKind, Class, Entry};

/// The number of slots of a new table.
const FIRST_SLOTS: usize = 512;
/// The bits of a site that are its address.
const ADDRESS: u64 = (1 << 56) - 1;
/// [`Entry::epoch`]: with this bit, the entry's next acquisition is to be measured. No epoch has it.
const FRESH: u32 = 1;

/// Open addressing: an entry's places are its home, given by the hash, and those whose numbers are the home's XOR 1, 2,
/// 3 ...: the nearest are on one cache line. The slots are private memory; the entries lie in the file and never move.
#[repr(C)]
pub(crate) struct Table {
    slots: Cell<Slots>,
    used: Cell<usize>,
}

/// The address of the slots, and in the lower bits 64 minus the logarithm of their number: one word, so that a signal
/// handler that enlarges the table leaves the code that it interrupted with the old slots, which stay mapped.
#[derive(Clone, Copy)]
struct Slots(u64);

impl Slots {
    const BITS: u64 = 63;

    fn new(slots: usize) -> Option<Slots> {
        if !filter::allows_calls() {
            return None;
        }
        let memory = memory::keeping_errno(|| memory::zeroed(slots * size_of::<usize>()))?;
        Some(Slots(memory.as_ptr().expose_provenance() as u64 | u64::from(64 - slots.ilog2())))
    }

    fn len(self) -> usize {
        1 << (64 - (self.0 & Self::BITS))
    }

    /// Returns the first place of an entry.
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

    /// Returns how many entries it has.
    pub(crate) fn entries(&self) -> usize {
        self.used.get()
    }

    /// Returns the content of the first place of a lock and a site: null, their entry, or another.
    #[inline(always)]
    pub(crate) fn first(&self, address: u64, site: u64) -> *const Entry {
        let slots = self.slots();
        // SAFETY: a slot of ours.
        unsafe { *slots.slot(slots.home(address, site)) }
    }

    /// Prefetches what [`Table::first`] reads into the nearest cache.
    #[inline(always)]
    pub(crate) fn fetch_first(&self, address: u64, site: u64) {
        let slots = self.slots();
        memory::fetch(slots.slot(slots.home(address, site)));
    }

    #[inline(always)]
    fn slots(&self) -> Slots {
        self.slots.get()
    }

    /// Returns the entry of a lock and a site for the fast path: if it is in one of its first two places, and has no
    /// more first acquisitions to be measured.
    #[inline(always)]
    pub(crate) fn fast_look_up(&self, address: u64, site: u64) -> Option<&'static Entry> {
        look(self.slots(), address, site, 2)
    }

    /// Returns the entry that `fast_look_up` would return if it searched all places.
    pub(crate) fn full_look_up(&self, address: u64, site: u64) -> Option<&'static Entry> {
        look(self.slots(), address, site, self.slots().len())
    }

    /// Returns the entry of a lock and a site, created if necessary; `None`: there is no room.
    pub(crate) fn find(&self, writer: &Writer, class: Class, address: u64, site: u64) -> Option<&'static Entry> {
        let slots = self.slots();
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
            modules::note_again(writer.mapping(), site & ADDRESS);
            let lock = locks::number(writer.mapping(), class, address)?;
            let is_marked = entry.address.load(Relaxed) != address || entry.site.load(Relaxed) != site;
            if entry.lock.load(Relaxed) == lock && !is_marked {
                entry.epoch.store(epoch | entry.epoch.load(Relaxed) & FRESH, Relaxed);
                return Some(entry);
            }
            // Another lock or call site is now at this address. The old one's entry stays for the reader.
            entry.address.store(address | 1, Relaxed);
            let fresh = make(writer, lock, epoch, address, site)?;
            // SAFETY: a slot of ours.
            unsafe { *slot = fresh };
            return Some(fresh);
        }
        let lock = locks::number(writer.mapping(), class, address)?;
        let fresh = make(writer, lock, epoch, address, site)?;
        self.insert(fresh);
        Some(fresh)
    }

    fn insert(&self, entry: &'static Entry) {
        let length = self.slots().len();
        if self.used.get() * 2 >= length && !self.grow() && self.used.get() + 1 >= length {
            // No memory: the entry is in the file, but will not be found again.
            return;
        }
        self.used.set(self.used.get() + 1);
        put(self.slots(), entry);
    }

    fn grow(&self) -> bool {
        let old = self.slots();
        let Some(longer) = Slots::new(old.len() * 4) else { return false };
        for index in 0..old.len() {
            // SAFETY: a slot of the old table.
            let entry = unsafe { *old.slot(index) };
            if !entry.is_null() {
                put(longer, entry);
            }
        }
        self.slots.set(longer);
        true
    }
}

/// Makes an entry visible to glances: its first acquisitions are measured.
pub(crate) fn show(entry: &Entry) {
    entry.epoch.store(entry.epoch.load(Relaxed) & !FRESH, Relaxed);
}

/// Returns whether an entry is that of a lock and a site, and the lock is still there.
#[inline(always)]
pub(crate) fn is_of(entry: &Entry, address: u64, site: u64) -> bool {
    entry.address.load(Relaxed) == address
        && entry.site.load(Relaxed) == site
        && entry.epoch.load(Relaxed) == locks::epoch(address)
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

fn make(writer: &Writer, lock: u32, epoch: u32, address: u64, site: u64) -> Option<&'static Entry> {
    let entry = writer.entries.take::<Entry>(writer, ChunkKind::Entries)?;
    entry.address.store(address, Relaxed);
    entry.site.store(site, Relaxed);
    entry.lock.store(lock, Relaxed);
    entry.epoch.store(epoch | FRESH, Relaxed);
    writer.entries.publish();
    modules::note(writer.mapping(), site & ADDRESS);
    Some(entry)
}

fn put(slots: Slots, entry: *const Entry) {
    // SAFETY: entries stay where they are.
    let (address, site) = unsafe { ((*entry).address.load(Relaxed), (*entry).site.load(Relaxed)) };
    let home = slots.home(address, site);
    // SAFETY: slots of ours.
    let free = (0..slots.len()).map(|place| slots.slot(home ^ place)).find(|slot| unsafe { (**slot).is_null() });
    if let Some(slot) = free {
        // SAFETY: the slot is one of ours.
        unsafe { *slot = entry };
    }
}
