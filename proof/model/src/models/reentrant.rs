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

struct Guarded {
    raw: RawReentrantMutex<Loom>,
    data: Protected,
}

impl Guarded {
    fn keep() -> &'static Guarded {
        keep(Guarded { raw: RawReentrantMutex::new_in(), data: Protected::new() })
    }

    /// Runs two sections, one within the other.
    fn section(&self) {
        assert!(!self.raw.is_mine(), "the lock is somebody's who does not have it");
        self.raw.lock();
        self.leave();
    }

    /// Does what a thread that has the lock does.
    fn leave(&self) {
        assert!(self.raw.is_mine() && self.raw.try_lock(), "the owner cannot enter again");
        self.data.add();
        // SAFETY: acquired twice.
        unsafe { self.raw.unlock() };
        self.data.add();
        // SAFETY: acquired twice, released once so far.
        unsafe { self.raw.unlock() };
    }

    fn settled(&self, sections: u32) {
        assert!(!self.raw.is_locked() && !self.raw.is_mine(), "locked when everybody has left");
        assert_eq!(self.data.get(), 2 * sections, "critical sections");
    }
}

fn all(threads: u32) {
    let guarded = Guarded::keep();
    together(threads, move || guarded.section());
    guarded.settled(threads);
}

/// One thread attempts to acquire while another has the lock.
fn attempt(attempt: fn(&RawReentrantMutex<Loom>) -> bool) {
    let guarded = Guarded::keep();
    let other = spawn(move || {
        guarded.raw.lock();
        rest();
        guarded.leave();
    });
    let got = attempt(&guarded.raw);
    saw(if got { "got it" } else { "did not" });
    if got {
        guarded.leave();
    }
    other.join();
    guarded.settled(1 + u32::from(got));
}

fn fair() {
    let guarded = Guarded::keep();
    guarded.raw.lock();
    let other = spawn(move || guarded.section());
    rest();
    guarded.data.add();
    guarded.data.add();
    // SAFETY: locked above.
    unsafe { guarded.raw.unlock_fair() };
    guarded.section();
    other.join();
    guarded.settled(3);
}

fn dropped() {
    drop_after_release(RawReentrantMutex::<Loom>::new_in(), 2, |raw, section| {
        raw.lock();
        raw.lock();
        section();
        // SAFETY: locked twice.
        unsafe { raw.unlock() };
        // SAFETY: acquired twice, released once so far.
        unsafe { raw.unlock() };
    });
}
