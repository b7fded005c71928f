//! The re-entrant mutex: what it keeps next to the mutex belongs to the owner alone.

use super::*;
use turnwise::{RawReentrantMutex, RawTimedLock};

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): all(timed), freed() }
}

type Guarded = scenarios::Guarded<RawReentrantMutex<Explicit>>;

impl Guarded {
    fn keep(stage: &CheckSetup) -> &'static Guarded {
        stage.keep(Guarded::new())
    }

    /// Runs with the lock held once: locks once more, and releases both.
    fn inside(&self) {
        self.section.alone();
        assert!(self.raw.try_lock(), "the owner may lock again");
        self.raw.lock();
        saw("entered again");
        // SAFETY: locked three times.
        unsafe {
            self.raw.unlock();
            self.raw.unlock();
            assert!(self.raw.is_mine(), "released once too often");
            self.section.leave_writing();
            self.raw.unlock();
        }
    }
}

fn all(stage: &CheckSetup, size: Size, timed: bool) {
    let guarded = Guarded::keep(stage);
    for thread in 0..size.threads {
        stage.spawn(move || {
            for _ in 0..size.rounds {
                if thread == 0 && timed {
                    if !guarded.raw.lock_until(SOON) {
                        saw("gave up");
                        continue;
                    }
                } else {
                    guarded.raw.lock();
                }
                guarded.inside();
            }
        });
    }
    stage.at_end(move || assert!(!guarded.raw.is_locked()));
}

fn freed(stage: &CheckSetup, size: Size) {
    freed_lock(stage, size, Guarded::keep(stage));
}
