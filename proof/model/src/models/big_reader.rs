//! The big-reader lock: readers in slots, which a writer gathers. All models: A1, P1. "moves": A2; "freed": A3.
//!
//! A thread's number is that of its CPU, and there are two slots. A lock that one thread acquired and another releases
//! stands for a thread that has moved to another CPU meanwhile.

use super::*;
use crate::scenarios::{shared_role, tries, write};
use turnwise::RawBigReaderLock;
use turnwise::big_reader::SPREAD_AFTER;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call():
        meet(past: past, roles: [role]), behind(past: past, roles: [role]), moves(roles: [role]),
        reader_freed(past: past),
    }
}

fn role(name: &str) -> Role<Raw> {
    named! { name: nothing = |_| (), spread, write_and_spread, write_and_spread_twice, tries; shared_role(name) }
}

type Raw = RawBigReaderLock<2, Loom>;

/// What was done with the lock before.
type Past = fn(&Raw);

fn past(name: &str) -> Past {
    named! { name: gathered = |_| (), spread = Raw::spread, meet_often }
}

/// Readers have met so often that the next meeting spreads the lock.
fn meet_often(raw: &Raw) {
    let times = 2 * SPREAD_AFTER + 1;
    (0..times).for_each(|_| raw.read());
    // SAFETY: acquired as often.
    (0..times).for_each(|_| unsafe { raw.unlock_read() });
}

const SPREAD_FLAG: u32 = 1;

impl Settles for Raw {
    /// Returns whether any thread can acquire it, and it is gathered when a writer has had it.
    fn is_settled(&self) -> bool {
        let gate = self.word();
        assert_eq!(gate.load(Relaxed) & !SPREAD_FLAG, 0, "a thread seems to move readers");
        assert!(!self.is_locked(), "locked when everybody has left");
        assert!(self.try_read(), "barred when everybody has left");
        // SAFETY: just acquired.
        unsafe { self.unlock_read() };
        self.try_lock() && gate.load(Relaxed) & SPREAD_FLAG == 0
    }
}

fn spread(pages: &Pages<Raw>) {
    pages.raw.spread();
}

fn write_and_spread(pages: &Pages<Raw>) {
    write(pages);
    spread(pages);
}

fn write_and_spread_twice(pages: &Pages<Raw>) {
    write_and_spread(pages);
    write_and_spread(pages);
}

/// The first thread reads and rests, so that the others come to wait for it.
fn behind(past: Past, roles: &'static [Role<Raw>]) {
    let pages = Pages::<Raw>::keep();
    set_stage(|| {
        past(&pages.raw);
        pages.raw.read();
    });
    wait_behind(pages, roles, Pages::leave_reading).is_over();
}

/// A reader enters on one CPU, and leaves on another, while the first thread writes.
fn moves(roles: &'static [Role<Raw>]) {
    let pages = Pages::<Raw>::keep();
    set_stage(|| pages.raw.spread());
    pages.raw.read();
    let others = start(pages, roles);
    let moved = spawn(move || pages.leave_reading());
    write(pages);
    moved.join();
    join(others);
    pages.is_over();
}

/// A reader leaves; the writer after it drops the lock while the reader may still be in its release.
fn reader_freed(past: Past) {
    let enter = |raw: &Raw| {
        past(raw);
        raw.read();
    };
    freed((enter, Pages::leave_reading));
}
