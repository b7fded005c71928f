//! The big-reader lock: readers in slots, which a writer gathers. All models: A1, P1. "moves": A2; "freed": A3.
//!
//! A thread's number is that of its CPU, and there are two slots. A lock that one thread acquired and another releases
//! stands for a thread that has moved to another CPU meanwhile.

use super::*;
use crate::scenarios::{read, read_soon, tries, write, write_soon};
use turnwise::RawBigReaderLock;
use turnwise::wait::Policy;

const WOKEN: Shows = &["slept", "woke the writer"];
const MOVED: Shows = &["moved to a slot"];
const BY_READER: Shows = &["spread by a reader"];
const ENTERED: Shows = &["entered a slot"];
const EITHER: Shows = &["got it after all", "gave up", "spread again"];
const TRIED: Shows = &["got it after all", "gave up"];

pub(super) const MODELS: &[Model] = models! { BigReader:
    // Gathered: all is the inner lock's.
    "big_reader: gathered, a writer and a reader": PARKS, (3, 6), SLEEP => meet(GATHERED, &[write, read]);
    "big_reader: a reader and one that spreads": PARKS, (3, 6), MOVED => meet(GATHERED, &[spread, read]);
    "big_reader: a writer and one that spreads": PARKS, (3, 6), SLEEP => meet(GATHERED, &[spread, write]);
    "big_reader: a reader, a writer, and one that spreads": PARKS, (1, 3), ANY =>
        meet(GATHERED, &[spread, read, write]);
    "big_reader: written, then spread": PARKS, (3, 6), ANY => meet(GATHERED, &[write_and_spread, read]);
    "big_reader: a reader that spreads, and a writer": PARKS, (1, 3), BY_READER => behind(MET, &[write, read]);
    "big_reader: a reader that spreads, and another": PARKS, (1, 3), BY_READER => behind(MET, &[read, read]);
    "big_reader: a reader that cannot spread in time": TIMED, (2, 4), &["woke unwoken"] =>
        behind(MET, &[nothing, read]);
    // Spread.
    "big_reader: a writer and a reader": PARKS, (4, 8), ANY => meet(SPREAD, &[write, read]);
    "big_reader: a writer and a reader that spin": PLAIN, (3, 6), ANY => meet(SPREAD, &[write, read]);
    "big_reader: two readers": PARKS, (3, 6), ENTERED => meet(SPREAD, &[read, read]);
    "big_reader: two writers": PARKS, (3, 6), SLEEP => meet(SPREAD, &[write, write]);
    "big_reader: a writer waits for a reader": PARKS, (3, 6), WOKEN => behind(SPREAD, &[write]);
    "big_reader: a writer waits for a reader that spins": PLAIN, (3, 6), ANY => behind(SPREAD, &[write]);
    "big_reader: a writer and a reader wait for a reader": PARKS, (1, 3), SLEEP => behind(SPREAD, &[write, read]);
    "big_reader: two writers wait for a reader": PARKS, (1, 3), WOKEN => behind(SPREAD, &[write, write]);
    "big_reader: a writer wakes for no reason": SPURIOUS, (2, 4), &["woke unwoken"] => behind(SPREAD, &[write]);
    "big_reader: a writer and two readers": PARKS, (1, 3), ANY => meet(SPREAD, &[write, read, read]);
    "big_reader: two writers and a reader": PARKS, (1, 3), ANY => meet(SPREAD, &[write, write, read]);
    "big_reader: spread again while a barred reader is on its way": PARKS, (2, 4), ANY =>
        meet(SPREAD, &[write_and_spread_twice, read]);
    // A reader on another CPU.
    "big_reader: a reader moves": PARKS, (3, 6), WOKEN => moves(&[]);
    "big_reader: a reader moves, beside another reader": PARKS, (1, 3), ANY => moves(&[read]);
    "big_reader: a reader moves, beside a writer": PARKS, (1, 3), ANY => moves(&[write]);
    // Waits that end, and tries.
    "big_reader: a timed writer": TIMED, (2, 4), EITHER => behind(SPREAD, &[write_soon]);
    "big_reader: a timed writer and a reader": TIMED, (1, 3), EITHER => behind(SPREAD, &[write_soon, read]);
    "big_reader: a timed writer and a patient one": TIMED, (1, 2), EITHER => behind(SPREAD, &[write_soon, write]);
    "big_reader: a timed reader": TIMED, (2, 4), TRIED => meet(SPREAD, &[write, read_soon]);
    "big_reader: tries and a reader": PARKS, (3, 6), &["try failed"] => meet(SPREAD, &[tries, read]);
    "big_reader: tries and a writer": PARKS, (3, 6), ANY => meet(SPREAD, &[tries, write]);
    // The end of its life.
    "big_reader: freed right after a reader's release": PARKS, (4, 8), WOKEN => reader_freed(SPREAD);
    "big_reader: freed right after a reader's release, gathered": PARKS, (3, 6), ANY => reader_freed(GATHERED);
};

type Raw = RawBigReaderLock<2, Loom>;

/// What was done with the lock before.
type Past = fn(&Raw);

const GATHERED: Past = |_| ();
const SPREAD: Past = Raw::spread;
/// Readers on the first thread's CPU have collided so often that the next collision spreads the lock.
const MET: Past = |raw| {
    let times = Policy::DEFAULT.spread_after + 1;
    (0..times).for_each(|_| raw.read());
    // SAFETY: acquired as often.
    (0..times).for_each(|_| unsafe { raw.unlock_read() });
};

const SPREAD_FLAG: u32 = 1;
const WAITING: u32 = 2;

impl Settles for Raw {
    /// Returns whether any thread can acquire it, and it is gathered when a writer has had it.
    fn is_settled(&self) -> bool {
        // SAFETY: the lock is `repr(C)`, and begins with the gate.
        let gate = unsafe { word(self) };
        assert_eq!(gate.load(Relaxed) & WAITING, 0, "a writer seems to wait");
        assert!(!self.is_locked(), "locked when everybody has left");
        assert!(self.try_read(), "barred when everybody has left");
        // SAFETY: just acquired.
        unsafe { self.unlock_read() };
        self.try_lock() && gate.load(Relaxed) & SPREAD_FLAG == 0
    }
}

fn nothing(_: &Pages<Raw>) {}

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
