//! The re-entrant mutex. It has no orderings itself: the mutex inside excludes (A1), and any thread may read the name
//! of the owner.

use super::*;
use crate::platform::number;
use std::num::NonZeroU64;
use turnwise::RawReentrantMutex;
use turnwise::reentrant::Threads;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(): all(threads), attempt(by: attempt_of), fair(), dropped() }
}

// SAFETY: the threads of a model are numbered.
unsafe impl Threads for Loom {
    fn thread() -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(number() as u64)
    }
}

type Raw = RawReentrantMutex<Loom>;
type Guarded = super::Guarded<Raw>;

impl Settles for Raw {
    fn is_settled(&self) -> bool {
        !self.is_locked() && !self.is_mine()
    }
}

/// Runs sections one within the other.
fn enter(guarded: &Guarded) {
    assert!(!guarded.raw.is_mine(), "the lock is somebody's who does not have it");
    guarded.raw.lock();
    guarded.leave_reentered();
}

fn all(threads: u32) {
    let guarded = Guarded::keep();
    together(threads, move || enter(guarded));
    guarded.settled(threads);
}

fn attempt(attempt: fn(&Raw) -> bool) {
    attempt_beside_rest(attempt, Guarded::leave_reentered);
}

fn fair() {
    let leave = |guarded: &Guarded| {
        guarded.section.alone();
        // SAFETY: the first thread has it.
        unsafe { guarded.raw.unlock_fair() };
        enter(guarded);
    };
    wait_behind(Guarded::owned(), &[enter], leave).settled(3);
}

fn dropped() {
    drop_after_release(Raw::new_in(), 2, |raw, section| {
        raw.lock();
        raw.lock();
        section();
        // SAFETY: locked twice.
        unsafe { raw.unlock() };
        // SAFETY: acquired twice, released once so far.
        unsafe { raw.unlock() };
    });
}
