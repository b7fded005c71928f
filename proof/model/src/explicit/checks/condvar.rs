//! The condition variable, with the mutex that it moves waiters to.

use super::mutex::Guarded as Locked;
use super::*;
use turnwise::Condvar;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): tokens(all, hasty), two_mutexes() }
}

struct Queue {
    condvar: Condvar<Explicit>,
    tokens: Cell<u32>,
    /// Tokens that no thread will take.
    left: Cell<u32>,
}

/// Waits for a token and takes it; `false`: the time was out.
fn take(locked: &Locked, queue: &Queue, hasty: bool) -> bool {
    take_from(locked, &queue.condvar, &queue.tokens, hasty)
}

fn take_from(locked: &Locked, condvar: &Condvar<Explicit>, tokens: &Cell<u32>, hasty: bool) -> bool {
    locked.raw.lock();
    locked.section.alone();
    let mut timed_out = false;
    while tokens.get() == 0 && !timed_out {
        saw("waited");
        locked.section.leave_writing();
        // SAFETY: locked above.
        timed_out = unsafe { condvar.wait_raw(&locked.raw, hasty.then_some(SOON)) }.timed_out();
        locked.section.write(1);
    }
    let taken = tokens.get() > 0;
    if taken {
        tokens.set(tokens.get() - 1);
    }
    locked.release();
    taken
}

fn put(locked: &Locked, to: &Cell<u32>, tokens: u32) {
    locked.raw.lock();
    locked.section.alone();
    to.set(to.get() + tokens);
    locked.release();
}

fn give(locked: &Locked, queue: &Queue, tokens: u32, all: bool) {
    put(locked, &queue.tokens, tokens);
    if all {
        queue.condvar.notify_all();
    } else {
        queue.condvar.notify_one();
    }
}

/// The first thread gives a token for each of the others. A hasty waiter may leave its token behind, but must not
/// consume another thread's notification.
fn tokens(stage: &CheckSetup, size: Size, all: bool, hasty: bool) {
    let locked = Locked::keep(stage);
    let queue = stage.keep(Queue { condvar: Condvar::new_in(), tokens: Cell::new(0), left: Cell::new(0) });
    // A hasty thread comes once.
    let rounds = if hasty { 1 } else { size.rounds };
    let patient = size.threads as u32 - 1 - u32::from(hasty);
    stage.spawn(move || {
        for _ in 0..rounds {
            let tokens = patient + u32::from(hasty);
            if all {
                give(locked, queue, tokens, true);
            } else {
                (0..tokens).for_each(|_| give(locked, queue, 1, false));
            }
        }
    });
    stage.spawn_many(patient as usize, rounds, move || assert!(take(locked, queue, false)));
    if hasty {
        stage.spawn(move || {
            if !take(locked, queue, true) {
                saw("gave up");
                queue.left.set(1);
            }
        });
    }
    stage.at_end(move || {
        assert_eq!(queue.tokens.get(), queue.left.get(), "tokens are left");
        assert!(!locked.raw.is_locked());
    });
}

/// The waiters use one of two mutexes alternately, so that they cannot be requeued to either.
fn two_mutexes(stage: &CheckSetup, size: Size) {
    let condvar: &Condvar<Explicit> = stage.keep(Condvar::new_in());
    let sides = [(); 2].map(|()| (Locked::keep(stage), stage.keep(Cell::new(0))));
    stage.watch(|record| {
        if record.what == "wake" && record.old == u64::from(u32::MAX) && record.new > 0 {
            saw("woken");
        }
    });
    let waiters = size.threads as u32 - 1;
    stage.spawn_rounds(size.rounds, move || {
        for ((locked, tokens), more) in sides.into_iter().zip([waiters.div_ceil(2), waiters / 2]) {
            put(locked, tokens, more);
        }
        condvar.notify_all();
    });
    for (locked, tokens) in sides.into_iter().cycle().take(waiters as usize) {
        stage.spawn_rounds(size.rounds, move || assert!(take_from(locked, condvar, tokens, false)));
    }
    stage.at_end(move || {
        for (locked, tokens) in sides {
            assert_eq!(tokens.get(), 0, "tokens are left");
            assert!(!locked.raw.is_locked());
        }
    });
}
