//! The big-reader lock: slots that a writer gathers.
//!
//! A thread's CPU is its number, and there are two slots.

use super::{SOON, Section, Shows, sleeps, word};
use crate::explicit::Explicit;
use crate::explicit::Size;
use crate::explicit::check::{Check, CheckSetup, Record};
use crate::platform::saw;
use Role::{HastyReader, HastyWriter, Reads, Spreads, Tries, Writes};
use turnwise::RawBigReaderLock;

const ONCE: (Size, Size) = (Size::of(3, 1), Size::of(3, 2));
const PAIR: (Size, Size) = (Size::of(2, 2), Size::of(3, 2));
const FOUR: (Size, Size) = (Size::of(3, 1), Size::of(4, 1));
const TIMED: (Size, Size) = (Size::of(2, 2).timed(1), Size::of(3, 1).timed(1));
const TRIES: (Size, Size) = (Size::of(2, 2), Size::of(3, 1));
const SIGNALS: (Size, Size) = (Size::of(2, 2).restless(), Size::of(3, 1).restless());

const WOKE: Shows = &["the gate's last woke", "left by the gate"];
const BARRED: Shows = &["barred"];
const GATE: Shows = &["left by the gate"];

pub(super) const CHECKS: &[Check] = &[
    sleeps("big_reader: a reader and two writers", ONCE, GATE, |s, z| roles(s, z, true, &[Reads, Writes, Writes])),
    sleeps("big_reader: two readers and a writer", ONCE, BARRED, |s, z| roles(s, z, true, &[Reads, Reads, Writes])),
    sleeps("big_reader: a reader and a writer come again", PAIR, BARRED, |s, z| {
        roles(s, z, true, &[Reads, Writes, Reads]);
    }),
    sleeps("big_reader: a writer, and one that spreads", PAIR, &[], |s, z| {
        roles(s, z, false, &[Spreads, Writes, Reads]);
    }),
    sleeps("big_reader: one spreads beside readers", ONCE, GATE, |s, z| {
        roles(s, z, false, &[Spreads, Reads, Writes]);
    }),
    sleeps("big_reader: spread again and again", ONCE, BARRED, |s, z| roles(s, z, true, &[Spreads, Reads, Writes])),
    sleeps("big_reader: four threads", FOUR, &[], |s, z| roles(s, z, true, &[Reads, Writes, Spreads, Reads])),
    sleeps("big_reader: one tries", TRIES, &["try failed"], |s, z| roles(s, z, true, &[Tries, Reads, Writes])),
    sleeps("big_reader: one tries, another spreads", TRIES, &[], |s, z| roles(s, z, true, &[Tries, Spreads, Reads])),
    sleeps("big_reader: time runs out", TIMED, &["gave up"], |s, z| {
        roles(s, z, true, &[HastyWriter, HastyReader, Writes]);
    }),
    sleeps("big_reader: time runs out beside readers", TIMED, &["gave up"], |s, z| {
        roles(s, z, true, &[HastyWriter, Reads, Reads]);
    }),
    sleeps("big_reader: sleepers wake for nothing", SIGNALS, GATE, |s, z| {
        roles(s, z, true, &[Reads, Writes, Spreads]);
    }),
    sleeps("big_reader: readers move", (Size::of(2, 1), Size::of(3, 1)), WOKE, moves),
    sleeps("big_reader: freed after the last release", (Size::of(3, 1), Size::of(4, 1)), &["freed"], freed),
];

type Raw = RawBigReaderLock<2, Explicit>;

/// What a thread does in each round.
#[derive(Clone, Copy)]
enum Role {
    Reads,
    Writes,
    Spreads,
    /// Tries to write, and to read.
    Tries,
    HastyReader,
    HastyWriter,
}

struct Guarded {
    raw: Raw,
    section: Section,
}

impl Guarded {
    fn keep(stage: &CheckSetup) -> &'static Guarded {
        stage.keep_watched(Guarded { raw: Raw::new_in(), section: Section::new() }, Self::watch)
    }

    /// The rare lines.
    fn watch(&self, record: &Record) {
        // SAFETY: the gate comes first in a `repr(C)` lock.
        let gate = unsafe { word(&self.raw) };
        let &Record { what, old, .. } = record;
        if what != "fetch_sub" && what != "fetch_add" {
            return;
        }
        if record.writes(gate) {
            if what == "fetch_sub" {
                saw("left by the gate");
                if old & 2 != 0 && (old as u32).cast_signed() >> 2 <= 1 {
                    saw("the gate's last woke");
                }
            }
        } else if what == "fetch_add" && old & 1 == 0 {
            saw("barred");
        }
    }

    /// When all are done, nobody is inside, and no writer seems to sleep.
    fn settled(&'static self, stage: &CheckSetup) {
        stage.at_end(move || {
            // SAFETY: as in `watch`.
            let gate = unsafe { word(&self.raw) }.peek();
            assert!(gate & 2 == 0, "a writer seems to wait when everybody has left: {gate:#x}");
            self.section.write(1);
            self.section.write(-1);
        });
    }

    fn read(&self) {
        self.section.read(1);
        self.section.read(-1);
        // SAFETY: the caller has it.
        unsafe { self.raw.unlock_read() };
    }

    fn write(&self) {
        self.section.write(1);
        self.section.write(-1);
        // SAFETY: the caller has it.
        unsafe { self.raw.unlock_write() };
    }

    fn round(&self, role: Role) {
        let raw = &self.raw;
        match role {
            Reads => {
                raw.read();
                self.read();
            }
            Writes => {
                raw.write();
                self.write();
            }
            Spreads => raw.spread(),
            Tries => self.tries(),
            HastyReader if raw.read_until(SOON) => self.read(),
            HastyWriter if raw.write_until(SOON) => self.write(),
            HastyReader | HastyWriter => saw("gave up"),
        }
    }

    fn tries(&self) {
        if self.raw.try_write() {
            self.write();
        } else {
            saw("try failed");
        }
        if self.raw.try_read() {
            self.read();
        }
    }
}

/// One thread for each role, as far as there are threads; perhaps the lock is spread before.
fn roles(stage: &CheckSetup, size: Size, spread: bool, roles: &'static [Role]) {
    let guarded = Guarded::keep(stage);
    if spread {
        stage.before(0, || guarded.raw.spread());
    }
    for &role in &roles[..size.threads] {
        stage.spawn_rounds(size.rounds, move || guarded.round(role));
    }
    guarded.settled(stage);
}

/// A reader entered on the first thread's CPU, and leaves on the second's, while the first thread writes.
fn moves(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    let enters = || {
        guarded.raw.spread();
        guarded.raw.read();
        guarded.section.read(1);
    };
    stage.before(0, enters);
    stage.spawn(move || guarded.round(Writes));
    stage.spawn(move || {
        guarded.section.read(-1);
        // SAFETY: acquired before.
        unsafe { guarded.raw.unlock_read() };
    });
    for _ in 2..size.threads {
        stage.spawn(move || guarded.round(Reads));
    }
    guarded.settled(stage);
}

/// The first thread reads, the others write.
fn freed(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    stage.before(0, || guarded.raw.spread());
    let enter = move |thread| if thread == 0 { guarded.raw.read() } else { guarded.raw.write() };
    let leave = move |thread| if thread == 0 { guarded.read() } else { guarded.write() };
    super::freed(stage, size, (&guarded.raw, &guarded.section), enter, leave);
}
