//! The readers-writer lock, with upgrades and downgrades.

use super::*;
use crate::scenarios::{
    downgrade, lower, read, read_first, read_soon, upgradable, upgrade, upgrade_soon, write, write_soon,
};
use turnwise::RawRwSem;
use turnwise::platform::SpinLimit;
use turnwise::rwsem::Prefer;

const SPIN_LATE: (Size, Size) = (Size::of(2, 2).late(1), Size::of(3, 1).late(1));
const LATE: (Size, Size) = (Size::of(3, 1).late(1), Size::of(3, 1).late(2));
const TIMED: (Size, Size) = (Size::of(3, 1).timed(1), Size::of(3, 1).timed(2));
const TIMED_LATE: (Size, Size) = (Size::of(2, 3).timed(1).late(1), Size::of(3, 1).timed(1).late(1));
const AGAIN: (Size, Size) = (Size::of(2, 2), Size::of(3, 2));
const FORKED_ONCE: (Size, Size) = (Size::of(2, 1).forked(), Size::of(3, 1).forked());
const STOPPED: (Size, Size) = (Size::of(3, 2).stopped(), Size::of(3, 2).stopped());
const STOPPED_ONCE: (Size, Size) = (Size::of(3, 1).stopped(), Size::of(3, 2).stopped());
const STOPPED_PAIR: (Size, Size) = (Size::of(2, 3).late(1).stopped(), Size::of(3, 2).late(1).stopped());
const LAPSES_TIMED: (Size, Size) = (Size::of(3, 3).timed(1), Size::of(3, 4).timed(1));
const GIVEN_UP: Shows = &["requested", "lapsed", "gave up"];
const LAPSES: Shows = &["requested", "lapsed", "stopped"];
const BESIDE_LATE: (Size, Size) = (Size::of(3, 2).late(1), Size::of(3, 2).late(2));
const FORKS: Shows = &["forked"];
const VOID: Shows = &["forked", "requested", "stale hand-off cleared"];

pub(super) const CHECKS: &[Check] = checks! {
    "rwsem: a reader and two writers": SLEEPS, ONCE, &["stole"] => roles: &[read, write, write];
    "rwsem: two readers and a writer": SLEEPS, ONCE, &["took back"] => roles: &[read, read, write];
    "rwsem: readers first": SLEEPS, ONCE, ANY => roles: &[read_first, read_first, write];
    "rwsem: a reader reads again": SLEEPS, ONCE, &["read again"] => roles: &[read_again, write, read];
    "rwsem: a reader reads again past a request": SLEEPS, LATE, &["read again", "requested"] =>
        roles: &[read_again, write, write];
    "rwsem: a reader reads again past an upgrade": SLEEPS, LATE, &["read again", "upgraded"] =>
        roles: &[read_again, upgrade, write];
    "rwsem: readers go first past an upgrade": SLEEPS, LATE, &["upgraded"] => roles: &[read_first, upgrade, read];
    "rwsem: readers go first past an upgrade that gives up": SLEEPS, TIMED_PAIR, &["gave up upgrading"] =>
        roles: &[upgrade_soon, read_first, write];
    "rwsem: readers of both kinds": SLEEPS, LATE, ANY => roles: &[read_first, read, write];
    "rwsem: four threads": SLEEPS, FOUR, ANY => roles: &[read, upgrade, write, write];
    "rwsem: an upgrade": SLEEPS, ONCE, &["upgraded"] => roles: &[upgrade, read, write];
    "rwsem: two upgrade": SLEEPS, ONCE, &["upgraded"] => roles: &[upgrade, upgrade, read];
    "rwsem: downgrades": SLEEPS, PAIR, ANY => roles: &[downgrade, lower, read];
    "rwsem: one tries": SLEEPS, ONCE, &["try failed"] => roles: &[tries, read, write];
    "rwsem: a writer that has left tries again": SLEEPS, AGAIN, &["try failed", "took back"] =>
        tries_again: Prefer::Writers;
    "rwsem: a writer that has left tries again, and readers go first": SLEEPS, AGAIN, &["try failed"] =>
        tries_again: Prefer::Readers;
    "rwsem: hand-off requests": SLEEPS, LATE, &["requested", "handed off"] => roles: &[read, write, write];
    "rwsem: each wait has other settings": SPINS, ONCE, &["requested"] => roles: &[read_tuned, write_tuned, write];
    "rwsem: readers claim": SLEEPS, LATE, &["requested"] => roles: &[read, read, write];
    "rwsem: upgradable readers request hand-offs": SLEEPS, LATE_PAIR, &["requested"] => roles: &[upgrade, write, read];
    "rwsem: time runs out": SLEEPS, TIMED, &["gave up"] => roles: &[write_soon, read_soon, write];
    "rwsem: beside readers": SLEEPS, TIMED, &["gave up"] => roles: &[write_soon, read, read];
    "rwsem: an upgrade gives up": SLEEPS, TIMED_PAIR, &["gave up upgrading"] => roles: &[upgrade_soon, read, write];
    "rwsem: a hand-off waiter's time runs out": SLEEPS, TIMED_LATE, &["gave up while first"] =>
        roles: &[write_soon, write, read];
    "rwsem: sleepers wake for nothing": SLEEPS, SIGNALS, ANY => roles: &[read, write, upgrade];
    "rwsem: writers spin": SPINS, PAIR, ANY => roles: &[write, write, write];
    "rwsem: readers and writers spin": SPINS, PAIR, ANY => roles: &[read, write, upgrade];
    "rwsem: writers request and spin": SPINS, SPIN_LATE, &["requested", "spun while first"] =>
        roles: &[write, write, read];
    "rwsem: readers request and spin": SPINS, SPIN_LATE, &["requested"] => roles: &[read, write, write];
    "rwsem: a writer comes often": SPINS, (Size::of(2, 6), Size::of(3, 2)), &["spun with a duty"] => often;
    "rwsem: a writer forks": SLEEPS, FORKED, VOID => forks: true, &[write, read_first], &[write, read];
    "rwsem: a writer forks before readers": SLEEPS, FORKED, VOID => forks: true, &[read, upgrade], &[write, read];
    "rwsem: a reader forks": SLEEPS, FORKED, FORKS => forks: false, &[upgrade, write], &[write, read];
    "rwsem: a writer forks before spinners": SPINS, FORKED_ONCE, FORKS => forks: true, &[write, write], &[write];
    "rwsem: a reader beside an upgradable reader": SLEEPS, ONCE, ANY => beside: &[upgradable];
    "rwsem: a reader beside an upgradable reader, past a request": SLEEPS, BESIDE_LATE, &["requested"] =>
        beside: &[upgradable];
    "rwsem: all kinds beside an upgrade": SLEEPS, FOUR, &["upgraded"] => roles: &[upgrade, upgradable, read, write];
    "rwsem: two wait to be upgradable": SLEEPS, LATE, &["requested"] => roles: &[upgradable, upgradable, upgrade];
    "rwsem: a hand-off request lapses and is given up": SLEEPS, LAPSES_TIMED, GIVEN_UP =>
        stops: true, &[write_tuned_soon, write, write_tuned];
    "rwsem: a writer is stopped": SLEEPS, STOPPED, LAPSES => stops: true, &[write_tuned, write, read];
    "rwsem: a writer is stopped beside writers": SLEEPS, STOPPED, LAPSES => stops: true, &[write_tuned, write, write];
    "rwsem: a writer is stopped beside readers": SLEEPS, STOPPED_ONCE, &["stopped"] =>
        stops: false, &[write_tuned, read, read];
    "rwsem: a reader is stopped": SLEEPS, STOPPED_PAIR, LAPSES => stops: true, &[read_tuned, write, read];
    "rwsem: a waiter is stopped beside tries": SLEEPS, STOPPED, &["stopped"] =>
        stops: true, &[write_tuned, write, tries];
    "rwsem: an upgradable reader is stopped": SLEEPS, STOPPED_PAIR, LAPSES => stops: true, &[upgradable, write, read];
    "rwsem: a waiter is stopped beside upgradable readers": SLEEPS, STOPPED_ONCE, &["stopped"] =>
        stops: false, &[write_tuned, upgrade, upgradable];
    "rwsem: freed after the last release": SLEEPS, FOUR, &["freed"] => freed;
};

const COUNT: u64 = (1 << 21) - 1;
const UPGRADABLE: u64 = 1 << 27;
const WRITER: u64 = 1 << 28;
const HANDOFF: u64 = 1 << 29;
const READERS: u64 = 1 << 30;
const WRITERS: u64 = 1 << 31;
const HELD: u64 = COUNT | UPGRADABLE | WRITER;

type Raw = RawRwSem<Explicit>;

struct Guarded {
    pages: Pages<Raw>,
    request: Request,
    /// In a forked child: a thread that has the lock, or seems to have it, has vanished.
    kept: Cell<bool>,
}

impl Guarded {
    fn keep(stage: &CheckSetup) -> &'static Guarded {
        let guarded = Guarded { pages: Pages::new(), request: Request::new(), kept: Cell::new(false) };
        stage.keep_watched(guarded, Self::watch)
    }

    fn word(&self) -> &ExplicitWord<u32> {
        // SAFETY: the word comes first in a `repr(C)` lock.
        unsafe { word(&self.pages.raw) }
    }

    /// Checks invariant 5, and notes the rare lines.
    fn watch(&self, record: &Record) {
        let &Record { thread, what, old, new, spins, .. } = record;
        if !record.writes(self.word()) {
            return;
        }
        let (set, cleared) = (new & !old, old & !new);
        let held = old & (WRITER | UPGRADABLE) != 0;
        let taken = what == "cmpxchg" && !held && (set & (WRITER | UPGRADABLE) != 0 || new & COUNT > old & COUNT);
        if taken && set & WRITER != 0 && old & (READERS | WRITERS) != 0 && old & HANDOFF == 0 {
            saw("stole");
        }
        if what == "cmpxchg" && old & WRITER != 0 && new.wrapping_add(1) == old {
            saw("took back");
        }
        if taken && spins && set & WRITERS != 0 {
            saw("spun with a duty");
        }
        if taken && spins && old & HANDOFF != 0 {
            saw("spun while first");
        }
        if is_stopped(0) {
            saw("stopped");
        }
        self.request.follow(thread, (taken, old & HANDOFF != 0), (set & HANDOFF != 0, cleared & HANDOFF != 0));
    }

    /// When all are done, the word is empty.
    fn settled(&'static self, stage: &CheckSetup) {
        stage.at_end(|| self.is_settled());
    }

    fn is_settled(&self) {
        let word = u64::from(self.word().peek());
        let is_free = if is_stopped(0) { word & HELD == 0 } else { word == 0 };
        assert!(is_free || self.kept.get(), "held, or flags left, when everybody has left: {word:#x}");
    }
}

/// Reads again, past waiting writers, while it has the lock.
fn read_again(pages: &Pages<Raw>) {
    pages.raw.read();
    pages.section.read(1);
    pages.raw.read_with(Prefer::Readers, None);
    saw("read again");
    pages.section.read(-1);
    // SAFETY: acquired twice.
    unsafe {
        pages.raw.unlock_read();
        pages.raw.unlock_read();
    }
}

fn read_tuned(pages: &Pages<Raw>) {
    pages.raw.read_tuned(Prefer::Writers, None, AT_ONCE);
    pages.leave_reading();
}

fn write_tuned(pages: &Pages<Raw>) {
    pages.raw.write_tuned(None, AT_ONCE);
    pages.leave_writing();
}

fn write_tuned_soon(pages: &Pages<Raw>) {
    if scenarios::in_time(pages.raw.write_tuned(Some(SOON), AT_ONCE)) {
        pages.leave_writing();
    }
}

/// Tries to write, to read upgradably, and to read, and releases what it acquired.
fn tries(pages: &Pages<Raw>) {
    let raw = &pages.raw;
    let [write, upgradable, read] = [raw.try_lock(), raw.try_upgradable_read(), raw.try_read()];
    if !write && !upgradable && !read {
        return saw("try failed");
    }
    assert!(!write || !upgradable && !read, "a reader beside the writer, which is the same thread");
    if write {
        pages.leave_writing();
    }
    if upgradable {
        pages.leave_upgradable();
    }
    if read {
        pages.leave_reading();
    }
}

/// Starts one thread for each role, up to the number of threads.
fn roles(stage: &CheckSetup, size: Size, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    start(stage, size, &guarded.pages, roles);
    guarded.settled(stage);
}

/// The first thread writes, and then tries to write again; the others try to read. Some attempt succeeds: a free lock
/// is never found taken.
fn tries_again(stage: &CheckSetup, size: Size, prefer: Prefer) {
    let guarded = Guarded::keep(stage);
    let succeeded = stage.keep(ExplicitWord::new(0_u32));
    stage.spawn(move || {
        for _ in 0..size.rounds {
            guarded.pages.raw.lock();
            guarded.pages.leave_writing();
        }
        if guarded.pages.raw.try_lock() {
            succeeded.store(1, std::sync::atomic::Ordering::Relaxed);
            guarded.pages.leave_writing();
        } else {
            saw("try failed");
        }
    });
    for _ in 1..size.threads {
        stage.spawn(move || {
            if guarded.pages.raw.try_read_with(prefer) {
                succeeded.store(1, std::sync::atomic::Ordering::Relaxed);
                guarded.pages.leave_reading_with(prefer);
            }
        });
    }
    stage.at_end(move || {
        assert!(succeeded.peek() != 0, "all tries failed, though nobody has the lock");
        guarded.is_settled();
    });
}

/// The first thread reads upgradably until the second, a reader, is inside, too; the others come repeatedly.
fn beside(stage: &CheckSetup, size: Size, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    let inside = stage.keep(ExplicitWord::new(0_u32));
    stage.spawn(move || {
        guarded.pages.raw.upgradable_read();
        let _ = Explicit::spin_until(inside, |inside| inside == 1, SpinLimit::NONE);
        guarded.pages.leave_upgradable();
    });
    stage.spawn(move || {
        guarded.pages.raw.read();
        inside.store(1, std::sync::atomic::Ordering::Relaxed);
        guarded.pages.leave_reading();
    });
    for &role in roles {
        stage.spawn_rounds(size.rounds, move || role(&guarded.pages));
    }
    guarded.settled(stage);
}

/// The first thread comes once, and may be stopped in its sleep. The next comes repeatedly and, if it writes, `holds`
/// the lock at first; others come once. They still get their turns.
fn stops(stage: &CheckSetup, size: Size, holds: bool, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    if holds {
        stage.before(1, || guarded.pages.raw.lock());
    }
    stage.spawn(move || roles[0](&guarded.pages));
    stage.spawn(move || {
        if holds {
            guarded.pages.leave_writing();
        }
        for _ in u32::from(holds)..size.rounds {
            roles[1](&guarded.pages);
        }
    });
    for &role in &roles[2..size.threads] {
        stage.spawn(move || role(&guarded.pages));
    }
    guarded.settled(stage);
}

/// The first thread comes repeatedly, so that another writer cannot fall asleep.
fn often(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    stage.spawn_rounds(size.rounds, move || write(&guarded.pages));
    stage.spawn_many(size.threads - 1, 1, move || write(&guarded.pages));
}

/// The first thread may fork while it has the lock. The child has none of the others, but some of its own: entries in
/// the word for others are void. Their counts and holds are not, and stay for ever: then nothing is checked.
fn forks(stage: &CheckSetup, size: Size, writes: bool, roles: &'static [Role<Raw>], child: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    stage.spawn(move || {
        write(&guarded.pages);
        let own = if writes {
            guarded.pages.raw.lock();
            WRITER
        } else {
            guarded.pages.raw.read();
            1
        };
        if fork() {
            saw("forked");
            guarded.request.vanish();
            guarded.kept.set(u64::from(guarded.word().peek()) & (COUNT | UPGRADABLE | WRITER) != own);
        }
        if guarded.kept.get() {
            return;
        }
        if writes {
            guarded.pages.leave_writing();
        } else {
            guarded.pages.leave_reading();
        }
    });
    for &role in &roles[..size.threads - 1] {
        stage.spawn_rounds(size.rounds, move || role(&guarded.pages));
    }
    for &role in child {
        stage.spawn_in_child(move || {
            if !guarded.kept.get() {
                role(&guarded.pages);
            }
        });
    }
    guarded.settled(stage);
}

fn freed(stage: &CheckSetup, size: Size) {
    freed_pages(stage, size, &Guarded::keep(stage).pages);
}
