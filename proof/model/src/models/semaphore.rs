//! The semaphore: a thread that takes a permit sees what its giver did (A1), no queued thread is forgotten (P1), and a
//! waiter that gives up consumes no wake-up (P5). "dropped": A2; "moves in order": P2; "fork": P4.

use super::*;
use std::sync::atomic::AtomicBool;
use turnwise::Semaphore;
use turnwise::platform::Lane;
use turnwise_catalogue::OnePermit;

pub(super) fn scene(call: &mut Call) -> Body {
    match call.name {
        "fair" => kind::<true>(call.of_type()),
        "barging" => kind::<false>(call.of_type()),
        _ => scenes! { call(): in_order(), woken_late() },
    }
}

fn kind<const FAIR: bool>(call: &mut Call) -> Body {
    scenes! { call(): sizes::<FAIR>(), timed::<FAIR>(patient), vanished::<FAIR>(); lock::<One<FAIR>>(call) }
}

/// A semaphore; as a lock it has one permit.
type One<const FAIR: bool> = OnePermit<FAIR, Loom>;

impl<const FAIR: bool> Settles for One<FAIR> {
    fn is_settled(&self) -> bool {
        has(self, 1);
        true
    }
}

/// All threads are done: no thread is queued, and all permits are there.
fn has<const FAIR: bool>(one: &One<FAIR>, permits: u32) {
    assert_eq!(one.0.available(), permits, "permits");
    assert_eq!(one.0.word().fetch_or(0, Relaxed), permits, "a flag is left when everybody has left");
    assert!(one.0.try_acquire_many(permits).is_some(), "nobody has them");
}

impl<const FAIR: bool> Guarded<One<FAIR>> {
    fn impatient(&self) {
        let permit = self.raw.0.try_acquire_until(1, EARLY);
        if in_time(permit.is_some()) {
            self.section.alone();
        }
    }
}

/// One wants two permits, one wants one; they come one by one.
fn sizes<const FAIR: bool>() {
    let semaphore = keep(OnePermit(Semaphore::<FAIR, Loom>::new_in(0)));
    let large = spawn(move || semaphore.0.acquire_many(2).forget());
    let small = spawn(move || semaphore.0.acquire().forget());
    rest();
    (0..3).for_each(|_| semaphore.0.release(1));
    large.join();
    small.join();
    has(semaphore, 0);
}

/// One timed waiter and `patient` others wait for the first thread.
fn timed<const FAIR: bool>(patient: u32) {
    let mut roles: Vec<fn(&Guarded<One<FAIR>>)> = vec![Guarded::round; patient as usize];
    roles.insert(patient as usize / 2, Guarded::impatient);
    let guarded = wait_behind(Guarded::owned(), &roles, Guarded::leave);
    let sections = guarded.section.data.get();
    guarded.settled(sections);
    assert!(sections > patient, "critical sections");
}

/// Two are queued, and get a permit each at once; a third that comes then must not get the second one's.
fn in_order() {
    let semaphore = keep(OnePermit(Semaphore::<true, Loom>::new_in(0)));
    let done = keep(AtomicBool::new(false)); // loom does not see it
    let acquire = |place: u32| {
        move |semaphore: &One<true>| {
            semaphore.0.acquire().forget();
            done.store(place == 2, Relaxed);
        }
    };
    let line = set_stage(|| asleep(semaphore, &[acquire(1), acquire(2)]));
    semaphore.0.release(2);
    match semaphore.0.try_acquire() {
        Some(_) => panic!("a permit that is another's"),
        None if done.load(Relaxed) => {}
        None => saw("refused"),
    }
    join(line);
    has(semaphore, 0);
}

/// A thread is woken for the first place when another has taken it, and its time is out: it must record that a third
/// sleeps. It is woken here as by a thread that left the place and found no sleeper ([`Semaphore`]'s step B).
fn woken_late() {
    let guarded = Guarded::<One<true>>::owned();
    let line = set_stage(|| {
        let roles: [fn(&Guarded<One<true>>); 3] = [Guarded::round, Guarded::impatient, Guarded::round];
        let line = asleep(guarded, &roles);
        later();
        guarded.raw.0.word().fetch_and(!WAITERS, Relaxed);
        Loom::wake(guarded.raw.0.word(), Lane::Waiters, 1);
        line
    });
    // SAFETY: this thread has it.
    unsafe { guarded.raw.unlock() };
    join(line);
    has(&guarded.raw, 1);
}

/// The word's bits, as the semaphore documents them.
const HANDOFF: u32 = 1 << 28;
const FIRST: u32 = 1 << 30;
const WAITERS: u32 = 1 << 31;

/// In a forked child: the owner's copy has the permit, for which threads are queued that do not exist here.
fn vanished<const FAIR: bool>() {
    let guarded = Guarded::<One<FAIR>>::owned();
    guarded.raw.0.word().fetch_or(HANDOFF | FIRST | WAITERS, Relaxed);
    forked();
    wait_behind(guarded, &[Guarded::round; 2], Guarded::leave).settled(3);
}
