//! Call stacks, each stored once.
//!
//! Crate turnwise-interpose takes them, where the C library has `_dl_find_object` (glibc 2.35 and later): no lock is
//! taken for them, and no memory is read that may be unmapped. The system's unwinders take pthread mutexes, which we
//! record, and follow whatever data a stack ends in.

use crate::mapping::SPREAD;
use crate::modules;
use crate::writer::Writer;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use turnwise_recording::{REF_UNIT, Ref, STACK_FRAMES, STACK_SLOTS};

/// Returns the stack from the frame that returns to `first` outwards; that frame alone if no more is available. 0: no
/// room.
pub(crate) fn take(writer: &Writer, first: u64) -> Ref {
    let mut addresses = [0; STACK_FRAMES];
    match turnwise_interpose::stack(first as usize, &mut addresses) {
        0 => single(writer, first),
        count => intern(writer, &addresses[..count]),
    }
}

/// Returns the stack from the call of this library outwards; 0: it is not known.
pub(crate) fn of_program(writer: &Writer) -> Ref {
    let own = turnwise_interpose::find_quickly(of_program as *const () as usize);
    let first = own.and_then(|own| turnwise_interpose::first_outside(&own));
    first.map_or(0, |first| take(writer, first as u64))
}

/// Returns a stack of one frame.
pub(crate) fn single(writer: &Writer, address: u64) -> Ref {
    intern(writer, &[address])
}

/// Returns the place of a stack in the file.
fn intern(writer: &Writer, addresses: &[u64]) -> Ref {
    /// The number of slots to probe before the stack is stored again.
    const PROBES: u64 = 64;
    // A stack of an unloaded module must not match one of a module in its place.
    addresses.iter().for_each(|address| modules::note_again(writer.mapping(), *address));
    let hash = addresses.iter().fold(0_u64, |hash, address| (hash.rotate_left(7) ^ address).wrapping_mul(SPREAD));
    let tag = hash >> 32;
    let mut stored = None;
    for probe in 0..PROBES {
        let index = (hash.wrapping_add(probe) % STACK_SLOTS.count) as usize;
        let Some(slot) = writer.mapping().reach::<AtomicU64>(&STACK_SLOTS, index) else { return 0 };
        // ORDERING recorder.stack: Acquire; a thread that finds a place finds the stack there.
        let mut found = slot.load(Acquire);
        if found == 0 {
            let Some(place) = stored.or_else(|| store(writer, addresses)) else { return 0 };
            stored = Some(place);
            // ORDERING recorder.stack: AcqRel; publishes the stack, or sees another thread's.
            match slot.compare_exchange(0, tag << 32 | u64::from(place), AcqRel, Acquire) {
                Ok(_) => return place,
                Err(theirs) => found = theirs,
            }
        }
        if found >> 32 == tag && is_at(writer, found as Ref, addresses) {
            return found as Ref;
        }
    }
    stored.or_else(|| store(writer, addresses)).unwrap_or(0)
}

/// Stores the number of addresses, then the addresses.
fn store(writer: &Writer, addresses: &[u64]) -> Option<Ref> {
    let (at, place) = writer.arena(8 + addresses.len() * 8)?;
    debug_assert!(place as u64 * REF_UNIT != 0);
    let words: *const AtomicU64 = at.cast();
    // SAFETY: `arena` returned this many bytes, aligned to 16.
    unsafe {
        for (index, address) in addresses.iter().enumerate() {
            (*words.add(1 + index)).store(*address, Relaxed);
        }
        (*words).store(addresses.len() as u64, Relaxed);
    }
    for address in addresses {
        modules::note(writer.mapping(), *address);
    }
    Some(place)
}

fn is_at(writer: &Writer, place: Ref, addresses: &[u64]) -> bool {
    // SAFETY: places of published slots hold stacks.
    unsafe {
        let words: *const AtomicU64 = writer.mapping().at::<AtomicU64>(place);
        (*words).load(Relaxed) == addresses.len() as u64
            && addresses.iter().enumerate().all(|(index, address)| (*words.add(1 + index)).load(Relaxed) == *address)
    }
}
