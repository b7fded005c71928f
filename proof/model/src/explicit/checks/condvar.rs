//! The condition variable, with the mutex that it moves waiters to.

use super::mutex::Guarded as Locked;
use super::*;
use turnwise::Condvar;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): tokens(all, hasty), two_mutexes() }
}

/// Tokens under a mutex.
struct Purse {
    locked: &'static Locked,
    tokens: Cell<u32>,
}

impl Purse {
    fn keep(stage: &CheckSetup) -> &'static Purse {
        stage.keep(Purse { locked: Locked::keep(stage), tokens: Cell::new(0) })
    }

    /// Waits for a token and takes it; `false`: the time was out.
    fn take(&self, condvar: &Condvar<Explicit>, hasty: bool) -> bool {
        let Purse { locked, tokens } = self;
        locked.enter();
        let mut timed_out = false;
        while tokens.get() == 0 && !timed_out {
            saw("waited");
            locked.section.leave(Writer);
            // SAFETY: locked above.
            timed_out = unsafe { condvar.wait_raw(&locked.raw, hasty.then_some(SOON)) }.timed_out();
            locked.section.count(Writer, 1);
        }
        let taken = tokens.get() > 0;
        if taken {
            tokens.set(tokens.get() - 1);
        }
        locked.release();
        taken
    }

    fn put(&self, tokens: u32) {
        self.locked.enter();
        self.tokens.set(self.tokens.get() + tokens);
        self.locked.release();
    }

    /// All threads are done, and these tokens are left.
    fn settled(&self, left: u32) {
        assert_eq!(self.tokens.get(), left, "tokens are left");
        assert!(!self.locked.raw.is_locked());
    }
}

/// The first thread gives a token for each of the others. A hasty waiter may leave its token behind, but must not
/// consume another thread's notification.
fn tokens(stage: &CheckSetup, size: Size, all: bool, hasty: bool) {
    let condvar: &Condvar<Explicit> = stage.keep(Condvar::new_in());
    let (purse, left) = (Purse::keep(stage), stage.keep(Cell::new(0)));
    // A hasty thread comes once.
    let rounds = if hasty { 1 } else { size.rounds };
    let (tokens, patient) = (size.threads as u32 - 1, size.threads - 1 - usize::from(hasty));
    stage.spawn_rounds(rounds, move || {
        if all {
            purse.put(tokens);
            return condvar.notify_all();
        }
        for _ in 0..tokens {
            purse.put(1);
            condvar.notify_one();
        }
    });
    stage.spawn_many(patient, rounds, move || assert!(purse.take(condvar, false)));
    if hasty {
        stage.spawn(move || {
            if !purse.take(condvar, true) {
                saw("gave up");
                left.set(1);
            }
        });
    }
    stage.at_end(move || purse.settled(left.get()));
}

/// The waiters use one of two mutexes alternately, so that they cannot be requeued to either.
fn two_mutexes(stage: &CheckSetup, size: Size) {
    let condvar: &Condvar<Explicit> = stage.keep(Condvar::new_in());
    let purses = [(); 2].map(|()| Purse::keep(stage));
    stage.watch(|record| {
        saw_if(record.what == "wake" && record.old == u64::from(u32::MAX) && record.new > 0, "woken");
    });
    let waiters = size.threads as u32 - 1;
    stage.spawn_rounds(size.rounds, move || {
        purses[0].put(waiters.div_ceil(2));
        purses[1].put(waiters / 2);
        condvar.notify_all();
    });
    for purse in purses.into_iter().cycle().take(waiters as usize) {
        stage.spawn_rounds(size.rounds, move || assert!(purse.take(condvar, false)));
    }
    stage.at_end(move || purses.iter().for_each(|purse| purse.settled(0)));
}
