//! The semaphore: a thread that takes a permit sees what its giver did (A1), no queued thread is forgotten (P1), and a
//! waiter that gives up consumes no wake-up (P5). "dropped": A2; "moves in order": P2; "fork": P4.

use super::*;
use std::sync::atomic::AtomicBool;
use turnwise::Semaphore;
use turnwise::platform::Lane;

const SLEEP: Shows = &["slept in the first lane", "woken in the first lane"];
const LINE: Shows = &["slept in the first lane", "woken in the first lane", "slept"];
const EITHER: Shows = &["woke unwoken", "got it after all", "gave up"];
const GIVEN_UP: Shows = &["woke unwoken", "gave up"];
const ORDER: Shows = &["passed the place on", "refused"];

models_of!(Semaphore);

pub(super) const MODELS: &[Model] = &[
    model("semaphore: one permit, two threads", PARKS, (3, 6), SLEEP, || all::<false>(2, 1)),
    model("semaphore: one permit, two threads, fair", PARKS, (3, 6), SLEEP, || all::<true>(2, 1)),
    model("semaphore: one permit, two threads, twice", PARKS, (2, 4), SLEEP, || all::<true>(2, 2)),
    model("semaphore: one permit, three threads", PARKS, (1, 2), LINE, || all::<false>(3, 1)),
    model("semaphore: one permit, three threads, fair", PARKS, (1, 2), LINE, || all::<true>(3, 1)),
    model("semaphore: two in line", PARKS, (1, 2), LINE, || held::<true>(2, false)),
    model("semaphore: three in line", PARKS, (0, 1), LINE, || held::<true>(3, false)),
    model("semaphore: two in line, one comes past", PARKS, (0, 1), LINE, || held::<false>(2, true)),
    model("semaphore: the first claims", LATE, (0, 1), LINE, || held::<false>(2, true)),
    model("semaphore: one alone in line claims", LATE, (1, 2), &["claimed"], || held::<false>(1, false)),
    model("semaphore: one in line wakes for no reason", RESTLESS, (1, 2), LINE, || held::<true>(2, false)),
    model("semaphore: one in line is interrupted", INTERRUPTED, (1, 2), LINE, || held::<true>(2, false)),
    model("semaphore: a large request and a small one", PARKS, (1, 2), LINE, sizes::<true>),
    model("semaphore: a large request and a small one, barging", PARKS, (1, 2), LINE, sizes::<false>),
    model("semaphore: a timed waiter", TIMED, (3, 6), EITHER, || timed::<false>(0)),
    model("semaphore: a timed waiter and a patient one", TIMED, (1, 2), EITHER, || timed::<true>(1)),
    model("semaphore: a timed waiter and a patient one, barging", TIMED, (1, 2), EITHER, || timed::<false>(1)),
    model("semaphore: a timed waiter behind a patient one", TIMED, (0, 1), GIVEN_UP, || timed::<true>(2)),
    model("semaphore: the line moves in order", PARKS, (2, 4), ORDER, in_order),
    model("semaphore: woken for a place that is taken", PARKS, (1, 3), &["gave up with a duty"], woken_late),
    model("semaphore: a try", PARKS, (3, 6), &[], attempt),
    model("semaphore: the line vanished in a fork", PARKS, (1, 3), LINE, vanished::<false>),
    model("semaphore: the line vanished in a fork, fair", PARKS, (1, 3), LINE, vanished::<true>),
    model("semaphore: dropped right after the release", PARKS, (3, 4), DROP, || dropped(2)),
    model("semaphore: three threads, dropped right after the release", PARKS, (1, 2), DROP, || dropped(3)),
];

/// A semaphore and what it protects, if it has one permit.
struct Guarded<const FAIR: bool> {
    semaphore: Semaphore<FAIR, Loom>,
    data: Protected,
}

impl<const FAIR: bool> Guarded<FAIR> {
    fn keep(permits: u32) -> &'static Self {
        keep(Guarded { semaphore: Semaphore::new_in(permits), data: Protected::new() })
    }

    fn section(&self) {
        let permit = self.semaphore.acquire();
        self.data.add();
        drop(permit);
    }

    fn impatient(&self) {
        let permit = self.semaphore.try_acquire_until(1, EARLY);
        if in_time(permit.is_some()) {
            self.data.add();
        }
    }

    /// All threads are done: no thread is queued, and all permits are there.
    fn settled(&self, permits: u32) {
        assert_eq!(self.semaphore.available(), permits, "permits");
        assert_eq!(self.word().fetch_or(0, Relaxed), permits, "a flag is left when everybody has left");
        assert!(self.semaphore.try_acquire_many(permits).is_some(), "nobody has them");
    }
}

fn all<const FAIR: bool>(threads: u32, rounds: u32) {
    let guarded = Guarded::<FAIR>::keep(1);
    together(threads, move || (0..rounds).for_each(|_| guarded.section()));
    guarded.settled(1);
    assert_eq!(guarded.data.get(), threads * rounds, "critical sections");
}

/// The first thread has the permit and rests, so that `others` queue up; then it may come `again`.
fn held<const FAIR: bool>(others: u32, again: bool) {
    let guarded = Guarded::<FAIR>::keep(1);
    let permit = guarded.semaphore.acquire();
    let handles: Vec<_> = (0..others).map(|_| spawn(move || guarded.section())).collect();
    rest();
    guarded.data.add();
    drop(permit);
    if again {
        guarded.section();
    }
    handles.into_iter().for_each(Handle::join);
    guarded.settled(1);
    assert_eq!(guarded.data.get(), 1 + others + u32::from(again), "critical sections");
}

/// One wants two permits, one wants one; they come one by one.
fn sizes<const FAIR: bool>() {
    let guarded = Guarded::<FAIR>::keep(0);
    let large = spawn(move || guarded.semaphore.acquire_many(2).forget());
    let small = spawn(move || guarded.semaphore.acquire().forget());
    rest();
    (0..3).for_each(|_| guarded.semaphore.release(1));
    large.join();
    small.join();
    guarded.settled(0);
}

/// One timed waiter and `patient` others wait for the first thread.
fn timed<const FAIR: bool>(patient: u32) {
    let guarded = Guarded::<FAIR>::keep(1);
    let permit = guarded.semaphore.acquire();
    let before = patient / 2;
    let handles: Vec<_> = (0..before).map(|_| spawn(move || guarded.section())).collect();
    let timed = spawn(move || guarded.impatient());
    let more: Vec<_> = (before..patient).map(|_| spawn(move || guarded.section())).collect();
    rest();
    guarded.data.add();
    drop(permit);
    handles.into_iter().chain(more).for_each(Handle::join);
    timed.join();
    guarded.settled(1);
    assert!(guarded.data.get() > patient, "critical sections");
}

/// Two are queued, and get a permit each at once; a third that comes then must not get the second one's.
fn in_order() {
    let guarded = Guarded::<true>::keep(0);
    let done = keep(AtomicBool::new(false)); // loom does not see it
    let mut line = Vec::new();
    set_stage(|| {
        for place in 1..=2 {
            line.push(spawn(move || {
                guarded.semaphore.acquire().forget();
                done.store(place == 2, Relaxed);
            }));
            sleepers(place);
        }
    });
    guarded.semaphore.release(2);
    match guarded.semaphore.try_acquire() {
        Some(_) => panic!("a permit that is another's"),
        None if done.load(Relaxed) => {}
        None => saw("refused"),
    }
    line.into_iter().for_each(Handle::join);
    guarded.settled(0);
}

/// A thread is woken for the first place when another has taken it, and its time is out: it must record that a third
/// sleeps. It is woken here as by a thread that left the place and found no sleeper ([`Semaphore`]'s step B).
fn woken_late() {
    let guarded = Guarded::<true>::keep(1);
    let permit = guarded.semaphore.acquire();
    let mut line = Vec::new();
    set_stage(|| {
        let roles: [fn(&Guarded<true>); 3] = [Guarded::section, Guarded::impatient, Guarded::section];
        for (role, place) in roles.into_iter().zip(1..) {
            line.push(spawn(move || role(guarded)));
            sleepers(place);
        }
        later();
        guarded.word().fetch_and(!WAITERS, Relaxed);
        Loom::wake(guarded.word(), Lane::Waiters, 1);
    });
    drop(permit);
    line.into_iter().for_each(Handle::join);
    guarded.settled(1);
}

impl<const FAIR: bool> Guarded<FAIR> {
    fn word(&self) -> &LoomU32 {
        // SAFETY: the word comes first in a `repr(C)` semaphore.
        unsafe { word(&self.semaphore) }
    }
}

fn attempt() {
    let guarded = Guarded::<true>::keep(1);
    let other = spawn(move || guarded.section());
    let permit = guarded.semaphore.try_acquire();
    let got = u32::from(permit.is_some());
    if permit.is_some() {
        guarded.data.add();
    }
    drop(permit);
    other.join();
    guarded.settled(1);
    assert_eq!(guarded.data.get(), 1 + got, "critical sections");
}

fn dropped(threads: u32) {
    drop_after_release(Semaphore::<true, Loom>::new_in(1), threads, |semaphore, section| {
        let permit = semaphore.acquire();
        section();
        drop(permit);
    });
}

/// The word's bits, as the semaphore documents them.
const CLAIM: u32 = 1 << 28;
const FIRST: u32 = 1 << 30;
const WAITERS: u32 = 1 << 31;

/// In a forked child: the owner's copy has the permit, for which threads are queued that do not exist here.
fn vanished<const FAIR: bool>() {
    let guarded = Guarded::<FAIR>::keep(1);
    let permit = guarded.semaphore.acquire();
    guarded.word().fetch_or(CLAIM | FIRST | WAITERS, Relaxed);
    forked();
    let others = [(); 2].map(|()| spawn(move || guarded.section()));
    rest();
    guarded.data.add();
    drop(permit);
    others.into_iter().for_each(Handle::join);
    assert_eq!(guarded.data.get(), 3, "critical sections");
    guarded.settled(1);
}
