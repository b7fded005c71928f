//! What can go wrong in the documents' locks.

use super::{Flaw, Words, pause};
use crate::arena::spin;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Lane, Native, Platform};

/// A ticket lock in these words: `sequence` is the next ticket, `lock` the one that is served.
fn draw_if_free(words: &Words) -> bool {
    // ORDERING broken.serve: Acquire pairs with `serve`.
    let served = words.lock.load(Acquire);
    words.sequence.compare_exchange(served, served.wrapping_add(1), Relaxed, Relaxed).is_ok()
}

fn wait_for(words: &Words, ticket: u32) {
    // ORDERING broken.serve: as above. Later tickets count as this one, so that a wrong one is no mere hang.
    while words.lock.load(Acquire).wrapping_sub(ticket).cast_signed() < 0 {
        std::hint::spin_loop();
    }
}

fn serve(words: &Words, tickets: u32) {
    // ORDERING broken.serve: Release pairs with the loads above.
    words.lock.store(words.lock.load(Relaxed).wrapping_add(tickets), Release);
}

pub(super) struct TwoOfATicket;
impl Flaw for TwoOfATicket {
    fn lock(words: &Words) {
        let ticket = words.sequence.load(Relaxed);
        spin(20);
        words.sequence.store(ticket.wrapping_add(1), Relaxed);
        wait_for(words, ticket);
    }
    fn try_lock(words: &Words) -> bool {
        draw_if_free(words)
    }
    fn unlock(words: &Words) {
        serve(words, 1);
    }
}

pub(super) struct ServesTwo;
impl Flaw for ServesTwo {
    fn lock(words: &Words) {
        wait_for(words, words.sequence.fetch_add(1, Relaxed));
    }
    fn try_lock(words: &Words) -> bool {
        draw_if_free(words)
    }
    fn unlock(words: &Words) {
        let served = words.lock.load(Relaxed);
        serve(words, if served % 64 == 63 { 2 } else { 1 });
    }
}

pub(super) struct WokenOwns;
impl Flaw for WokenOwns {
    fn lock(words: &Words) {
        if words.take(1) {
            return;
        }
        let sequence = words.sequence.load(Relaxed);
        if words.lock.load(Relaxed) != 0 {
            Native::park(&words.sequence, sequence, Lane::Waiters, None);
        }
        // A newcomer may have been faster.
        words.lock.store(1, Relaxed);
    }
    fn unlock(words: &Words) {
        words.free();
        words.notify(1);
    }
}

/// `sequence` is the owner.
pub(super) struct BlindSpinner;
impl Flaw for BlindSpinner {
    fn lock(words: &Words) {
        if !words.take(1) {
            while words.sequence.load(Relaxed) != 0 {
                std::hint::spin_loop();
            }
            // No owner: free, or about to be, or just taken by one that has not said so yet.
            spin(20);
            words.lock.store(1, Relaxed);
        }
        words.sequence.store(1, Relaxed);
    }
    fn unlock(words: &Words) {
        words.sequence.store(0, Relaxed);
        words.free();
    }
}

/// A biased lock by its writers; the flaw is that of an attempt that is not put back.
pub(super) struct KeepsItsBias;
impl Flaw for KeepsItsBias {
    fn lock(words: &Words) {
        // ORDERING broken.acquire: pairs with the Release below.
        while words.lock.fetch_sub(1, Acquire) != 0 {
            pause();
        }
    }
    fn try_lock(words: &Words) -> bool {
        words.lock.compare_exchange(0, u32::MAX, Relaxed, Relaxed).is_ok()
    }
    fn unlock(words: &Words) {
        // ORDERING broken.release: pairs with the Acquire above.
        words.lock.fetch_add(1, Release);
    }
}

/// An ia64 lock that backs off after it found the lock free.
pub(super) struct StaleLook;
impl Flaw for StaleLook {
    fn lock(words: &Words) {
        while words.lock.load(Relaxed) != 0 {
            std::hint::spin_loop();
        }
        spin(20);
        words.lock.store(1, Relaxed);
    }
}

/// A hand-off mutex without its queue: `lock` is the count, `sequence` the offer. With a flaw, that is.
fn hand_off(words: &Words, mut take: impl FnMut() -> bool) {
    // ORDERING broken.count: pairs with the Release in `leave`.
    if words.lock.fetch_add(1, Acquire) > 0 {
        while !take() {
            pause();
        }
    }
}

/// Whether others want the lock.
fn leave(words: &Words) -> bool {
    // ORDERING broken.count: pairs with the Acquire in `hand_off`.
    words.lock.fetch_sub(1, Release) > 1
}

/// `spare` is the number of those in the queue.
pub(super) struct NoOffer;
impl Flaw for NoOffer {
    fn lock(words: &Words) {
        let mut queued = false;
        hand_off(words, || {
            if !queued {
                spin(20);
                words.spare.fetch_add(1, Relaxed);
                queued = true;
            }
            // ORDERING broken.offer: pairs with the Release in `unlock`.
            words.sequence.compare_exchange(1, 0, Acquire, Relaxed).is_ok()
        });
    }
    fn unlock(words: &Words) {
        if leave(words) && words.spare.load(Relaxed) > 0 {
            words.spare.fetch_sub(1, Relaxed);
            // ORDERING broken.offer: pairs with the Acquire above.
            words.sequence.store(1, Release);
        }
    }
}

pub(super) struct TornOffer;
impl Flaw for TornOffer {
    fn lock(words: &Words) {
        hand_off(words, || {
            let offered = words.sequence.load(Relaxed) == 1;
            if offered {
                spin(20);
                words.sequence.store(0, Relaxed);
            }
            offered
        });
    }
    fn unlock(words: &Words) {
        if leave(words) {
            words.sequence.store(1, Release); // ORDERING broken.offer: as above.
        }
    }
}
