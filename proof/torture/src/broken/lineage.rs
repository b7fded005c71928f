//! What can go wrong in the papers' locks.

use super::exclusive::{SOUND, Words, words};
use super::pause;
use crate::arena::spin;
use crate::ops::Exclusive;
use crate::verdict::Verdict::{Hang, TwoOwners};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Lane, Native, Platform};

/// Draws a ticket if the lock is free: `sequence` is the next ticket, `lock` the one that is served.
fn draw_if_free(words: &Words) -> bool {
    // ORDERING broken.serve: Acquire pairs with `serve`.
    let served = words.lock.load(Acquire);
    words.sequence.compare_exchange(served, served.wrapping_add(1), Relaxed, Relaxed).is_ok()
}

fn wait_for(words: &Words, ticket: u32) {
    // ORDERING broken.serve: as above. Later tickets count as this one, so that a wrong one is not a mere hang.
    while words.lock.load(Acquire).wrapping_sub(ticket).cast_signed() < 0 {
        std::hint::spin_loop();
    }
}

fn serve(words: &Words, tickets: u32) {
    // ORDERING broken.serve: Release pairs with the loads above.
    words.lock.store(words.lock.load(Relaxed).wrapping_add(tickets), Release);
}

/// A hand-off mutex without its queue: `lock` is the count, `sequence` the offer. For flaws.
fn hand_off(words: &Words, mut take: impl FnMut() -> bool) {
    // ORDERING broken.count: pairs with the Release in `leave`.
    if words.lock.fetch_add(1, Acquire) > 0 {
        while !take() {
            pause();
        }
    }
}

/// Leaves; returns whether other threads want the lock.
fn leave(words: &Words) -> bool {
    // ORDERING broken.count: pairs with the Acquire in `hand_off`.
    words.lock.fetch_sub(1, Release) > 1
}

broken! { SOUND:
    "two-of-a-ticket", "two threads may draw the same ticket", &[("exclusion", TwoOwners)], exclusive: Exclusive {
        acquire: |lock| {
            let ticket = words(lock).sequence.load(Relaxed);
            spin(20);
            words(lock).sequence.store(ticket.wrapping_add(1), Relaxed);
            wait_for(words(lock), ticket);
        },
        try_acquire: |lock| draw_if_free(words(lock)),
        release: |lock| serve(words(lock), 1),
    };
    "serves-two", "a release serves two tickets now and then", &[("exclusion", TwoOwners)], exclusive: Exclusive {
        acquire: |lock| {
            wait_for(words(lock), words(lock).sequence.fetch_add(1, Relaxed));
        },
        try_acquire: |lock| draw_if_free(words(lock)),
        release: |lock| {
            let served = words(lock).lock.load(Relaxed);
            serve(words(lock), if served % 64 == 63 { 2 } else { 1 });
        },
    };
    "woken-owns", "a woken waiter takes the lock unseen, though others may steal it", &[("crowd", TwoOwners)],
    exclusive: Exclusive {
        acquire: |lock| {
            if words(lock).take(1) {
                return;
            }
            let sequence = words(lock).sequence.load(Relaxed);
            if words(lock).lock.load(Relaxed) != 0 {
                Native::park(&words(lock).sequence, sequence, Lane::Waiters, None);
            }
            // A newcomer may have been faster.
            words(lock).lock.store(1, Relaxed);
        },
        release: |lock| {
            words(lock).free();
            words(lock).notify(1);
        },
    };
    // `sequence` is the owner.
    "blind-spinner",
    "a spinner that sees no owner takes the lock without a compare-exchange",
    &[("exclusion", TwoOwners)], exclusive: Exclusive {
        acquire: |lock| {
            if !words(lock).take(1) {
                while words(lock).sequence.load(Relaxed) != 0 {
                    std::hint::spin_loop();
                }
                // No owner: free, or about to be, or just taken by a thread that has not yet recorded it.
                spin(20);
                words(lock).lock.store(1, Relaxed);
            }
            words(lock).sequence.store(1, Relaxed);
        },
        release: |lock| {
            words(lock).sequence.store(0, Relaxed);
            words(lock).free();
        },
    };
    // A biased lock as its writers use it; the flaw is that a failed attempt is not undone.
    "keeps-its-bias", "the bias of a failed attempt is not undone", &[("exclusion", Hang)], exclusive: Exclusive {
        acquire: |lock| {
            // ORDERING broken.acquire: pairs with the Release below.
            while words(lock).lock.fetch_sub(1, Acquire) != 0 {
                pause();
            }
        },
        try_acquire: |lock| words(lock).lock.compare_exchange(0, u32::MAX, Relaxed, Relaxed).is_ok(),
        release: |lock| {
            // ORDERING broken.release: pairs with the Acquire above.
            words(lock).lock.fetch_add(1, Release);
        },
    };
    // An ia64 lock that backs off after it found the lock free.
    "stale-look", "pauses between look and store", &[("exclusion", TwoOwners)], exclusive: Exclusive {
        acquire: |lock| {
            while words(lock).lock.load(Relaxed) != 0 {
                std::hint::spin_loop();
            }
            spin(20);
            words(lock).lock.store(1, Relaxed);
        },
    };
    // `spare` is the number of those in the queue.
    "no-offer", "a release forgets those between the count and the queue", &[("exclusion", Hang)],
    exclusive: Exclusive {
        acquire: |lock| {
            let mut queued = false;
            hand_off(words(lock), || {
                if !queued {
                    spin(20);
                    words(lock).spare.fetch_add(1, Relaxed);
                    queued = true;
                }
                // ORDERING broken.offer: pairs with the Release below.
                words(lock).sequence.compare_exchange(1, 0, Acquire, Relaxed).is_ok()
            });
        },
        release: |lock| {
            if leave(words(lock)) && words(lock).spare.load(Relaxed) > 0 {
                words(lock).spare.fetch_sub(1, Relaxed);
                // ORDERING broken.offer: pairs with the Acquire above.
                words(lock).sequence.store(1, Release);
            }
        },
    };
    "torn-offer", "two may take one offer", &[("crowd", TwoOwners)], exclusive: Exclusive {
        acquire: |lock| {
            hand_off(words(lock), || {
                let offered = words(lock).sequence.load(Relaxed) == 1;
                if offered {
                    spin(20);
                    words(lock).sequence.store(0, Relaxed);
                }
                offered
            });
        },
        release: |lock| {
            if leave(words(lock)) {
                words(lock).sequence.store(1, Release); // ORDERING broken.offer: as above.
            }
        },
    };
}
