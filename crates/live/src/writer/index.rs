//! Finds records of the table by lock and call site. It is in the process's own memory: nothing in the file determines
//! where writes go. At most half of its slots are taken, and no entry ever moves.

use crate::layout::LOCKS;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// The number of slots that are probed: at half load no run of taken ones is as long.
const PROBES: usize = 128;
/// The low bits of a slot are 1 plus a record's place; the others are the record's tag.
const PLACE_BITS: u32 = 16;

const _: () = assert!(LOCKS.is_power_of_two() && LOCKS < 1 << PLACE_BITS);

#[repr(C, align(4096))]
struct Slots([AtomicU32; 2 * LOCKS]);

/// Results of [`word`]; 0: empty.
static SLOTS: Slots = Slots([const { AtomicU32::new(0) }; 2 * LOCKS]);

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

/// Returns the slots where a lock and site of this hash may be.
pub(super) fn slots(hash: u64) -> impl Iterator<Item = &'static AtomicU32> {
    (0..PROBES).map(move |step| &SLOTS.0[(hash as usize).wrapping_add(step) % SLOTS.0.len()])
}

/// Returns the index's memory.
pub(super) fn memory() -> &'static [AtomicU32] {
    &SLOTS.0
}

/// Empties the index, in a forked child.
pub(super) fn clear() {
    SLOTS.0.iter().filter(|slot| slot.load(Relaxed) != 0).for_each(|slot| slot.store(0, Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_records_have_a_slot() {
        let mut random = fastrand::Rng::with_seed(7);
        let taken: std::collections::HashSet<*const AtomicU32> = (0..LOCKS).fold(Default::default(), |mut taken, _| {
            let slot = slots(random.u64(..)).map(core::ptr::from_ref).find(|slot| !taken.contains(slot));
            taken.insert(slot.expect("a slot is free"));
            taken
        });
        assert_eq!(taken.len(), LOCKS);
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
    fn slots_are_those_of_the_index_whatever_the_hash() {
        for hash in [0, 1, 2 * LOCKS as u64 - 1, u64::MAX] {
            let all = SLOTS.0.as_ptr_range();
            assert_eq!(slots(hash).filter(|slot| all.contains(&core::ptr::from_ref(*slot))).count(), PROBES);
        }
    }
}
