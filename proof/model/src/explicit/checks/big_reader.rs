//! The big-reader lock: slots that a writer gathers.
//!
//! A thread's CPU is its number, and there are two slots.

use super::*;
use crate::scenarios::{read, shared_role, tries, write};
use turnwise::RawBigReaderLock;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): roles(first, who: [role]), moves(), freed() }
}

fn role(name: &str) -> Role<Raw> {
    named! { name: spread = |pages| pages.raw.spread(), tries; shared_role(name) }
}

type Raw = RawBigReaderLock<2, Explicit>;

type Guarded = Pages<Raw>;

impl Guarded {
    fn keep(stage: &CheckSetup) -> &'static Guarded {
        stage.keep_watched(Guarded::new(), Self::watch)
    }

    /// Notes the rare lines.
    fn watch(&self, record: &Record) {
        let gate = self.raw.word();
        let &Record { what, old, new, .. } = record;
        if record.writes(gate) {
            saw_if(what == "cmpxchg" && new >> 2 != old >> 2 && old & 1 != 0 && new & 1 != 0, "left by the gate");
            saw_if(what == "swap", "gathered");
        }
    }

    /// When all are done, no thread is inside, and none appears to move readers.
    fn settled(&'static self, stage: &CheckSetup) {
        stage.at_end(move || {
            let gate = self.raw.word().peek();
            assert!(gate & !1 == 0, "a thread seems to move readers when everybody has left: {gate:#x}");
            self.section.count(Writer, 1);
            self.section.count(Writer, -1);
        });
    }
}

/// Starts one thread for each role, up to the number of threads; `spread` spreads the lock first.
fn roles(stage: &CheckSetup, size: Size, spread: bool, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    if spread {
        stage.before(0, || guarded.raw.spread());
    }
    start(stage, size.rounds, guarded, &roles[..size.threads]);
    guarded.settled(stage);
}

/// A reader enters on the first thread's CPU and leaves on the second's, while the first thread writes.
fn moves(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    let enters = || {
        guarded.raw.spread();
        guarded.raw.read();
        guarded.section.count(Reader, 1);
    };
    stage.before(0, enters);
    stage.spawn(move || write(guarded));
    stage.spawn(move || {
        guarded.section.count(Reader, -1);
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
