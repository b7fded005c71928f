//! The re-entrant mutex: what it keeps next to the mutex belongs to the owner alone.

use super::*;
use turnwise::{RawReentrantMutex, RawTimedLock};

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): all(timed), freed() }
}

type Guarded = scenarios::Guarded<RawReentrantMutex<Explicit>>;

fn all(stage: &CheckSetup, size: Size, timed: bool) {
    let guarded = stage.keep(Guarded::new());
    for thread in 0..size.threads {
        stage.spawn_rounds(size.rounds, move || {
            if thread > 0 || !timed {
                guarded.raw.lock();
            } else if !guarded.raw.lock_until(SOON) {
                return saw("gave up");
            }
            guarded.leave_reentered();
        });
    }
    stage.at_end(move || assert!(!guarded.raw.is_locked()));
}

fn freed(stage: &CheckSetup, size: Size) {
    freed_lock(stage, size, stage.keep(Guarded::new()));
}
