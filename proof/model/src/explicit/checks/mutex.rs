//! The adaptive mutex.

use super::*;
use turnwise::RawMutex;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size):
        roles(who: [role]), often(), forks(), lapses(), lapses_timed(),
        stops(anywhere, other: role), tuned(), freed(),
    }
}

/// What a thread does in a round, and whether it is certain to enter a critical section.
type Role = (fn(&Guarded), bool);

fn role(name: &str) -> Role {
    named! { name:
        round = (|guarded| guarded.round(), true), round_fair = (Guarded::round_fair, true),
        round_soon = (|guarded| guarded.round_soon(), false), try_once = (Guarded::try_once, false),
        try_first = (Guarded::try_first, true),
    }
}

const OWNER: u64 = 0xffff;
const GRANTED: u64 = 1 << 29;
const WAITERS: u64 = 1 << 30;
const HANDOFF: u64 = 1 << 31;

pub(super) type Guarded = Watched<RawMutex<Explicit>>;

impl Guarded {
    pub(super) fn keep(stage: &CheckSetup) -> &'static Guarded {
        Self::keep_watched(stage, Self::watch)
    }

    /// Checks invariant 3, and notes the rare lines.
    fn watch(&self, record: &Record) {
        let &Record { thread, old, new, spins, .. } = record;
        if !record.writes(self.raw.word()) {
            return;
        }
        let taken = old & OWNER == 0 && new & OWNER != 0;
        saw_if(taken && old & GRANTED != 0, "granted");
        saw_if(taken && spins && new & !old & WAITERS != 0, "spun with a duty");
        saw_if(taken && spins && old & HANDOFF != 0, "spun while first");
        saw_if(!taken && old & !new & GRANTED != 0, "stale hand-off cleared");
        let flag = (new & !old & HANDOFF != 0, old & !new & HANDOFF != 0);
        self.request.follow(thread, (taken, old & HANDOFF != 0), flag);
    }

    fn round_woken(&self) {
        self.raw.lock_as_woken();
        self.leave();
    }

    fn round_tuned(&self, settings: Tuned) {
        if !self.raw.lock_fast() {
            self.raw.lock_tuned(settings);
        }
        self.leave();
    }

    fn try_once(&self) {
        if self.raw.try_lock() {
            self.leave();
        } else {
            saw("try failed");
        }
    }

    fn try_first(&self) {
        if !self.raw.try_lock() {
            saw("try failed");
            self.raw.lock();
        }
        self.leave();
    }

    fn round_fair(&self) {
        self.raw.lock();
        self.leave_fairly();
    }

    /// Checks that only flags of departed sleepers, and a stopped thread's pending hand-off, remain.
    fn is_free(&self) {
        let word = u64::from(self.raw.word().peek());
        let pending = if is_stopped(0) { 0 } else { HANDOFF | GRANTED };
        assert_eq!(word & (OWNER | pending), 0, "locked or promised when everybody has left: {word:#x}");
    }

    /// When all are done: the threads that wait indefinitely have entered `sections`.
    fn settled(&'static self, stage: &CheckSetup, sections: usize) {
        stage.at_end(move || {
            assert!(self.section.entered.get() as usize >= sections, "{} sections", self.section.entered.get());
            self.is_free();
        });
    }
}

/// Each thread has a role; the last one is that of all others, too.
fn roles(stage: &CheckSetup, size: Size, who: &'static [Role]) {
    let guarded = Guarded::keep(stage);
    let roles = (0..size.threads).map(|thread| who[thread.min(who.len() - 1)]);
    for (role, _) in roles.clone() {
        stage.spawn_rounds(size.rounds, move || role(guarded));
    }
    guarded.settled(stage, roles.filter(|role| role.1).count() * size.rounds as usize);
}

/// Threads that sleep at once, and request a hand-off as soon as they are woken without success; threads that request
/// one like that, but spin; threads that do neither.
const EXTREMES: [Tuned; 3] = [AT_ONCE, Tuned { handoff_after_ns: Some(0), ..Tuned::POLICY }, Tuned::POLICY];

fn tuned(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    for thread in 0..size.threads {
        stage.spawn_rounds(size.rounds, move || guarded.round_tuned(EXTREMES[thread % EXTREMES.len()]));
    }
    guarded.settled(stage, size.threads * size.rounds as usize);
}

/// The first thread comes repeatedly, so that another cannot fall asleep.
fn often(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    stage.spawn_rounds(size.rounds, move || guarded.round());
    stage.spawn_many(size.threads - 1, 1, move || guarded.round());
    guarded.settled(stage, size.threads - 1 + size.rounds as usize);
}

/// The first thread has the lock and acquires it repeatedly past the requests of others, which may not come in time.
fn one_comes_past(stage: &CheckSetup, size: Size) -> &'static Guarded {
    let guarded = Guarded::keep(stage);
    stage.before(0, || guarded.raw.lock());
    stage.spawn(move || {
        guarded.leave();
        for _ in 1..size.rounds {
            guarded.round();
        }
    });
    guarded
}

/// All others arrive as if woken, and so request hand-offs sooner.
fn lapses(stage: &CheckSetup, size: Size) {
    let guarded = one_comes_past(stage, size);
    stage.spawn_many(size.threads - 1, 1, move || guarded.round_woken());
    guarded.settled(stage, size.threads - 1 + size.rounds as usize);
}

/// One thread has a deadline, and may mistake for its own a request that was its own when its time ran out.
fn lapses_timed(stage: &CheckSetup, size: Size) {
    let guarded = one_comes_past(stage, size);
    stage.spawn(move || {
        if scenarios::in_time(guarded.raw.lock_tuned_until(SOON, AT_ONCE)) {
            guarded.leave();
        }
    });
    stage.spawn(move || guarded.round_woken());
    guarded.settled(stage, 1 + size.rounds as usize);
}

/// The first thread comes once, and may be stopped in its wait, `anywhere` or while it sleeps. The next comes
/// repeatedly, and others once: they still get their turns.
fn stops(stage: &CheckSetup, size: Size, anywhere: bool, (other, _): Role) {
    let guarded = Guarded::keep(stage);
    stage.spawn(move || {
        stoppable(anywhere, || guarded.raw.lock_tuned(AT_ONCE));
        guarded.leave();
    });
    stage.spawn_rounds(size.rounds, move || other(guarded));
    stage.spawn_many(size.threads - 2, 1, move || other(guarded));
    stage.at_end(move || {
        let sections = size.threads - 2 + size.rounds as usize;
        let stopped = is_stopped(0);
        saw_if(stopped, "stopped");
        assert!(guarded.section.entered.get() as usize >= sections + usize::from(!stopped));
        guarded.is_free();
    });
}

/// The first thread may fork while it has the lock. The child has none of the others, but one of its own: hand-offs to
/// the others are void.
fn forks(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    stage.spawn(move || {
        guarded.round();
        guarded.enter();
        if fork() {
            saw("forked");
            guarded.request.vanish();
        }
        guarded.release();
        guarded.round();
    });
    stage.spawn_in_child(1, move || guarded.round());
    stage.spawn_many(size.threads - 1, size.rounds, move || guarded.round());
    stage.at_end(move || guarded.is_free());
}

fn freed(stage: &CheckSetup, size: Size) {
    freed_lock(stage, size, Guarded::keep(stage));
}
