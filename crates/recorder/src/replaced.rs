//! Marks records of addresses in a module when another has taken its place: locks, call sites and stacks of the old one
//! are not the new one's, which lie at the same addresses.

use crate::mapping::Mapping;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use turnwise_recording as file;
use turnwise_recording::{
    CHUNK_HEADER, Chunk, ChunkKind, Entry, Episode, LOCKS, Lock, REF_UNIT, Ref, STACK_SLOTS, TALLY_STACK, Tally,
    marked, unmarked,
};

/// The number of the module meant among those that lay at an address, from 1.
type Number<'a> = &'a dyn Fn(u64) -> u64;

struct Marker<'a> {
    mapping: &'a Mapping,
    module: core::ops::Range<u64>,
    number: Number<'a>,
}

/// Marks all addresses in a module that have no mark yet. Its code no longer runs, so no thread uses what is marked: it
/// cannot find a marked entry any more than one of another address.
pub(crate) fn mark(mapping: &Mapping, module: &file::Module, number: Number) {
    let module = module.start.load(Relaxed)..module.end.load(Relaxed);
    let marker = Marker { mapping, module, number };
    marker.locks();
    marker.stacks();
    marker.chunks();
}

impl Marker<'_> {
    /// Returns the mark of an address, including the byte above; `None`: it is in another module, or has a mark.
    fn mark_of(&self, word: u64) -> Option<u64> {
        const ABOVE: u64 = 0xff << 56;
        let (address, mark) = unmarked(word & !ABOVE);
        (mark == 0 && self.module.contains(&address)).then(|| (self.number)(address))
    }

    fn word(&self, word: &AtomicU64) {
        let now = word.load(Relaxed);
        if let Some(number) = self.mark_of(now) {
            word.store(marked(now, number), Relaxed);
        }
    }

    fn locks(&self) {
        let count = u64::from(self.mapping.header().locks.load(Relaxed)).min(LOCKS.count);
        for lock in (0..count as usize).filter_map(|index| self.mapping.find::<Lock>(&LOCKS, index)) {
            if let Some(number) = self.mark_of(lock.address.load(Relaxed))
                && lock.replaced.load(Relaxed) == 0
            {
                lock.replaced.store(number, Relaxed);
            }
        }
    }

    fn stacks(&self) {
        for index in 0..STACK_SLOTS.count as usize {
            let Some(slot) = self.mapping.find::<AtomicU64>(&STACK_SLOTS, index) else { continue };
            // ORDERING recorder.stack: Acquire; a thread that finds a place finds the stack there.
            let place = slot.load(Acquire) as Ref;
            if place == 0 {
                continue;
            }
            // SAFETY: places of published slots hold stacks: their length, and that number of addresses.
            unsafe {
                let words: *const AtomicU64 = self.mapping.at::<AtomicU64>(place);
                for at in 0..(*words).load(Relaxed) as usize {
                    self.word(&*words.add(1 + at));
                }
            }
        }
    }

    /// Visits the entries and the waits.
    fn chunks(&self) {
        let used = self.mapping.header().used.load(Relaxed);
        let mut at = 0;
        while at < used {
            // SAFETY: within the part handed out, which is mapped, at the start of a page; zero bytes are a chunk that
            // is being made, or a page that was skipped.
            let chunk: &Chunk = unsafe { self.mapping.at(((file::CHUNKS + at) / REF_UNIT) as Ref) };
            // ORDERING recorder.records: Acquire; a thread that sees the kind sees the length, and this many records.
            let (kind, count) = (chunk.kind.load(Acquire), chunk.count.load(Acquire) as usize);
            let records = core::ptr::from_ref(chunk).wrapping_byte_add(CHUNK_HEADER as usize);
            // SAFETY: this many records follow the header.
            unsafe {
                if kind == ChunkKind::Entries as u32 {
                    core::slice::from_raw_parts(records.cast(), count).iter().for_each(|entry| self.entry(entry));
                } else if kind == ChunkKind::Episodes as u32 {
                    let waits: &[Episode] = core::slice::from_raw_parts(records.cast(), count);
                    waits.iter().for_each(|wait| self.word(&wait.holder_site));
                }
            }
            at += if kind == 0 { 1 } else { u64::from(chunk.pages.load(Relaxed)).max(1) } * file::PAGE;
        }
    }

    fn entry(&self, entry: &Entry) {
        /// Another lock is there now.
        const ENDED: u64 = 1;
        let [address, site] = [&entry.address, &entry.site].map(|word| word.load(Relaxed));
        self.word(&entry.site);
        if self.mark_of(address).or_else(|| self.mark_of(site)).is_some() {
            entry.address.store(address | ENDED, Relaxed);
        }
        let detail = entry.detail.load(Relaxed);
        if detail != 0 {
            // SAFETY: entries refer to their details, and those to their tallies.
            let mut next = unsafe { self.mapping.at::<file::Detail>(detail) }.tallies.load(Relaxed);
            while next != 0 {
                // SAFETY: tallies refer to the next, 0 after the last.
                let tally: &Tally = unsafe { self.mapping.at(next) };
                if tally.kind.load(Relaxed) != TALLY_STACK {
                    self.word(&tally.key);
                }
                next = tally.next.load(Relaxed);
            }
        }
    }
}
