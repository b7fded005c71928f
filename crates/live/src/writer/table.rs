//! The table of locks: the waits of exited threads, and those that found no room in a thread's block.
//!
//! Records are taken in sequence, so that few pages are touched, and are never freed. An index by hash finds them. All
//! threads add to them.

use super::block::under;
use super::index;
use super::view::View;
use crate::layout::{Block, Entry};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// An entry with a counter of this value is moved to the table.
pub(super) const MANY: u32 = 1 << 24;
/// A record with a counter of this value is no longer changed: a hundred threads may be about to add [`MANY`].
const FULL: u32 = 1 << 31;
/// Fibonacci hashing: the high bits of the product mix all bits of a word.
const FIBONACCI: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes a lock and a call site.
#[inline(always)]
pub(super) fn hash(key: u64, site: u64) -> u64 {
    (key >> 2 ^ site.rotate_left(32)).wrapping_mul(FIBONACCI).rotate_left(32)
}

/// Moves an entry of a block to the table, and frees it; its tag stays. Readers can see that it moves (invariant 3).
#[cold]
pub(super) fn move_entry(block: &Block, entry: &Entry, view: &View) {
    let header = view.header();
    header.moves_begun.fetch_add(1, Relaxed);
    under(&block.moves, || {
        let found = find(entry.key.load(Relaxed), entry.site.load(Relaxed), view);
        match &found {
            Some(Found { lock, .. }) if add(lock, entry) => {}
            Some(full) => full.hide(),
            None => {
                let waits = entry.histogram.iter().map(|count| u64::from(count.load(Relaxed))).sum();
                header.lost_waits.fetch_add(waits, Relaxed);
            }
        }
        clear(entry);
    });
    // ORDERING live.moves: Release; a thread that reads that the move has ended reads its changes.
    header.moves_ended.fetch_add(1, Release);
}

/// A record, and the slot of the index by which it was found, with the slot's value.
struct Found {
    lock: &'static Entry,
    by: Option<(&'static AtomicU32, u32)>,
}

impl Found {
    /// Prevents the record from being found again: the lock's next waits go to another one.
    #[cold]
    fn hide(&self) {
        if let Some((slot, word)) = self.by {
            let _ = slot.compare_exchange(word, index::hidden(word), Relaxed, Relaxed);
        }
    }
}

/// Finds or creates a record; `None`: there is no room, on the disk or in the table.
fn find(key: u64, site: u64, view: &View) -> Option<Found> {
    let hash = hash(key, site);
    let mut made = None;
    for slot in index::slots(hash) {
        // ORDERING live.index: Acquire pairs with the Release below: a thread that sees the place sees its owner.
        let mut found = slot.load(Acquire);
        if found == 0 {
            let (place, lock) = match made {
                Some(made) => made,
                None => view.new_lock()?,
            };
            made = Some((place, lock));
            lock.site.store(site, Relaxed);
            lock.key.store(key, Relaxed);
            let word = index::word(hash, place);
            // ORDERING live.index: Release pairs with the Acquire above, and so does Acquire.
            match slot.compare_exchange(0, word, AcqRel, Acquire) {
                Ok(_) => return Some(Found { lock, by: Some((slot, word)) }),
                Err(other) => found = other,
            }
        }
        let Some(place) = index::place_in(found, hash) else { continue };
        let lock = view.at::<Entry>(place)?;
        if lock.key.load(Relaxed) == key && lock.site.load(Relaxed) == site {
            return Some(Found { lock, by: Some((slot, found)) });
        }
    }
    // Two records of a lock are added by readers.
    made.map(|(_, lock)| Found { lock, by: None })
}

/// Adds an entry to a record; `false`: the record is nearly full.
fn add(lock: &Entry, entry: &Entry) -> bool {
    let raise = |most: &AtomicU64, value: u64| {
        if value > most.load(Relaxed) {
            most.fetch_max(value, Relaxed);
        }
    };
    raise(&lock.rule, entry.rule.load(Relaxed));
    raise(&lock.longest_ns, entry.longest_ns.load(Relaxed));
    lock.wait_ns.fetch_add(entry.wait_ns.load(Relaxed), Relaxed);
    let mut has_room = true;
    for (sum, count) in counters(lock).zip(counters(entry)) {
        let more = count.load(Relaxed);
        if more != 0 {
            has_room &= sum.fetch_add(more, Relaxed) < FULL - more.min(FULL);
        }
    }
    has_room
}

/// Returns the narrow counters of an entry.
fn counters(entry: &Entry) -> impl Iterator<Item = &AtomicU32> {
    [&entry.sleeps, &entry.steals, &entry.handoffs, &entry.gave_up].into_iter().chain(&entry.histogram)
}

fn clear(entry: &Entry) {
    entry.key.store(0, Relaxed);
    for word in [&entry.site, &entry.wait_ns, &entry.longest_ns, &entry.rule] {
        word.store(0, Relaxed);
    }
    counters(entry).for_each(|count| count.store(0, Relaxed));
}
