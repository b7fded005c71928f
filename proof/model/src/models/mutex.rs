//! The adaptive mutex. All models: A1, P1. "dropped": A2; "hand-off": P2; "fork": P3; "try", "timed": P4; "fair": P5.

use super::*;
use std::sync::atomic::AtomicBool;
use turnwise::RawMutex;
use turnwise::wait::Tuned;

/// A spinner still spins when the stage is set.
const LONGER: Setup = Setup { polls: 6, ..PLAIN };
const TIMED_LATE: Setup = Setup { jumps: 1, ..TIMED };

const TRY_STOLE: Shows = &["tried without success", "slept", "stale hand-off cleared", "stole by a try"];
const TRY_GRANTED: Shows = &["tried without success", "slept", "stale fair hand-off cleared"];
const STOLE: Shows = &["stale hand-off cleared", "stole by a try"];
const EITHER: Shows = &["woke unwoken", "woken as the time was out", "got it after all", "gave up"];
const REQUEST_TIMED: Shows = &["slept in the first lane", "woken in the first lane", "gave up"];

pub(super) const MODELS: &[Model] = models! { Mutex:
    "mutex: two threads": PLAIN, (3, 4), ANY => all_lock(2, 1);
    "mutex: two threads that spin": PLAIN, (3, 4), ANY => held::<Raw>(1, 0);
    "mutex: two threads, twice": PARKS, (2, 4), SLEEP => all_lock(2, 2);
    "mutex: two threads that park": PARKS, (4, 8), SLEEP => all_lock(2, 1);
    "mutex: two threads without names": NAMELESS, (4, 8), SLEEP => all_lock(2, 1);
    "mutex: three threads that park": PARKS, (2, 3), SLEEP => all_lock(3, 1);
    "mutex: two sleepers": PARKS, (2, 3), SLEEP => held::<Raw>(2, 0);
    "mutex: three threads": PLAIN, (1, 2), ANY => all_lock(3, 1);
    "mutex: an owner that comes back": PLAIN, (2, 3), COMES_BACK => held::<Raw>(1, 2);
    "mutex: two that spin or sleep": PLAIN, (0, 1), ANY => held::<Raw>(2, 0);
    "mutex: one spins past a sleeper": LONGER, (1, 2), &["stole in a spin"] => spins_past();
    "mutex: one of two sleepers wakes and spins": PLAIN, (0, 1), DUTY => wakes_and_spins::<Raw>();
    "mutex: a sleeper wakes for no reason": SPURIOUS, (2, 3), UNWOKEN => held::<Raw>(2, 0);
    "mutex: a sleeper is interrupted": INTERRUPTED, (2, 3), UNWOKEN => held::<Raw>(2, 0);
    "mutex: try": PARKS, (3, 4), SLEEP => attempt::<Raw>();
    "mutex: a timed waiter gives up or gets it": TIMED, (3, 6), EITHER => timed::<Raw>(0, EARLY);
    "mutex: a timed waiter and a patient one": TIMED, (1, 2), EITHER => timed::<Raw>(1, EARLY);
    "mutex: hand-off": LATE, (1, 2), REQUEST => held::<Raw>(2, 0);
    "mutex: hand-off and barging": LATE, (0, 1), REQUEST => barging();
    "mutex: hand-off to one that spins": SPINS_LATE, (1, 2), REQUEST_SPINS => overtaken();
    "mutex: hand-off, timed": TIMED_LATE, (1, 2), REQUEST_TIMED => timed::<Raw>(1, EARLY);
    "mutex: dropped right after the release": PARKS, (3, 4), DROP => dropped_by::<Raw>(2);
    "mutex: dropped right after a spin": PLAIN, (3, 4), DROP => dropped_by::<Raw>(2);
    "mutex: three threads, dropped right after the release": PARKS, (2, 3), DROP => dropped_by::<Raw>(3);
    "mutex: barging past a timed waiter and a patient one": TIMED_LATE, (1, 2), GIVEN_UP => timed_barging();
    "mutex: the hand-off waiter vanished in a fork": PARKS, (2, 3), SLEEP => vanished(&[ROUND, ROUND], 3);
    "mutex: the hand-off waiter vanished, a timed waiter and a patient one": TIMED, (1, 2), EITHER =>
        vanished(&[Guarded::impatient, ROUND], 2);
    "mutex: a request after a fork that took a hand-off waiter along": LATE, (0, 1), REQUEST => requests_again();
    "mutex: tries for a lock handed off before a fork": PARKS, (3, 4), TRY_STOLE => tries(HANDOFF | WAITERS);
    "mutex: tries for a lock granted before a fork": PARKS, (3, 4), TRY_GRANTED => tries(GRANTED);
    "mutex: spins for a lock handed off before a fork": PLAIN, (1, 2), STOLE => handed_off_before();
    "mutex: fair release": PARKS, (3, 6), SLEEP => fair(1);
    "mutex: fair release and no more": PARKS, (3, 6), SLEEP => fair_once(ROUND);
    "mutex: fair release to a timed waiter": TIMED, (2, 4), EITHER => fair_once(Guarded::impatient);
    "mutex: fair release, two sleepers": PARKS, (0, 1), &["slept"] => fair(2);
    "mutex: fair release, two sleepers and a request": LATE, (0, 1), REQUEST => fair_request();
    "mutex: fair release, and nobody comes in between": PARKS, (2, 4), &["handed off fairly"] => fair_means_fair();
    "mutex: one requests a hand-off at once, and one never spins": PLAIN, (1, 2), SLEEP => tuned();
};

type Raw = RawMutex<Loom>;
type Guarded = super::Guarded<Raw>;

impl Settles for Raw {
    /// A waiter that gives up leaves `WAITERS` for the next release, and there may be none.
    fn is_settled(&self) -> bool {
        word(self).fetch_or(0, Relaxed) & !WAITERS == 0 && !self.is_locked()
    }
}

impl Guarded {
    /// Acquires if there is time; the count shows whether it did.
    fn impatient(&self) {
        if in_time(self.raw.lock_until(EARLY)) {
            self.leave();
        }
    }

    /// Leaves, and comes back while others wait.
    fn leave_and_come_back(&self) {
        self.leave();
        self.raw.lock();
        rest();
    }

    fn leave_twice(&self) {
        self.leave_and_come_back();
        self.leave();
    }

    /// All threads are done: at least `sections` were entered, and an impatient thread may have entered one more.
    fn settled_with(&self, sections: u32) {
        let entered = self.section.data.get();
        assert!((sections..=sections + 1).contains(&entered), "{entered} critical sections");
        self.settled(entered);
    }

    fn word(&self) -> &LoomU32 {
        word(&self.raw)
    }
}

fn word(raw: &Raw) -> &LoomU32 {
    // SAFETY: the word comes first in a `repr(C)` lock.
    unsafe { super::word(raw) }
}

/// Every thread acquires `rounds` times.
fn all_lock(threads: u32, rounds: u32) {
    let guarded = all_done::<Raw>(threads, rounds);
    // The last owner's sleepers are gone, and their flag is cleared by the next.
    guarded.round();
    assert_eq!(guarded.word().fetch_or(0, Relaxed), 0, "a flag is left though nobody sleeps");
}

/// What a thread does.
type Role = fn(&Guarded);

const ROUND: Role = Guarded::round;

/// The first thread has the lock and rests, so that the others come to wait for it; then it leaves.
fn behind(roles: &[Role], leave: Role) -> &'static Guarded {
    wait_behind(Guarded::owned(), roles, leave)
}

/// Two wait for the first thread, which comes again: one that sleeps at once and requests a hand-off as soon as it is
/// woken without success, and one that spins.
fn tuned() {
    fn comes(guarded: &Guarded, spin_ns: Option<u64>) {
        if !guarded.raw.lock_fast() {
            guarded.raw.lock_tuned(Tuned { spin_ns, handoff_after_ns: Some(0), ..Tuned::default() });
        }
        guarded.leave();
    }
    let leave = |guarded: &Guarded| {
        guarded.leave();
        guarded.round();
    };
    behind(&[|guarded| comes(guarded, Some(0)), |guarded| comes(guarded, None)], leave).settled(4);
}

/// One thread comes repeatedly while two wait.
fn barging() {
    let leave = |guarded: &Guarded| {
        guarded.leave_and_come_back();
        guarded.leave();
        guarded.round();
    };
    behind(&[ROUND, ROUND], leave).settled(5);
}

/// A thread comes again while one waits, which then requests a hand-off.
fn overtaken() {
    behind(&[ROUND], Guarded::leave_twice).settled(3);
}

/// The first thread releases fairly to `others`, one of which comes twice.
fn fair(others: u32) {
    let leave = |guarded: &Guarded| {
        guarded.leave_fairly();
        guarded.round();
    };
    behind(&[ROUND, ROUND][..others as usize], leave).settled(2 + others);
}

/// One sleeps when another comes and spins.
fn spins_past() {
    let guarded = Guarded::keep();
    let waiters = set_stage(|| {
        guarded.raw.lock();
        let mut waiters = asleep(guarded, &[ROUND]);
        waiters.push(spawn(move || guarded.round()));
        rest();
        waiters
    });
    guarded.leave();
    join(waiters);
    guarded.settled(3);
}

/// Two sleepers, of which one requests a hand-off while the other is released to fairly.
fn fair_request() {
    let leave = |guarded: &Guarded| {
        guarded.leave_and_come_back();
        guarded.leave_fairly();
    };
    behind(&[ROUND, ROUND], leave).settled(4);
}

/// A timed waiter that is woken may find the lock taken and its time out: it must not consume the other's wake-up.
fn timed_barging() {
    behind(&[Guarded::impatient, ROUND], Guarded::leave_twice).settled_with(3);
}

/// The word's bits, as [`RawMutex`] documents them.
const GENERATION: u32 = 0xfff << 16;
const GRANTED: u32 = 1 << 29;
const WAITERS: u32 = 1 << 30;
const HANDOFF: u32 = 1 << 31;

/// In a forked child: the owner's copy has the lock, which is reserved for a thread that does not exist here.
fn vanished(roles: &[Role], sections: u32) {
    wait_behind(requested(), roles, Guarded::leave).settled_with(sections);
}

/// The calling thread has the lock, which is reserved for a thread that its process does not have.
fn requested() -> &'static Guarded {
    let guarded = Guarded::owned();
    guarded.word().fetch_or(HANDOFF | WAITERS, Relaxed);
    forked();
    guarded
}

/// In a forked child with such a request, a thread makes its own, and leaves nothing of the old one when it has the
/// lock.
fn requests_again() {
    let requests: Role = |guarded| {
        guarded.raw.lock();
        assert_eq!(guarded.word().load(Relaxed) & (HANDOFF | GENERATION), 0, "a request is left when it was taken up");
        guarded.leave();
    };
    let leave = |guarded: &Guarded| {
        guarded.leave_twice();
        guarded.round();
    };
    wait_behind(requested(), &[requests], leave).settled(4);
}

/// In a forked child: the lock is free, but reserved for a thread that does not exist here.
fn tries(pending: u32) {
    let guarded = Guarded::keep();
    guarded.word().fetch_or(pending, Relaxed);
    forked();
    assert!(!guarded.raw.is_locked(), "promised to nobody, and locked");
    let other = spawn(move || guarded.round());
    let got = guarded.raw.try_lock();
    if got {
        rest();
        guarded.leave();
    } else {
        saw("tried without success");
    }
    other.join();
    guarded.settled(1 + u32::from(got));
    assert!(guarded.raw.try_lock(), "no thread has it");
}

/// In a forked child with such a promise: the thread that removes it may be overtaken by the other, though sleepers are
/// announced.
fn handed_off_before() {
    let guarded = Guarded::keep();
    guarded.word().fetch_or(HANDOFF | WAITERS, Relaxed);
    forked();
    let other = spawn(move || guarded.round());
    guarded.round();
    other.join();
    guarded.settled(2);
}

/// The first thread releases fairly, and tries at once: it must not get a lock that it handed off.
fn fair_means_fair() {
    let guarded = Guarded::keep();
    guarded.raw.lock();
    let done = keep(AtomicBool::new(false)); // loom does not see it
    let waiter = spawn(move || {
        guarded.raw.lock();
        done.store(true, Relaxed);
        guarded.leave();
    });
    rest();
    guarded.leave_fairly();
    let pending = guarded.word().fetch_or(0, Relaxed) & GRANTED != 0;
    let got = guarded.raw.try_lock();
    if pending {
        saw("handed off fairly");
        assert!(!got || done.load(Relaxed), "the lock was promised to another");
    }
    if got {
        guarded.leave();
    }
    waiter.join();
    guarded.settled_with(2);
}

/// The first thread releases fairly and does not come back.
fn fair_once(waiter: Role) {
    behind(&[waiter], Guarded::leave_fairly).settled_with(1);
}
