//! The table of locks: what threads that are gone waited for, and what found no room in a thread's block.
//!
//! Records are taken one after the other, so that few pages are touched, and are never freed. An index by hash finds
//! them, which is in the process's own memory: nothing in the file decides where is written. All threads add to them.

use super::view::View;
use crate::layout::{Block, Entry, Lock};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};

/// So many slots are looked at.
const PROBES: usize = 32;
/// Fibonacci hashing: the high bits of the product mix all bits of a word.
const FIBONACCI: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes a lock and a call site.
#[inline(always)]
pub(super) fn hash(key: u64, site: u64) -> u64 {
    (key >> 2 ^ site.rotate_left(32)).wrapping_mul(FIBONACCI).rotate_left(32)
}

/// Moves an entry of a block to the table, and frees it; its tag stays. Readers see that it moves (invariant 3).
#[cold]
pub(super) fn move_entry(block: &Block, entry: &Entry, view: &View) {
    let header = view.header();
    header.moves_begun.fetch_add(1, Relaxed);
    let before = block.moves.load(Relaxed) & !1;
    block.moves.store(before.wrapping_add(1), Relaxed);
    // ORDERING live.moves: Release fence, then the changes, as for live.sequence.
    fence(Release);
    match find(entry.key.load(Relaxed), entry.site.load(Relaxed), view) {
        Some(lock) => add(lock, entry),
        None => {
            let waits = entry.histogram.iter().map(|count| u64::from(count.load(Relaxed))).sum();
            header.lost_waits.fetch_add(waits, Relaxed);
        }
    }
    clear(entry);
    // ORDERING live.moves: Release, as for live.sequence.
    block.moves.store(before.wrapping_add(2), Release);
    // ORDERING live.moves: Release; who reads that the move has ended reads what it changed.
    header.moves_ended.fetch_add(1, Release);
}

/// Finds a record, or makes it; `None`: there is no room, on the disk or in the table.
fn find(key: u64, site: u64, view: &View) -> Option<&'static Lock> {
    let (start, written) = (hash(key, site) as usize, site.wrapping_add(1));
    let mut made = None;
    for slot in (0..PROBES).map(|step| view.slot(start.wrapping_add(step))) {
        // ORDERING live.index: Acquire pairs with the Release below: who sees the place sees whose the record is.
        let mut found = slot.load(Acquire);
        if found == 0 {
            let (place, lock) = match made {
                Some(made) => made,
                None => view.new_lock()?,
            };
            made = Some((place, lock));
            lock.site.store(written, Relaxed);
            lock.key.store(key, Relaxed);
            // ORDERING live.index: Release pairs with the Acquire above, and Acquire does, too.
            match slot.compare_exchange(0, place as u16 + 1, AcqRel, Acquire) {
                Ok(_) => return Some(lock),
                Err(other) => found = other,
            }
        }
        let lock = view.lock(usize::from(found) - 1)?;
        if lock.key.load(Relaxed) == key && lock.site.load(Relaxed) == written {
            return Some(lock);
        }
    }
    // Two records of a lock are added by readers.
    made.map(|(_, lock)| lock)
}

fn add(lock: &Lock, entry: &Entry) {
    let add = |sum: &AtomicU64, more: u64| {
        if more != 0 {
            sum.fetch_add(more, Relaxed);
        }
    };
    let raise = |most: &AtomicU64, value: u64| {
        if value > most.load(Relaxed) {
            most.fetch_max(value, Relaxed);
        }
    };
    raise(&lock.rule, entry.rule.load(Relaxed));
    add(&lock.wait_ns, entry.wait_ns.load(Relaxed));
    raise(&lock.longest_ns, entry.longest_ns.load(Relaxed));
    let sums = [&lock.sleeps, &lock.steals, &lock.handoffs, &lock.gave_up];
    let counts: [&AtomicU32; 4] = [&entry.sleeps, &entry.steals, &entry.handoffs, &entry.gave_up];
    for (sum, count) in sums.into_iter().zip(counts).chain(lock.histogram.iter().zip(&entry.histogram)) {
        add(sum, count.load(Relaxed).into());
    }
}

fn clear(entry: &Entry) {
    entry.key.store(0, Relaxed);
    for word in [&entry.site, &entry.wait_ns, &entry.longest_ns, &entry.rule] {
        word.store(0, Relaxed);
    }
    for count in [&entry.sleeps, &entry.steals, &entry.handoffs, &entry.gave_up].into_iter().chain(&entry.histogram) {
        count.store(0, Relaxed);
    }
}
