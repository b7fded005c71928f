//! The big-reader lock: slots that a writer gathers.
//!
//! A thread's CPU is its number, and there are two slots.

use super::*;
use crate::scenarios::{read, read_soon, tries, write, write_soon};
use turnwise::RawBigReaderLock;

const AGAIN: (Size, Size) = (Size::of(2, 2), Size::of(3, 2));

const WOKE: Shows = &["the gate's last woke", "left by the gate"];
const BARRED: Shows = &["barred"];
const GATE: Shows = &["left by the gate"];

pub(super) const CHECKS: &[Check] = &[
    sleeps("big_reader: a reader and two writers", ONCE, GATE, |s, z| roles(s, z, true, &[read, write, write])),
    sleeps("big_reader: two readers and a writer", ONCE, BARRED, |s, z| roles(s, z, true, &[read, read, write])),
    sleeps("big_reader: a reader and a writer come again", AGAIN, BARRED, |s, z| {
        roles(s, z, true, &[read, write, read])
    }),
    sleeps("big_reader: a writer, and one that spreads", AGAIN, &[], |s, z| roles(s, z, false, &[spread, write, read])),
    sleeps("big_reader: one spreads beside readers", ONCE, GATE, |s, z| roles(s, z, false, &[spread, read, write])),
    sleeps("big_reader: spread again and again", ONCE, BARRED, |s, z| roles(s, z, true, &[spread, read, write])),
    sleeps("big_reader: four threads", FOUR, &[], |s, z| roles(s, z, true, &[read, write, spread, read])),
    sleeps("big_reader: one tries", PAIR, &["try failed"], |s, z| roles(s, z, true, &[tries, read, write])),
    sleeps("big_reader: one tries, another spreads", PAIR, &[], |s, z| roles(s, z, true, &[tries, spread, read])),
    sleeps("big_reader: time runs out", TIMED_PAIR, &["gave up"], |s, z| {
        roles(s, z, true, &[write_soon, read_soon, write])
    }),
    sleeps("big_reader: time runs out beside readers", TIMED_PAIR, &["gave up"], |s, z| {
        roles(s, z, true, &[write_soon, read, read])
    }),
    sleeps("big_reader: sleepers wake for nothing", SIGNALS, GATE, |s, z| roles(s, z, true, &[read, write, spread])),
    sleeps("big_reader: readers move", (Size::of(2, 1), Size::of(3, 1)), WOKE, moves),
    sleeps("big_reader: freed after the last release", FOUR, &["freed"], freed),
];

type Raw = RawBigReaderLock<2, Explicit>;

type Guarded = Pages<Raw>;

impl Guarded {
    fn keep(stage: &CheckSetup) -> &'static Guarded {
        stage.keep_watched(Guarded::new(), Self::watch)
    }

    /// Notes the rare lines.
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

    /// When all are done, no thread is inside, and no writer appears to sleep.
    fn settled(&'static self, stage: &CheckSetup) {
        stage.at_end(move || {
            // SAFETY: as in `watch`.
            let gate = unsafe { word(&self.raw) }.peek();
            assert!(gate & 2 == 0, "a writer seems to wait when everybody has left: {gate:#x}");
            self.section.write(1);
            self.section.write(-1);
        });
    }
}

fn spread(pages: &Pages<Raw>) {
    pages.raw.spread();
}

/// Starts one thread for each role, up to the number of threads; `spread` spreads the lock first.
fn roles(stage: &CheckSetup, size: Size, spread: bool, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    if spread {
        stage.before(0, || guarded.raw.spread());
    }
    for &role in &roles[..size.threads] {
        stage.spawn_rounds(size.rounds, move || role(guarded));
    }
    guarded.settled(stage);
}

/// A reader enters on the first thread's CPU and leaves on the second's, while the first thread writes.
fn moves(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    let enters = || {
        guarded.raw.spread();
        guarded.raw.read();
        guarded.section.read(1);
    };
    stage.before(0, enters);
    stage.spawn(move || write(guarded));
    stage.spawn(move || {
        guarded.section.read(-1);
        // SAFETY: acquired before.
        unsafe { guarded.raw.unlock_read() };
    });
    stage.spawn_many(size.threads - 2, 1, move || read(guarded));
    guarded.settled(stage);
}

fn freed(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    stage.before(0, || guarded.raw.spread());
    freed_pages(stage, size, guarded);
}
