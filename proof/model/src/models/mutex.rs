//! The adaptive mutex. All models: A1, P1. "dropped": A2; "hand-off": P2; "fork": P3; "try", "timed": P4; "fair": P5.

use super::*;
use std::sync::atomic::AtomicBool;
use turnwise::RawMutex;
use turnwise::wait::Tuned;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call():
        all_lock(threads, rounds), spins_past(), behind(waiters: [role], steps: [role]),
        vanished(waiters: [role], steps: [role]), tries(pending: flags), handed_off_before(), fair_means_fair();
        timed_lock::<Raw>(call)
    }
}

/// What a thread does, and whether it is certain to enter a critical section; otherwise it may enter one.
type Role = (fn(&Guarded), bool);

fn role(name: &str) -> Role {
    named! { name:
        round = (Guarded::round, true), impatient = (Guarded::impatient, false), leave = (Guarded::leave, true),
        come_back = (Guarded::leave_and_come_back, true), leave_fairly = (Guarded::leave_fairly, true),
        requests = (Guarded::requests, true), sleeps_at_once = (|guarded| guarded.tuned(Some(0)), true),
        requests_at_once = (|guarded| guarded.tuned(None), true),
    }
}

fn flags(names: &str) -> u32 {
    flags::all_of("mutex", names)
}

type Raw = RawMutex<Loom>;
type Guarded = super::Guarded<Raw>;

impl Settles for Raw {
    /// A waiter that gives up leaves `WAITERS` for the next release, and there may be none.
    fn is_settled(&self) -> bool {
        self.word().fetch_or(0, Relaxed) & !WAITERS == 0 && !self.is_locked()
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

    /// Makes its own request, and leaves nothing of an old one when it has the lock.
    fn requests(&self) {
        self.raw.lock();
        assert_eq!(self.raw.word().load(Relaxed) & (HANDOFF | GENERATION), 0, "a request is left when it was taken up");
        self.leave();
    }

    /// Requests a hand-off as soon as it is woken without success.
    fn tuned(&self, spin_ns: Option<u64>) {
        if !self.raw.lock_fast() {
            self.raw.lock_tuned(Tuned { spin_ns, handoff_after_ns: Some(0), ..Tuned::default() });
        }
        self.leave();
    }
}

/// Every thread acquires `rounds` times.
fn all_lock(threads: u32, rounds: u32) {
    let guarded = super::all_lock::<Raw>(threads, rounds);
    // The last owner's sleepers are gone, and their flag is cleared by the next.
    guarded.round();
    assert_eq!(guarded.raw.word().fetch_or(0, Relaxed), 0, "a flag is left though nobody sleeps");
}

/// The first thread has the lock and rests, so that the others come to wait for it; then it goes through these steps.
fn behind(waiters: &[Role], steps: &[Role]) {
    wait_for(Guarded::owned(), waiters, steps);
}

fn wait_for(guarded: &'static Guarded, waiters: &[Role], steps: &[Role]) {
    let roles: Vec<_> = waiters.iter().map(|role| role.0).collect();
    wait_behind(guarded, &roles, |guarded| steps.iter().for_each(|step| step.0(guarded)));
    let (all, entered) = (waiters.len() + steps.len(), guarded.section.data.get());
    let certain = waiters.iter().chain(steps).filter(|role| role.1).count();
    assert!((certain..=all).contains(&(entered as usize)), "{entered} critical sections");
    guarded.settled(entered);
}

/// One sleeps when another comes and spins.
fn spins_past() {
    let guarded = Guarded::keep();
    let waiters = set_stage(|| {
        guarded.raw.lock();
        let mut waiters = asleep(guarded, &[Guarded::round]);
        waiters.push(spawn(move || guarded.round()));
        rest();
        waiters
    });
    guarded.leave();
    join(waiters);
    guarded.settled(3);
}

/// The word's bits, as [`RawMutex`] documents them.
const GENERATION: u32 = 0xfff << 16;
const GRANTED: u32 = 1 << 29;
const WAITERS: u32 = 1 << 30;
const HANDOFF: u32 = 1 << 31;

/// In a forked child: the owner's copy has the lock, which is reserved for a thread that does not exist here.
fn vanished(waiters: &[Role], steps: &[Role]) {
    let guarded = Guarded::owned();
    guarded.raw.word().fetch_or(HANDOFF | WAITERS, Relaxed);
    forked();
    wait_for(guarded, waiters, steps);
}

/// In a forked child: the lock is free, but reserved for a thread that does not exist here.
fn tries(pending: u32) {
    let guarded = Guarded::keep();
    guarded.raw.word().fetch_or(pending, Relaxed);
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
    guarded.raw.word().fetch_or(HANDOFF | WAITERS, Relaxed);
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
    let pending = guarded.raw.word().fetch_or(0, Relaxed) & GRANTED != 0;
    let got = guarded.raw.try_lock();
    if pending {
        saw("handed off fairly");
        assert!(!got || done.load(Relaxed), "the lock was promised to another");
    }
    if got {
        guarded.leave();
    }
    waiter.join();
    guarded.settled(2 + u32::from(got));
}
