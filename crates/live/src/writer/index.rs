//! Finds records of the table by lock and call site. It is in the process's own memory: nothing in the file determines
//! where writes go.
//!
//! It has parts: the first is a page, and each other is as long as all before it; a record is in the part that its
//! place belongs to. So at most half the slots of a part are taken, few pages are touched while there are few records,
//! and no entry ever moves. A search for a record goes from the first part to the newest.

use crate::layout::{LOCKS, PAGE};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// The number of slots of the first part.
const FIRST: usize = PAGE / size_of::<AtomicU32>();
/// The number of parts.
pub(super) const PARTS: usize = (2 * LOCKS / FIRST).ilog2() as usize + 1;
/// The number of slots that are probed in a part.
const PROBES: usize = 32;
/// The low bits of a slot are 1 plus a record's place; the others are the record's tag.
const PLACE_BITS: u32 = 16;

const _: () = assert!(2 * LOCKS == FIRST << (PARTS - 1) && PROBES < FIRST && LOCKS < 1 << PLACE_BITS);

#[repr(C, align(4096))]
struct Slots([AtomicU32; 2 * LOCKS]);

/// Results of [`word`]; 0: empty.
static SLOTS: Slots = Slots([const { AtomicU32::new(0) }; 2 * LOCKS]);

/// Returns the slots of a part.
fn part(number: usize) -> &'static [AtomicU32] {
    let end = FIRST << number;
    &SLOTS.0[if number == 0 { 0 } else { end / 2 }..end]
}

/// Returns the part that a record belongs to; [`PARTS`] for a place after the last one.
pub(super) fn part_of(place: usize) -> usize {
    (2 * place / FIRST).checked_ilog2().map_or(0, |power| power as usize + 1)
}

/// Returns the word for a record. Two records rarely have the same tag, so distant memory is rarely read for nothing.
pub(super) fn word(hash: u64, place: usize) -> u32 {
    (hash as u32) >> PLACE_BITS << PLACE_BITS | (place as u32 + 1)
}

/// Returns the place of a record that may be the one with this hash, by the word for it.
pub(super) fn place_in(word: u32, hash: u64) -> Option<usize> {
    let place = (word & ((1 << PLACE_BITS) - 1)) as usize;
    ((word ^ hash as u32) >> PLACE_BITS == 0).then(|| place.checked_sub(1)).flatten()
}

/// Returns the word for a record that must no longer be found: no search for its lock uses another tag.
pub(super) fn hidden(word: u32) -> u32 {
    word ^ 1 << PLACE_BITS
}

/// Returns the slots of a part where a lock and site of this hash may be.
pub(super) fn slots(number: usize, hash: u64) -> impl Iterator<Item = &'static AtomicU32> {
    let slots = part(number);
    // Their number is a power of two.
    (0..PROBES).map(move |step| &slots[(hash as usize).wrapping_add(step) & (slots.len() - 1)])
}

/// Returns the memory of a part, if there is one of this number.
pub(super) fn memory(number: usize) -> Option<&'static [AtomicU32]> {
    (number < PARTS).then(|| part(number))
}

/// Empties the index, in a forked child of a process that had `records` records.
pub(super) fn clear(records: usize) {
    for number in 0..=part_of(records).min(PARTS - 1) {
        part(number).iter().filter(|slot| slot.load(Relaxed) != 0).for_each(|slot| slot.store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_twice_as_many_slots_as_records() {
        let mut records = [0; PARTS];
        (0..LOCKS).for_each(|place| records[part_of(place)] += 1);
        for (number, records) in records.into_iter().enumerate() {
            assert_eq!(part(number).len(), 2 * records, "part {number}");
        }
        assert_eq!(part_of(LOCKS), PARTS);
        assert_eq!((0..PARTS).map(|number| part(number).len()).sum::<usize>(), SLOTS.0.len());
    }

    #[test]
    fn a_record_is_found_by_its_hash_until_it_is_hidden() {
        for (hash, other) in [(0, 1 << 16), (u64::MAX, 0), (0x1234_5678, 0x1235_5678)] {
            for place in [0, LOCKS - 1] {
                let word = word(hash, place);
                assert_eq!((place_in(word, hash), place_in(word, other)), (Some(place), None));
                assert_eq!(place_in(hidden(word), hash), None);
            }
        }
        assert_eq!(place_in(0, 0), None);
    }

    #[test]
    fn slots_are_those_of_the_part_whatever_the_hash() {
        for hash in [0, 1, FIRST as u64 - 1, u64::MAX] {
            for number in 0..PARTS {
                let of_part = part(number).as_ptr_range();
                assert_eq!(
                    slots(number, hash).filter(|slot| of_part.contains(&core::ptr::from_ref(*slot))).count(),
                    PROBES
                );
            }
        }
    }
}
