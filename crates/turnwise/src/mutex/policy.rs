//! How long a thread spins for the mutex, and when it lets others have their turn.

use super::raw::{BLOCKED, GRANTED, HANDOFF, OWNER, RawMutex};
use crate::platform::{Deadline, Platform, SpinLimit, Token, Word};
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// A waiter that has waited this long, was woken, and finds the lock taken again claims the next turn.
pub const HANDOFF_AFTER_NS: u64 = 4_000_000;

/// What became of spins on one lock, as one thread saw it.
#[derive(Clone, Copy, Default)]
pub struct SpinRecord {
    /// The lock's address, shortened.
    tag: u32,
    /// Failures in a row.
    failures: u16,
    /// Contended acquisitions for which no spin was tried since the last failure.
    skipped: u16,
}

impl SpinRecord {
    pub(crate) const NEW: SpinRecord = SpinRecord { tag: 0, failures: 0, skipped: 0 };
}

const SPIN_NS: u64 = 20_000;

/// Spins for the lock behind the queue of spinners; `true`: acquired.
#[cfg(feature = "spin")]
pub(super) fn spin<P: Platform>(lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
    let Some(me) = P::me() else { return false };
    let private = &me.slot.private;
    if private.node_busy.replace(true) {
        return false; // a signal handler that interrupted a wait
    }
    let until = P::now() + SPIN_NS;
    let got = lock.spinners.lock(me, Some(until)) && {
        let got = spin_first(lock, me.token, until);
        lock.spinners.unlock(me);
        got
    };
    private.node_busy.set(false);
    let _ = deadline;
    got
}

/// Spins as the first of the queue.
#[cfg(feature = "spin")]
fn spin_first<P: Platform>(lock: &RawMutex<P>, me: Token, until: u64) -> bool {
    loop {
        let word = lock.word.load(Relaxed);
        if word & BLOCKED == 0 {
            // ORDERING mutex.acquire: as in `RawMutex::lock`.
            if lock.word.compare_exchange(word, word | me.get(), Acquire, Relaxed).is_ok() {
                return true;
            }
            continue;
        }
        if word & (HANDOFF | GRANTED) != 0 {
            return false;
        }
        let owner = word & OWNER;
        let limit = SpinLimit { until: Some(until), owner: Token::new(owner) };
        let changed = |w: u32| w & BLOCKED != owner;
        if P::spin_until(&lock.word, changed, limit).is_err() {
            return false;
        }
    }
}

/// A woken waiter spins a little before it sleeps again.
pub(super) fn spin_woken<P: Platform>(lock: &RawMutex<P>, _word: u32) {
    let limit = SpinLimit { until: Some(P::now() + 5_000), owner: Token::new(lock.word.load(Relaxed) & OWNER) };
    let _ = P::spin_until(&lock.word, |w| w & OWNER == 0, limit);
}
