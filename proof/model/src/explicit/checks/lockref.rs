//! A reference count and a lock in one word.

use super::*;
use turnwise::LockRef;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): roles(who: [role]), last(), found() }
}

/// What a thread does in each round.
fn role(name: &str) -> fn(&Guarded) {
    named! { name: locks, locks_and_counts, locks_soon, counts, finds }
}

struct Guarded {
    refs: LockRef<Explicit>,
    section: Section,
    dead: Cell<bool>,
}

impl Guarded {
    fn keep(stage: &CheckSetup, count: u32) -> &'static Guarded {
        let guarded = stage.keep(Guarded {
            refs: LockRef::new_in(count),
            section: scenarios::Section::new(),
            dead: Cell::new(false),
        });
        stage.watch(move |&Record { what, old, new, .. }| {
            saw_if(what == "park" && old == new, "slept");
        });
        guarded
    }

    fn inside(&self, counts: bool) {
        self.section.alone();
        // SAFETY: this thread has the lock, and no other guard.
        let guard = unsafe { self.refs.guard_unchecked() };
        if counts {
            let before = guard.get();
            assert_eq!(guard.put(), before, "the count changed under the lock");
        }
        self.section.leave(Writer);
        drop(guard);
    }
}

fn locks(guarded: &Guarded) {
    std::mem::forget(guarded.refs.lock());
    guarded.inside(false);
}

/// Locks, and increments and decrements the count inside.
fn locks_and_counts(guarded: &Guarded) {
    std::mem::forget(guarded.refs.lock());
    guarded.inside(true);
}

fn locks_soon(guarded: &Guarded) {
    match guarded.refs.try_lock_until(SOON) {
        Some(guard) => {
            std::mem::forget(guard);
            guarded.inside(false);
        }
        None => saw("gave up"),
    }
}

/// Takes a reference and gives it back.
fn counts(guarded: &Guarded) {
    guarded.refs.get();
    assert!(guarded.refs.put() > 0, "the last reference is gone");
}

/// Takes a reference and gives it back, without holding one at first.
fn finds(guarded: &Guarded) {
    assert!(guarded.refs.get_not_zero(), "there is a reference");
    assert!(guarded.refs.put_or_lock().is_none(), "it is not the last");
}

/// Starts one thread for each role, up to the number of threads.
fn roles(stage: &CheckSetup, size: Size, roles: &'static [fn(&Guarded)]) {
    let guarded = Guarded::keep(stage, 1);
    start(stage, size.rounds, guarded, &roles[..size.threads]);
    stage.at_end(move || {
        assert!(!guarded.refs.is_locked(), "locked when everybody has left");
        assert_eq!(guarded.refs.count(), 1, "references");
    });
}

/// Gives back a reference; with the last one, ends the object, and frees it if no thread looks for it.
fn give_back(guarded: &'static Guarded, frees: bool) {
    if let Some(guard) = guarded.refs.put_or_lock() {
        assert!(!guarded.dead.replace(true), "two threads had the last reference");
        guard.mark_dead();
        assert_eq!(guard.put(), 0, "references");
        drop(guard);
        if frees {
            saw("freed");
            bury(&guarded.refs);
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
        if guarded.refs.get_not_zero() {
            assert!(!guarded.dead.get(), "found after its end");
            give_back(guarded, false);
        } else {
            saw("lost");
        }
    });
    stage.at_end(move || {
        assert!(guarded.dead.get(), "nobody had the last reference");
        assert!(!guarded.refs.is_locked() && guarded.refs.count() == 0);
    });
}
