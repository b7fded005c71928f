//! The readers-writer lock, with upgrades and downgrades.

use super::{Claim, SOON, Section, Shows, check, word};
use crate::explicit::check::{Check, CheckSetup, Record, fork, is_stopped};
use crate::explicit::{Explicit, ExplicitWord};
use crate::explicit::{Machine, Size};
use crate::platform::saw;
use Role::{
    Demotes, DemotesToUpgradable, HastyReader, HastyTuned, HastyWriter, Insists, Reads, ReadsAgain, ReadsFirst,
    ReadsTuned, ReadsUpgradably, Tries, Upgrades, Writes, WritesTuned,
};
use std::cell::Cell;
use turnwise::RawRwSem;
use turnwise::platform::{Platform as _, SpinLimit, Word as _};
use turnwise::rwsem::Prefer;
use turnwise::wait::Tuned;

const SPINS: Machine = Machine::SPINS;
const SLEEPS: Machine = Machine::SLEEPS;

const ONCE: (Size, Size) = (Size::of(3, 1), Size::of(3, 2));
const LATE_PAIR: (Size, Size) = (Size::of(2, 3).late(1), Size::of(3, 1).late(1));
const SPIN_LATE: (Size, Size) = (Size::of(2, 2).late(1), Size::of(3, 1).late(1));
const LATE: (Size, Size) = (Size::of(3, 1).late(1), Size::of(3, 1).late(2));
const TIMED_PAIR: (Size, Size) = (Size::of(2, 2).timed(1), Size::of(3, 1).timed(1));
const TIMED: (Size, Size) = (Size::of(3, 1).timed(1), Size::of(3, 1).timed(2));
const TIMED_LATE: (Size, Size) = (Size::of(2, 3).timed(1).late(1), Size::of(3, 1).timed(1).late(1));
const SIGNALS: (Size, Size) = (Size::of(2, 2).restless(), Size::of(3, 1).restless());
const FOUR: (Size, Size) = (Size::of(3, 1), Size::of(4, 1));
const TWO: (Size, Size) = (Size::of(2, 2), Size::of(3, 1));

const AGAIN: (Size, Size) = (Size::of(2, 2), Size::of(3, 2));
const FORKED: (Size, Size) = (Size::of(2, 1).late(1).forked(), Size::of(3, 1).late(1).forked());
const FORKED_ONCE: (Size, Size) = (Size::of(2, 1).forked(), Size::of(3, 1).forked());
/// Sleeps at once, and claims as soon as it was woken in vain.
const AT_ONCE: Tuned = Tuned { spin_ns: Some(0), claim_after_ns: Some(0), turn_ns: None };

const STOPPED: (Size, Size) = (Size::of(3, 2).stopped(), Size::of(3, 2).stopped());
const STOPPED_ONCE: (Size, Size) = (Size::of(3, 1).stopped(), Size::of(3, 2).stopped());
const STOPPED_PAIR: (Size, Size) = (Size::of(2, 3).late(1).stopped(), Size::of(3, 2).late(1).stopped());
const LAPSES_TIMED: (Size, Size) = (Size::of(3, 3).timed(1), Size::of(3, 4).timed(1));
const GIVEN_UP: Shows = &["claimed", "lapsed", "gave up"];
const LAPSES: Shows = &["claimed", "lapsed", "stopped"];
const BESIDE: (Size, Size) = (Size::of(3, 1), Size::of(3, 2));
const BESIDE_LATE: (Size, Size) = (Size::of(3, 2).late(1), Size::of(3, 2).late(2));
const FORKS: Shows = &["forked"];
const VOID: Shows = &["forked", "claimed", "void promise taken out"];

pub(super) const CHECKS: &[Check] = &[
    check("rwsem: a reader and two writers", SLEEPS, ONCE, &["stole"], |s, z| roles(s, z, &[Reads, Writes, Writes])),
    check("rwsem: two readers and a writer", SLEEPS, ONCE, &["took back"], |s, z| roles(s, z, &[Reads, Reads, Writes])),
    check("rwsem: readers first", SLEEPS, ONCE, &[], |s, z| roles(s, z, &[ReadsFirst, ReadsFirst, Writes])),
    check("rwsem: a reader reads again", SLEEPS, ONCE, &["read again"], |s, z| {
        roles(s, z, &[ReadsAgain, Writes, Reads]);
    }),
    check("rwsem: a reader reads again past a claim", SLEEPS, LATE, &["read again", "claimed"], |s, z| {
        roles(s, z, &[ReadsAgain, Writes, Writes]);
    }),
    check("rwsem: a reader reads again past an upgrade", SLEEPS, LATE, &["read again", "upgraded"], |s, z| {
        roles(s, z, &[ReadsAgain, Upgrades, Writes]);
    }),
    check("rwsem: readers go first past an upgrade", SLEEPS, LATE, &["upgraded"], |s, z| {
        roles(s, z, &[ReadsFirst, Upgrades, Reads]);
    }),
    check(
        "rwsem: readers go first past an upgrade that gives up",
        SLEEPS,
        TIMED_PAIR,
        &["gave up upgrading"],
        |s, z| {
            roles(s, z, &[Insists, ReadsFirst, Writes]);
        },
    ),
    check("rwsem: readers of both kinds", SLEEPS, LATE, &[], |s, z| roles(s, z, &[ReadsFirst, Reads, Writes])),
    check("rwsem: four threads", SLEEPS, FOUR, &[], |s, z| roles(s, z, &[Reads, Upgrades, Writes, Writes])),
    check("rwsem: an upgrade", SLEEPS, ONCE, &["upgraded"], |s, z| roles(s, z, &[Upgrades, Reads, Writes])),
    check("rwsem: two upgrade", SLEEPS, ONCE, &["upgraded"], |s, z| roles(s, z, &[Upgrades, Upgrades, Reads])),
    check("rwsem: downgrades", SLEEPS, TWO, &[], |s, z| roles(s, z, &[Demotes, DemotesToUpgradable, Reads])),
    check("rwsem: one tries", SLEEPS, ONCE, &["try failed"], |s, z| roles(s, z, &[Tries, Reads, Writes])),
    check("rwsem: a writer that has left tries again", SLEEPS, AGAIN, &["try failed", "took back"], |s, z| {
        tries_again(s, z, Prefer::Writers);
    }),
    check("rwsem: a writer that has left tries again, and readers go first", SLEEPS, AGAIN, &["try failed"], |s, z| {
        tries_again(s, z, Prefer::Readers);
    }),
    check("rwsem: claims", SLEEPS, LATE, &["claimed", "handed off"], |s, z| roles(s, z, &[Reads, Writes, Writes])),
    check("rwsem: each wait has other settings", SPINS, ONCE, &["claimed"], |s, z| {
        roles(s, z, &[ReadsTuned, WritesTuned, Writes]);
    }),
    check("rwsem: readers claim", SLEEPS, LATE, &["claimed"], |s, z| roles(s, z, &[Reads, Reads, Writes])),
    check("rwsem: upgradable readers claim", SLEEPS, LATE_PAIR, &["claimed"], |s, z| {
        roles(s, z, &[Upgrades, Writes, Reads]);
    }),
    check("rwsem: time runs out", SLEEPS, TIMED, &["gave up"], |s, z| roles(s, z, &[HastyWriter, HastyReader, Writes])),
    check("rwsem: beside readers", SLEEPS, TIMED, &["gave up"], |s, z| roles(s, z, &[HastyWriter, Reads, Reads])),
    check("rwsem: an upgrade gives up", SLEEPS, TIMED_PAIR, &["gave up upgrading"], |s, z| {
        roles(s, z, &[Insists, Reads, Writes]);
    }),
    check("rwsem: a claimant's time runs out", SLEEPS, TIMED_LATE, &["gave up while first"], |s, z| {
        roles(s, z, &[HastyWriter, Writes, Reads]);
    }),
    check("rwsem: sleepers wake for nothing", SLEEPS, SIGNALS, &[], |s, z| roles(s, z, &[Reads, Writes, Upgrades])),
    check("rwsem: writers spin", SPINS, (Size::of(2, 2), Size::of(3, 1)), &[], |s, z| {
        roles(s, z, &[Writes, Writes, Writes]);
    }),
    check("rwsem: readers and writers spin", SPINS, (Size::of(2, 2), Size::of(3, 1)), &[], |s, z| {
        roles(s, z, &[Reads, Writes, Upgrades]);
    }),
    check("rwsem: writers claim and spin", SPINS, SPIN_LATE, &["claimed", "spun while first"], |s, z| {
        roles(s, z, &[Writes, Writes, Reads]);
    }),
    check("rwsem: readers claim and spin", SPINS, SPIN_LATE, &["claimed"], |s, z| {
        roles(s, z, &[Reads, Writes, Writes]);
    }),
    check("rwsem: a writer comes often", SPINS, (Size::of(2, 6), Size::of(3, 2)), &["spun with a duty"], often),
    check("rwsem: a writer forks", SLEEPS, FORKED, VOID, |s, z| {
        forks(s, z, true, &[Writes, ReadsFirst], &[Writes, Reads])
    }),
    check("rwsem: a writer forks before readers", SLEEPS, FORKED, VOID, |s, z| {
        forks(s, z, true, &[Reads, Upgrades], &[Writes, Reads])
    }),
    check("rwsem: a reader forks", SLEEPS, FORKED, FORKS, |s, z| {
        forks(s, z, false, &[Upgrades, Writes], &[Writes, Reads])
    }),
    check("rwsem: a writer forks before spinners", SPINS, FORKED_ONCE, FORKS, |s, z| {
        forks(s, z, true, &[Writes, Writes], &[Writes])
    }),
    check("rwsem: a reader beside an upgradable reader", SLEEPS, BESIDE, &[], |s, z| beside(s, z, &[ReadsUpgradably])),
    check("rwsem: a reader beside an upgradable reader, past a claim", SLEEPS, BESIDE_LATE, &["claimed"], |s, z| {
        beside(s, z, &[ReadsUpgradably]);
    }),
    check("rwsem: all kinds beside an upgrade", SLEEPS, FOUR, &["upgraded"], |s, z| {
        roles(s, z, &[Upgrades, ReadsUpgradably, Reads, Writes]);
    }),
    check("rwsem: two wait to be upgradable", SLEEPS, LATE, &["claimed"], |s, z| {
        roles(s, z, &[ReadsUpgradably, ReadsUpgradably, Upgrades]);
    }),
    check("rwsem: a claim lapses and is given up", SLEEPS, LAPSES_TIMED, GIVEN_UP, |s, z| {
        stops(s, z, &[HastyTuned, Writes, WritesTuned]);
    }),
    check("rwsem: a writer is stopped", SLEEPS, STOPPED, LAPSES, |s, z| {
        stops(s, z, &[WritesTuned, Writes, Reads]);
    }),
    check("rwsem: a writer is stopped beside writers", SLEEPS, STOPPED, LAPSES, |s, z| {
        stops(s, z, &[WritesTuned, Writes, Writes]);
    }),
    check("rwsem: a writer is stopped beside readers", SLEEPS, STOPPED_ONCE, &["stopped"], |s, z| {
        stops(s, z, &[WritesTuned, Reads, Reads]);
    }),
    check("rwsem: a reader is stopped", SLEEPS, STOPPED_PAIR, LAPSES, |s, z| {
        stops(s, z, &[ReadsTuned, Writes, Reads]);
    }),
    check("rwsem: a waiter is stopped beside tries", SLEEPS, STOPPED, &["stopped"], |s, z| {
        stops(s, z, &[WritesTuned, Writes, Tries]);
    }),
    check("rwsem: an upgradable reader is stopped", SLEEPS, STOPPED_PAIR, LAPSES, |s, z| {
        stops(s, z, &[ReadsUpgradably, Writes, Reads]);
    }),
    check("rwsem: a waiter is stopped beside upgradable readers", SLEEPS, STOPPED_ONCE, &["stopped"], |s, z| {
        stops(s, z, &[WritesTuned, Upgrades, ReadsUpgradably]);
    }),
    check("rwsem: freed after the last release", SLEEPS, (Size::of(3, 1), Size::of(4, 1)), &["freed"], freed),
];

const COUNT: u64 = (1 << 21) - 1;
const UPGRADABLE: u64 = 1 << 27;
const WRITER: u64 = 1 << 28;
const HANDOFF: u64 = 1 << 29;
const READERS: u64 = 1 << 30;
const WRITERS: u64 = 1 << 31;
const HELD: u64 = COUNT | UPGRADABLE | WRITER;

/// What a thread does in each round.
#[derive(Clone, Copy)]
enum Role {
    Reads,
    /// Past writers that sleep.
    ReadsFirst,
    /// And again past writers that wait, while it has the lock.
    ReadsAgain,
    /// With settings of its own, as [`WritesTuned`] does.
    ReadsTuned,
    WritesTuned,
    Writes,
    ReadsUpgradably,
    /// Reads upgradably, and upgrades.
    Upgrades,
    /// Reads upgradably, and upgrades, but gives up the upgrade if that takes long.
    Insists,
    /// Writes, then reads.
    Demotes,
    /// Writes, then reads upgradably, then reads.
    DemotesToUpgradable,
    /// Tries to write, to read upgradably, and to read.
    Tries,
    HastyReader,
    HastyWriter,
    /// With settings of its own, as [`WritesTuned`] does.
    HastyTuned,
}

struct Guarded {
    raw: RawRwSem<Explicit>,
    section: Section,
    claim: Claim,
    /// In a forked child: somebody vanished who had the lock, or seems to have it.
    kept: Cell<bool>,
}

impl Guarded {
    fn keep(stage: &CheckSetup) -> &'static Guarded {
        let (raw, section) = (RawRwSem::new_in(), Section::new());
        stage.keep_watched(Guarded { raw, section, claim: Claim::new(), kept: Cell::new(false) }, Self::watch)
    }

    fn word(&self) -> &ExplicitWord<u32> {
        // SAFETY: the word comes first in a `repr(C)` lock.
        unsafe { word(&self.raw) }
    }

    /// Invariant 5, and the rare lines.
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
        self.claim.follow(thread, (taken, old & HANDOFF != 0), (set & HANDOFF != 0, cleared & HANDOFF != 0));
    }

    /// When all are done, nothing is left in the word.
    fn settled(&'static self, stage: &CheckSetup) {
        stage.at_end(|| self.is_settled());
    }

    fn is_settled(&self) {
        let word = u64::from(self.word().peek());
        let is_free = if is_stopped(0) { word & HELD == 0 } else { word == 0 };
        assert!(is_free || self.kept.get(), "held, or flags left, when everybody has left: {word:#x}");
    }

    fn write(&self) {
        self.section.write(1);
        self.section.write(-1);
        // SAFETY: the caller has it.
        unsafe { self.raw.unlock_write() };
    }

    fn read(&self, prefer: Prefer) {
        self.section.read(1);
        self.section.read(-1);
        // SAFETY: the caller has it.
        unsafe { self.raw.unlock_read_with(prefer) };
    }

    fn upgradable(&self) {
        self.section.upgradable(1);
        self.section.upgradable(-1);
        // SAFETY: the caller has it.
        unsafe { self.raw.unlock_upgradable() };
    }

    fn upgrade(&self, insists: bool) {
        let raw = &self.raw;
        raw.upgradable_read();
        self.section.upgradable(1);
        // SAFETY: acquired above.
        let upgraded = unsafe {
            if insists {
                raw.upgrade_until(SOON)
            } else {
                raw.upgrade();
                true
            }
        };
        self.section.upgradable(-1);
        if upgraded {
            saw("upgraded");
            self.write();
        } else {
            saw("gave up upgrading");
            self.upgradable();
        }
    }

    fn round(&self, role: Role) {
        let raw = &self.raw;
        match role {
            Reads => {
                raw.read();
                self.read(Prefer::Writers);
            }
            ReadsFirst => {
                raw.read_with(Prefer::Readers, None);
                self.read(Prefer::Readers);
            }
            ReadsAgain => {
                raw.read();
                self.section.read(1);
                raw.read_with(Prefer::Readers, None);
                saw("read again");
                self.section.read(-1);
                // SAFETY: acquired twice.
                unsafe {
                    raw.unlock_read();
                    raw.unlock_read();
                }
            }
            ReadsTuned => {
                raw.read_tuned(Prefer::Writers, None, AT_ONCE);
                self.read(Prefer::Writers);
            }
            WritesTuned => {
                raw.write_tuned(None, AT_ONCE);
                self.write();
            }
            Writes => {
                raw.write();
                self.write();
            }
            ReadsUpgradably => {
                raw.upgradable_read();
                self.upgradable();
            }
            Upgrades => self.upgrade(false),
            Insists => self.upgrade(true),
            Demotes | DemotesToUpgradable => self.demote(matches!(role, DemotesToUpgradable)),
            Tries => self.tries(),
            HastyReader if raw.read_until(SOON) => self.read(Prefer::Writers),
            HastyWriter if raw.write_until(SOON) => self.write(),
            HastyTuned if raw.write_tuned(Some(SOON), AT_ONCE) => self.write(),
            HastyReader | HastyWriter | HastyTuned => saw("gave up"),
        }
    }

    fn demote(&self, to_upgradable: bool) {
        self.raw.write();
        self.section.write(1);
        self.section.write(-1);
        // SAFETY: acquired above, and turned into what is released.
        unsafe {
            if to_upgradable {
                self.section.upgradable(1);
                self.raw.downgrade_to_upgradable();
                self.section.upgradable(-1);
                self.section.read(1);
                self.raw.downgrade_upgradable();
            } else {
                self.section.read(1);
                self.raw.downgrade();
            }
            self.section.read(-1);
            self.raw.unlock_read();
        }
    }

    fn tries(&self) {
        let raw = &self.raw;
        let got = [raw.try_write(), raw.try_upgradable_read(), raw.try_read()];
        match got {
            [false, false, false] => saw("try failed"),
            _ => self.tried(got),
        }
    }

    /// Releases what tries have got.
    fn tried(&self, [write, upgradable, read]: [bool; 3]) {
        assert!(!write || !upgradable && !read, "a reader beside the writer, which is the same thread");
        if write {
            self.write();
        }
        if upgradable {
            self.upgradable();
        }
        if read {
            self.read(Prefer::Writers);
        }
    }
}

/// One thread for each role, as far as there are threads.
fn roles(stage: &CheckSetup, size: Size, roles: &'static [Role]) {
    let guarded = Guarded::keep(stage);
    for &role in &roles[..size.threads] {
        stage.spawn_rounds(size.rounds, move || guarded.round(role));
    }
    guarded.settled(stage);
}

/// The first thread writes, and then tries to write again; the others try to read. Some try succeeds: a lock that
/// nobody has is not found taken.
fn tries_again(stage: &CheckSetup, size: Size, prefer: Prefer) {
    let guarded = Guarded::keep(stage);
    let succeeded = stage.keep(ExplicitWord::new(0_u32));
    stage.spawn(move || {
        for _ in 0..size.rounds {
            guarded.raw.write();
            guarded.write();
        }
        if guarded.raw.try_write() {
            succeeded.store(1, std::sync::atomic::Ordering::Relaxed);
            guarded.write();
        } else {
            saw("try failed");
        }
    });
    for _ in 1..size.threads {
        stage.spawn(move || {
            if guarded.raw.try_read_with(prefer) {
                succeeded.store(1, std::sync::atomic::Ordering::Relaxed);
                guarded.read(prefer);
            }
        });
    }
    stage.at_end(move || {
        assert!(succeeded.peek() != 0, "all tries failed, though nobody has the lock");
        guarded.is_settled();
    });
}

/// The first thread reads upgradably until the second, a reader, is inside, too; the others come again and again.
fn beside(stage: &CheckSetup, size: Size, roles: &'static [Role]) {
    let guarded = Guarded::keep(stage);
    let inside = stage.keep(ExplicitWord::new(0_u32));
    stage.spawn(move || {
        guarded.raw.upgradable_read();
        let _ = Explicit::spin_until(inside, |inside| inside == 1, SpinLimit::NONE);
        guarded.upgradable();
    });
    stage.spawn(move || {
        guarded.raw.read();
        inside.store(1, std::sync::atomic::Ordering::Relaxed);
        guarded.read(Prefer::Writers);
    });
    for &role in roles {
        stage.spawn_rounds(size.rounds, move || guarded.round(role));
    }
    guarded.settled(stage);
}

/// The first thread comes once, and may be stopped in its sleep. The next comes again and
/// again, and has the lock first if it writes; others come once. They are not kept from their turns.
fn stops(stage: &CheckSetup, size: Size, roles: &'static [Role]) {
    let guarded = Guarded::keep(stage);
    let holds = matches!(roles[1], Writes);
    if holds {
        stage.before(1, || guarded.raw.write());
    }
    stage.spawn(move || guarded.round(roles[0]));
    stage.spawn(move || {
        if holds {
            guarded.write();
        }
        for _ in u32::from(holds)..size.rounds {
            guarded.round(roles[1]);
        }
    });
    for &role in &roles[2..size.threads] {
        stage.spawn(move || guarded.round(role));
    }
    guarded.settled(stage);
}

/// The first thread comes again and again, so that another writer cannot fall asleep.
fn often(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    stage.spawn_rounds(size.rounds, move || guarded.round(Writes));
    for _ in 1..size.threads {
        stage.spawn(move || guarded.round(Writes));
    }
}

/// The first thread may fork while it has the lock. The child has none of the others, but some of its own: what stands
/// in the word for others is void. A count or a hold of theirs is not, and stays for ever: nothing is asked then.
fn forks(stage: &CheckSetup, size: Size, writes: bool, roles: &'static [Role], child: &'static [Role]) {
    let guarded = Guarded::keep(stage);
    stage.spawn(move || {
        guarded.round(Writes);
        let own = if writes {
            guarded.raw.write();
            WRITER
        } else {
            guarded.raw.read();
            1
        };
        if fork() {
            saw("forked");
            guarded.claim.vanish();
            guarded.kept.set(u64::from(guarded.word().peek()) & (COUNT | UPGRADABLE | WRITER) != own);
        }
        if guarded.kept.get() {
            return;
        }
        if writes {
            guarded.write();
        } else {
            guarded.read(Prefer::Writers);
        }
    });
    for &role in &roles[..size.threads - 1] {
        stage.spawn_rounds(size.rounds, move || guarded.round(role));
    }
    for &role in child {
        stage.spawn_in_child(move || {
            if !guarded.kept.get() {
                guarded.round(role);
            }
        });
    }
    guarded.settled(stage);
}

/// The first thread reads, the others write.
fn freed(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    let enter = move |thread| if thread == 0 { guarded.raw.read() } else { guarded.raw.write() };
    let leave = move |thread| if thread == 0 { guarded.read(Prefer::Writers) } else { guarded.write() };
    super::freed(stage, size, (&guarded.raw, &guarded.section), enter, leave);
}
