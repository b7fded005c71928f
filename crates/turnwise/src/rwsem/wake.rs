//! Who is woken by whom. All of this uses only the lock's address (invariant 7).

use super::raw::{COUNT, HANDOFF, READERS, UPGRADABLE, WRITER, WRITERS};
use crate::platform::{Lane, Platform};

/// Does the wake-ups owed after an exchange of `word` for `released` of it. Uses only the address (invariant 7).
pub(super) fn wake_after<P: Platform>(address: *const P::U32, word: u32) {
    if word & HANDOFF == 0 {
        wake_all::<P>(address, word);
    } else if P::wake(address, Lane::First, u32::MAX) == 0 {
        wake_another::<P>(address, word);
    }
}

/// Does the wake-ups owed after all flags of `word` were cleared. Uses only the address (invariant 7).
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

/// Wakes one writer, if any sleeps; returns how many threads it woke. Without lanes it wakes all: one alone may be a
/// reader, who has no duty to wake the next.
#[track_caller]
fn wake_writer<P: Platform>(address: *const P::U32) -> u32 {
    P::wake(address, Lane::Waiters, if P::has_lanes() { 1 } else { u32::MAX })
}

/// Wakes one in the stead of those for whom the lock is kept, and who are not asleep (invariants 5 and 7).
#[cold]
fn wake_another<P: Platform>(address: *const P::U32, word: u32) {
    let writers = word & HANDOFF != 0 && word & WRITERS != 0;
    if (!writers || wake_writer::<P>(address) == 0) && word & READERS != 0 {
        P::wake(address, Lane::Readers, 1);
    }
}

/// Does the wake-ups of invariant 1, after a subtraction that found `found`. Uses only the address (invariant 7).
/// Returns whether whom the lock is now kept for was asleep, if anybody.
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

/// Does what [`left`] does, for a thread that will not find for whom the lock is kept (invariant 5).
#[cold]
pub(super) fn left_for_good<P: Platform>(address: *const P::U32, found: u32) {
    if !left::<P>(address, found) {
        wake_another::<P>(address, found);
    }
}
