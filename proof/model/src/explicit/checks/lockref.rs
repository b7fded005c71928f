//! A reference count and a lock in one word.

use super::*;
use turnwise::LockRef;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): roles(who: [role]), last(), found() }
}

type Role = fn(&Guarded);

/// Returns what a thread does in each round.
fn role(name: &str) -> Role {
    named! { name:
        locks = |guarded| guarded.locked.round(), locks_soon = |guarded| guarded.locked.round_soon(),
        locks_and_counts, counts, finds,
    }
}

struct Guarded {
    locked: scenarios::Guarded<LockRef<Explicit>>,
    dead: Cell<bool>,
}

impl Guarded {
    fn keep(stage: &CheckSetup, count: u32) -> &'static Guarded {
        let locked = scenarios::Guarded { raw: LockRef::new_in(count), section: scenarios::Section::new() };
        stage.watch(move |&Record { what, old, new, .. }| {
            saw_if(what == "park" && old == new, "slept");
        });
        stage.keep(Guarded { locked, dead: Cell::new(false) })
    }

    fn refs(&self) -> &LockRef<Explicit> {
        &self.locked.raw
    }
}

/// Locks, and increments and decrements the count inside.
fn locks_and_counts(guarded: &Guarded) {
    guarded.locked.enter();
    // SAFETY: this thread has the lock, and no other guard; this one is not dropped.
    let guard = std::mem::ManuallyDrop::new(unsafe { guarded.refs().guard_unchecked() });
    let before = guard.get();
    assert_eq!(guard.put(), before, "the count changed under the lock");
    guarded.locked.release();
}

/// Takes a reference and gives it back.
fn counts(guarded: &Guarded) {
    guarded.refs().get();
    assert!(guarded.refs().put() > 0, "the last reference is gone");
}

/// Takes a reference and gives it back, without holding one at first.
fn finds(guarded: &Guarded) {
    assert!(guarded.refs().get_not_zero(), "there is a reference");
    assert!(guarded.refs().put_or_lock().is_none(), "it is not the last");
}

/// Starts one thread for each role, up to the number of threads.
fn roles(stage: &CheckSetup, size: Size, roles: &'static [Role]) {
    let guarded = Guarded::keep(stage, 1);
    start(stage, size.rounds, guarded, &roles[..size.threads]);
    stage.at_end(move || {
        assert!(!guarded.refs().is_locked(), "locked when everybody has left");
        assert_eq!(guarded.refs().count(), 1, "references");
    });
}

/// Gives back a reference; with the last one, ends the object, and frees it if no thread looks for it.
fn give_back(guarded: &'static Guarded, frees: bool) {
    if let Some(guard) = guarded.refs().put_or_lock() {
        assert!(!guarded.dead.replace(true), "two threads had the last reference");
        guard.mark_dead();
        assert_eq!(guard.put(), 0, "references");
        drop(guard);
        if frees {
            saw("freed");
            bury(guarded.refs());
        }
    }
}

/// Each thread has a reference.
fn last(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage, size.threads as u32);
    stage.spawn_many(size.threads, 1, move || give_back(guarded, true));
    stage.at_end(move || assert!(guarded.dead.get(), "nobody had the last reference"));
}

/// The last thread has no reference: it looks for one.
fn found(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage, size.threads as u32 - 1);
    stage.spawn_many(size.threads - 1, 1, move || give_back(guarded, false));
    stage.spawn(move || {
        if guarded.refs().get_not_zero() {
            assert!(!guarded.dead.get(), "found after its end");
            give_back(guarded, false);
        } else {
            saw("lost");
        }
    });
    stage.at_end(move || {
        assert!(guarded.dead.get(), "nobody had the last reference");
        assert!(!guarded.refs().is_locked() && guarded.refs().count() == 0);
    });
}
