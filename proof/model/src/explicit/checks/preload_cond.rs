//! The preload library's condition variable: its words' protocol as it ships, with the sleep that its C part does, and
//! a mutex of the simplest kind.

use super::*;
use protocol::{Leave, Words};
use std::sync::atomic::Ordering::Relaxed;
use turnwise::RawMutex;
use turnwise::condvar::SpinThenSleep;
use turnwise::platform::{Lane, Parked};

#[path = "../../../../../crates/preload/src/cond/protocol.rs"]
mod protocol;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): tokens(kind: kind), destroyed() }
}

fn kind(name: &str) -> Kind {
    use Kind::{Broadcasts, Cancels, Hasty, Inherits, Refused, Signals};
    named! { name: Signals, Broadcasts, Inherits, Hasty, Refused, Cancels }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signals,
    Broadcasts,
    /// Signals, in a forked child where a thread polls that does not exist here.
    Inherits,
    /// Signals; the last waiter has no time.
    Hasty,
    /// Signals; the last waiter has not the mutex, and so cannot release it.
    Refused,
    /// Signals; the last waiter may be cancelled as it sleeps.
    Cancels,
}

/// The condition variable as it lies in memory, and what it is used for.
struct Shared {
    mutex: scenarios::Guarded<RawMutex<Explicit>>,
    cond: Cond,
    tokens: Cell<u32>,
}

struct Cond {
    word: ExplicitWord<u64>,
    inside: ExplicitWord<u32>,
    spin_then_sleep: SpinThenSleep<Explicit>,
}

impl Shared {
    fn keep(stage: &CheckSetup) -> &'static Shared {
        stage.keep(Shared {
            mutex: scenarios::Guarded::new(),
            cond: Cond { word: Word::new(0), inside: Word::new(0), spin_then_sleep: SpinThenSleep::new_in() },
            tokens: Cell::new(0),
        })
    }

    /// Sets the flag of a polling thread, in the history of another process.
    fn inherit_a_poll(&self) {
        // SAFETY: the history is a word, and nothing else.
        let history = unsafe { &*ptr::from_ref(&self.cond.spin_then_sleep).cast::<ExplicitWord<u32>>() };
        history.store(1, Relaxed);
        self.cond.word.store(1 << 63, Relaxed);
    }

    fn words(&self) -> Words<'_, Explicit> {
        Words { word: &self.cond.word, inside: &self.cond.inside, spin_then_sleep: &self.cond.spin_then_sleep }
    }

    /// Waits as the C part does: `begin`, the futex call, which a signal handler restarts, `end`. Returns whether it
    /// ended with a signal, as far as the waiter can tell.
    fn wait(&self, may_leave: Option<Kind>) -> bool {
        saw("waited");
        let words = self.words();
        let arrival = words.arrive();
        let seen = arrival.seen;
        self.mutex.release();
        if arrival.polls && words.poll(seen, may_leave.map(|_| SOON)) {
            saw("notified as it looked");
            words.leave(seen, Leave::ByItself, || false);
            self.mutex.enter();
            return true;
        }
        // SAFETY: the first half of the word, which a futex call checks.
        let futex = unsafe { &*words.futex() };
        let parked = loop {
            match Explicit::park(futex, seen, Lane::Waiters, may_leave.map(|_| SOON)) {
                Parked::Interrupted => {}
                parked => break parked,
            }
        };
        // A cancellation may end the sleep, or coincide with another event.
        let cancelled = may_leave == Some(Kind::Cancels) && (parked == Parked::TimedOut || choose());
        let how = match parked {
            _ if cancelled => Leave::Cancelled,
            Parked::Woken => Leave::Woken,
            _ => Leave::ByItself,
        };
        words.leave(seen, how, || false);
        self.mutex.enter();
        !cancelled && parked != Parked::TimedOut
    }

    fn take(&self) {
        self.mutex.enter();
        while self.tokens.get() == 0 {
            self.wait(None);
        }
        self.tokens.set(self.tokens.get() - 1);
        self.mutex.release();
    }

    /// Waits once, and takes no token: if a signal came, it is passed on. A waiter that timed out or was cancelled
    /// cannot tell, and must not have consumed one.
    fn poll(&self, kind: Kind) {
        self.mutex.enter();
        let signalled = self.tokens.get() == 0 && self.wait(Some(kind));
        self.mutex.release();
        if signalled {
            self.words().signal();
        } else {
            saw(if kind == Kind::Cancels { "cancelled" } else { "gave up" });
        }
    }

    /// Arrives without the mutex, as if its release failed.
    fn be_refused(&self) {
        saw("refused");
        let words = self.words();
        words.give_up(words.arrive(), || false);
    }

    fn count(&self) -> u64 {
        self.cond.word.peek() >> 32
    }

    /// Called when all have left. With several waiters, those that a signal found on their way to sleep may still be
    /// counted; a signal that wakes no thread forgets all of them, so that the next ones need no system call.
    fn forgets_who_left(&self, only_one: bool) {
        assert!(!only_one || self.count() == 0, "the one waiter has left, and is still counted");
        let words = self.words();
        let poll = (0..3).filter(|_| words.arrive().polls).count();
        (0..=poll).for_each(|_| words.signal());
        assert_eq!(self.count(), 0, "counted after a signal that woke nobody");
    }

    fn give(&self, tokens: u32, all: bool) {
        self.mutex.enter();
        self.tokens.set(self.tokens.get() + tokens);
        self.mutex.release();
        if all {
            self.words().broadcast();
        } else {
            self.words().signal();
        }
    }
}

/// The first thread gives a token for each of the others, except for the last, if that leaves without one.
fn tokens(stage: &CheckSetup, size: Size, kind: Kind) {
    let shared = Shared::keep(stage);
    if kind == Kind::Inherits {
        shared.inherit_a_poll();
    }
    let leaves = matches!(kind, Kind::Hasty | Kind::Cancels | Kind::Refused);
    let waiters = size.threads as u32 - 1 - u32::from(leaves);
    stage.spawn(move || {
        for _ in 0..size.rounds {
            if kind == Kind::Broadcasts {
                shared.give(waiters, true);
            } else {
                (0..waiters).for_each(|_| shared.give(1, false));
            }
        }
    });
    stage.spawn_many(waiters as usize, size.rounds, move || shared.take());
    if kind == Kind::Refused {
        stage.spawn_rounds(size.rounds, move || shared.be_refused());
    } else if leaves {
        stage.spawn_rounds(size.rounds, move || shared.poll(kind));
    }
    stage.at_end(move || {
        assert_eq!(shared.tokens.get(), 0, "tokens are left");
        assert_eq!(shared.cond.inside.peek(), 0, "somebody is counted who has left");
        assert!(!shared.mutex.raw.is_locked());
        shared.forgets_who_left(waiters + u32::from(leaves) == 1);
    });
}

/// The first thread destroys the condition variable right after it has woken all waiters, as POSIX allows.
fn destroyed(stage: &CheckSetup, size: Size) {
    let shared = Shared::keep(stage);
    let inside = ptr::from_ref(&shared.cond.inside).addr();
    stage.watch(move |&Record { what, address, old, new, .. }| {
        saw_if(what == "park" && address == inside && old == new, "destroyer slept");
    });
    let waiters = size.threads as u32 - 1;
    stage.spawn(move || {
        shared.mutex.enter();
        // No thread waits after this: a thread that has not come yet finds its token.
        shared.tokens.set(waiters);
        shared.words().broadcast();
        shared.mutex.release();
        shared.words().destroy();
        assert_eq!(shared.cond.inside.peek(), 0, "something is left in a condition variable that was destroyed");
        saw("destroyed");
        bury(&shared.cond);
    });
    stage.spawn_many(waiters as usize, 1, move || shared.take());
    stage.at_end(move || assert_eq!(shared.tokens.get(), 0, "tokens are left"));
}
