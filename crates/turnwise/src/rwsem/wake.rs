//! The wake-ups that each operation owes. All of this uses only the lock's address (invariant 7).

use super::raw::{COUNT, HANDOFF, READERS, UPGRADABLE, WRITER, WRITERS};
use crate::platform::{Lane, Platform};

/// Performs the wake-ups owed after an exchange of `word` for `released(word)`. Uses only the address (invariant 7).
pub(super) fn wake_after<P: Platform>(address: *const P::U32, word: u32) {
    if word & HANDOFF == 0 {
        wake_all::<P>(address, word);
    } else if P::wake(address, Lane::First, u32::MAX) == 0 {
        wake_another::<P>(address, word);
    }
}

/// Performs the wake-ups owed after all flags of `word` were cleared. Uses only the address (invariant 7).
pub(super) fn wake_all<P: Platform>(address: *const P::U32, word: u32) {
    if word & HANDOFF != 0 {
        P::wake(address, Lane::First, u32::MAX);
    }
    if word & READERS != 0 {
        P::wake(address, Lane::Readers, u32::MAX);
    }
    if word & WRITERS != 0 {
        wake_writer::<P>(address);
    }
}

/// Wakes one writer, if any sleeps; returns how many threads it woke. Without lanes it wakes all: a single thread may
/// be a reader, which has no duty to wake the next.
#[track_caller]
pub(super) fn wake_writer<P: Platform>(address: *const P::U32) -> u32 {
    P::wake(address, Lane::Waiters, if P::has_lanes() { 1 } else { u32::MAX })
}

/// Wakes a substitute for those for which the lock is reserved, and which are not asleep (invariants 5 and 7).
#[cold]
fn wake_another<P: Platform>(address: *const P::U32, word: u32) {
    let writers = word & HANDOFF != 0 && word & WRITERS != 0;
    if (!writers || wake_writer::<P>(address) == 0) && word & READERS != 0 {
        P::wake(address, Lane::Readers, 1);
    }
}

/// Performs the wake-ups of invariant 1, after a subtraction that found `found`. Uses only the address (invariant 7).
/// Returns `false` if the lock is now reserved for threads none of which was asleep.
pub(super) fn left<P: Platform>(address: *const P::U32, found: u32) -> bool {
    if found & COUNT != 1 {
        return true;
    }
    match found & (WRITER | UPGRADABLE) {
        0 if found & HANDOFF != 0 => P::wake(address, Lane::First, u32::MAX) != 0,
        // Readers stay out for the writer.
        0 if found & WRITERS != 0 => wake_writer::<P>(address) != 0,
        upgrading if upgrading == WRITER | UPGRADABLE => {
            P::wake(address, Lane::First, u32::MAX);
            true
        }
        _ => true,
    }
}

/// Does the same as [`left`], for a thread that will not find out for which one the lock is reserved (invariant 5).
#[cold]
pub(super) fn left_for_good<P: Platform>(address: *const P::U32, found: u32) {
    if !left::<P>(address, found) {
        wake_another::<P>(address, found);
    }
}
