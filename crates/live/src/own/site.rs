//! Finds the call site of a wait: the return address of the program's call of a lock, beyond the library's own frames.
//!
//! A function of the library keeps its frame at a fixed distance from its caller's, so one word for each place in it
//! that calls another function leads to the next return address. The stack is unwound once for that word, and only
//! where that needs none of the loader's locks; otherwise, and on processors other than x86-64, call sites are unknown.
//! The symbol table shows which functions are the library's (`symbols.rs`).
//!
//! Invariant: a word of [`STEPS`] holds what the unwinder found, for a place in a function of the library.

use super::symbols;
use core::arch::asm;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use std::ops::Range;
use std::sync::OnceLock;
use turnwise_interpose::{caller_of, can_find};

/// The most frames of the library between its watcher and the program: there are seven without optimisation.
const FRAMES: usize = 24;
/// The longest frame in the library.
const FRAME_BYTES: usize = 1 << 14;

/// Where functions of the library lie, in order; unset, or empty: call sites are unknown.
static OWN: OnceLock<Vec<Range<usize>>> = OnceLock::new();

/// For places in the library's code: the place, and the distance from the stack pointer there to the return address.
static STEPS: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
/// The lower bits of a word are the distance; those above are the place.
const DISTANCE_BITS: u32 = 16;

/// Prepares [`of_caller`]. `watcher`: the address of its calling function.
pub(super) fn start(watcher: usize) {
    if can_find() {
        let _ = OWN.set(symbols::of_library(watcher));
    }
}

/// Returns the call site of the wait that the caller was notified of; 0: unknown.
#[inline(always)]
pub(super) fn of_caller() -> usize {
    let Some(own) = OWN.get().filter(|own| !own.is_empty()) else { return 0 };
    let (place, stack): (usize, usize);
    // SAFETY: it reads two registers.
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rsp", out(reg) place, out(reg) stack, options(nomem, nostack, preserves_flags));
    }
    walk(own, place, stack)
}

#[inline(never)]
fn walk(own: &[Range<usize>], mut place: usize, mut stack: usize) -> usize {
    for _ in 0..FRAMES {
        let Some(distance) = known(place).or_else(|| learn(place, stack)) else { return 0 };
        let returns = (stack + distance) as *const usize;
        // SAFETY: the invariant: the frame of the function at `place` ends with its return address there.
        place = unsafe { returns.read() };
        stack += distance + size_of::<usize>();
        // The return address may already belong to the next function; the call does not.
        if !has(own, place.wrapping_sub(1)) {
            return place;
        }
    }
    0
}

fn has(own: &[Range<usize>], place: usize) -> bool {
    let after = own.partition_point(|range| range.start <= place);
    after.checked_sub(1).and_then(|at| own.get(at)).is_some_and(|range| range.contains(&place))
}

/// Returns the words that may hold a place, in the order in which they are searched.
fn words(place: usize) -> impl Iterator<Item = &'static AtomicU64> {
    const PROBES: usize = 8;
    let start = place.wrapping_mul(0x9e37_79b9) >> 16;
    (0..PROBES).map(move |step| &STEPS[start.wrapping_add(step) % STEPS.len()])
}

#[inline]
fn known(place: usize) -> Option<usize> {
    for word in words(place) {
        // ORDERING live.steps: relaxed; a word is complete by itself.
        match word.load(Relaxed) {
            0 => return None,
            found if found >> DISTANCE_BITS == place as u64 => return Some(found as usize & 0xffff),
            _ => {}
        }
    }
    None
}

/// Obtains the distance at a place from the unwinder, and stores it if there is room.
#[cold]
#[inline(never)]
fn learn(place: usize, stack: usize) -> Option<usize> {
    let (end, to) = caller_of(stack)?;
    let distance = end.checked_sub(stack + size_of::<usize>()).filter(|distance| *distance < FRAME_BYTES)?;
    // SAFETY: the unwinder has just passed there.
    let stands_there = unsafe { ((stack + distance) as *const usize).read() };
    if stands_there != to {
        return None;
    }
    let new = (place as u64) << DISTANCE_BITS | distance as u64;
    let _ = words(place).find(|word| word.compare_exchange(0, new, Relaxed, Relaxed).is_ok());
    Some(distance)
}
