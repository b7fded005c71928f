//! The big-reader lock: readers in slots, which a writer gathers.
//!
//! A thread's number is that of its CPU, and there are two slots. What a thread acquired and another released stands
//! for a thread that has moved to another CPU meanwhile.

use super::{Protected, Shows};
use crate::check::{Lock, Model};
use crate::platform::{Handle, Identity, JUMP_NS, Loom, LoomU32, Setup, keep, rest, saw, set_stage, spawn};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use turnwise::RawBigReaderLock;
use turnwise::platform::{Clock, Deadline, Parked, Word};
use turnwise::wait::Policy;

const PLAIN: Setup = Setup::PLAIN;
const PARKS: Setup = Setup { identity: Identity::NoSlot, looks: 1, ..Setup::PLAIN };
const TIMED: Setup = Setup { alarms: 1, ..PARKS };
const RESTLESS: Setup = Setup { spurious: Some(Parked::Woken), ..PARKS };

const ANY: Shows = &[];
const SLEEP: Shows = &["slept"];
const WOKEN: Shows = &["slept", "woke the writer"];
const MOVED: Shows = &["moved to a slot"];
const BY_READER: Shows = &["spread by a reader"];
const ENTERED: Shows = &["entered a slot"];
const EITHER: Shows = &["got it after all", "gave up", "spread again"];
const TRIED: Shows = &["got it after all", "gave up"];

const fn model(name: &'static str, setup: Setup, preemptions: (usize, usize), shows: Shows, body: fn()) -> Model {
    Model { name, lock: Lock::BigReader, setup, preemptions, shows, body }
}

pub(super) const MODELS: &[Model] = &[
    // Gathered: all is the inner lock's.
    model("big_reader: gathered, a writer and a reader", PARKS, (3, 6), SLEEP, || meet(GATHERED, &[write, read])),
    model("big_reader: a reader and one that spreads", PARKS, (3, 6), MOVED, || meet(GATHERED, &[spread, read])),
    model("big_reader: a writer and one that spreads", PARKS, (3, 6), SLEEP, || meet(GATHERED, &[spread, write])),
    model("big_reader: a reader, a writer, and one that spreads", PARKS, (1, 3), ANY, || {
        meet(GATHERED, &[spread, read, write]);
    }),
    model("big_reader: written, then spread", PARKS, (3, 6), ANY, || meet(GATHERED, &[write_and_spread, read])),
    model("big_reader: a reader that spreads, and a writer", PARKS, (1, 3), BY_READER, || {
        behind(MET, &[write, read]);
    }),
    model("big_reader: a reader that spreads, and another", PARKS, (1, 3), BY_READER, || behind(MET, &[read, read])),
    model("big_reader: a reader that cannot spread in time", TIMED, (2, 4), &["woke unwoken"], || {
        behind(MET, &[nothing, read]);
    }),
    // Spread.
    model("big_reader: a writer and a reader", PARKS, (4, 8), ANY, || meet(SPREAD, &[write, read])),
    model("big_reader: a writer and a reader that spin", PLAIN, (3, 6), ANY, || meet(SPREAD, &[write, read])),
    model("big_reader: two readers", PARKS, (3, 6), ENTERED, || meet(SPREAD, &[read, read])),
    model("big_reader: two writers", PARKS, (3, 6), SLEEP, || meet(SPREAD, &[write, write])),
    model("big_reader: a writer waits for a reader", PARKS, (3, 6), WOKEN, || behind(SPREAD, &[write])),
    model("big_reader: a writer waits for a reader that spins", PLAIN, (3, 6), ANY, || behind(SPREAD, &[write])),
    model("big_reader: a writer and a reader wait for a reader", PARKS, (1, 3), SLEEP, || {
        behind(SPREAD, &[write, read]);
    }),
    model("big_reader: two writers wait for a reader", PARKS, (1, 3), WOKEN, || behind(SPREAD, &[write, write])),
    model("big_reader: a writer wakes for no reason", RESTLESS, (2, 4), &["woke unwoken"], || {
        behind(SPREAD, &[write]);
    }),
    model("big_reader: a writer and two readers", PARKS, (1, 3), ANY, || meet(SPREAD, &[write, read, read])),
    model("big_reader: two writers and a reader", PARKS, (1, 3), ANY, || meet(SPREAD, &[write, write, read])),
    model("big_reader: spread again while a barred reader is on its way", PARKS, (2, 4), ANY, || {
        meet(SPREAD, &[write_and_spread_twice, read]);
    }),
    // A reader on another CPU.
    model("big_reader: a reader moves", PARKS, (3, 6), WOKEN, || moves(&[])),
    model("big_reader: a reader moves, beside another reader", PARKS, (1, 3), ANY, || moves(&[read])),
    model("big_reader: a reader moves, beside a writer", PARKS, (1, 3), ANY, || moves(&[write])),
    // Waits that end, and tries.
    model("big_reader: a timed writer", TIMED, (2, 4), EITHER, || behind(SPREAD, &[write_soon])),
    model("big_reader: a timed writer and a reader", TIMED, (1, 3), EITHER, || behind(SPREAD, &[write_soon, read])),
    model("big_reader: a timed writer and a patient one", TIMED, (1, 2), EITHER, || {
        behind(SPREAD, &[write_soon, write]);
    }),
    model("big_reader: a timed reader", TIMED, (2, 4), TRIED, || meet(SPREAD, &[write, read_soon])),
    model("big_reader: tries and a reader", PARKS, (3, 6), &["tried to write in vain"], || {
        meet(SPREAD, &[tries, read])
    }),
    model("big_reader: tries and a writer", PARKS, (3, 6), ANY, || meet(SPREAD, &[tries, write])),
    // The end of its life.
    model("big_reader: freed right after a reader's release", PARKS, (4, 8), WOKEN, || freed(SPREAD)),
    model("big_reader: freed right after a reader's release, gathered", PARKS, (3, 6), ANY, || freed(GATHERED)),
];

type Raw = RawBigReaderLock<2, Loom>;

/// A lock and what it protects.
struct Guarded {
    raw: Raw,
    data: Protected,
    /// How often `data` was counted up; loom does not see it.
    writes: AtomicU32,
}

/// What a thread does.
type Role = fn(&Guarded);

/// What has been done with the lock before.
type Past = fn(&Raw);

const GATHERED: Past = |_| ();
const SPREAD: Past = Raw::spread;
/// Readers on the first thread's CPU have met others so often that the next who does spreads the lock.
const MET: Past = |raw| {
    let times = Policy::DEFAULT.spread_after + 1;
    (0..times).for_each(|_| raw.read());
    // SAFETY: acquired as often.
    (0..times).for_each(|_| unsafe { raw.unlock_read() });
};

const SPREAD_FLAG: u32 = 1;
const WAITING: u32 = 2;

fn gate(raw: &Raw) -> &LoomU32 {
    // SAFETY: the lock is `repr(C)`, and begins with the gate.
    unsafe { &*std::ptr::from_ref(raw).cast() }
}

impl Guarded {
    fn new() -> Self {
        Guarded { raw: Raw::new_in(), data: Protected::new(), writes: AtomicU32::new(0) }
    }

    fn keep(past: Past) -> &'static Guarded {
        let guarded = keep(Guarded::new());
        set_stage(|| past(&guarded.raw));
        guarded
    }

    fn leave_reading(&self) {
        self.data.get();
        // SAFETY: the caller has a read lock.
        unsafe { self.raw.unlock_read() };
    }

    fn leave_writing(&self) {
        self.data.add();
        self.writes.fetch_add(1, Relaxed);
        // SAFETY: the caller has the write lock.
        unsafe { self.raw.unlock_write() };
    }

    /// Everybody is done: the lock can be had by anybody, and is gathered then.
    fn settled(&self) {
        let gate = gate(&self.raw);
        assert_eq!(gate.load(Relaxed) & WAITING, 0, "a writer seems to wait");
        assert!(!self.raw.is_locked(), "locked when everybody has left");
        assert!(self.raw.try_read(), "barred when everybody has left");
        assert_eq!(self.data.get(), self.writes.load(Relaxed), "critical sections of writers");
        // SAFETY: just acquired.
        unsafe { self.raw.unlock_read() };
        assert!(self.raw.try_write(), "locked when the last reader has left");
        assert_eq!(gate.load(Relaxed) & SPREAD_FLAG, 0, "spread while a writer has it");
    }
}

fn nothing(_: &Guarded) {}

fn read(guarded: &Guarded) {
    guarded.raw.read();
    guarded.leave_reading();
}

fn write(guarded: &Guarded) {
    guarded.raw.write();
    guarded.leave_writing();
}

fn spread(guarded: &Guarded) {
    guarded.raw.spread();
}

fn write_and_spread(guarded: &Guarded) {
    write(guarded);
    spread(guarded);
}

fn write_and_spread_twice(guarded: &Guarded) {
    write_and_spread(guarded);
    write_and_spread(guarded);
}

fn tries(guarded: &Guarded) {
    if guarded.raw.try_write() {
        guarded.leave_writing();
    } else {
        saw("tried to write in vain");
    }
    if guarded.raw.try_read() {
        guarded.leave_reading();
    }
}

/// A point in time that the clock stays below, even if it jumps once, unless an alarm rings.
const SOON: Deadline = Deadline { clock: Clock::Monotonic, at: JUMP_NS + 1_000 };

fn got(it: bool) -> bool {
    saw(if it { "got it after all" } else { "gave up" });
    it
}

fn write_soon(guarded: &Guarded) {
    if got(guarded.raw.write_until(SOON)) {
        guarded.leave_writing();
    }
}

fn read_soon(guarded: &Guarded) {
    if got(guarded.raw.read_until(SOON)) {
        guarded.leave_reading();
    }
}

fn start(guarded: &'static Guarded, roles: &'static [Role]) -> Vec<Handle> {
    roles.iter().map(|&role| spawn(move || role(guarded))).collect()
}

/// All at once; the first role is the first thread's.
fn meet(past: Past, roles: &'static [Role]) {
    let guarded = Guarded::keep(past);
    let others = start(guarded, &roles[1..]);
    roles[0](guarded);
    others.into_iter().for_each(Handle::join);
    guarded.settled();
}

/// The first thread reads and rests, so that the others come to wait for it.
fn behind(past: Past, roles: &'static [Role]) {
    let guarded = keep(Guarded::new());
    set_stage(|| {
        past(&guarded.raw);
        guarded.raw.read();
    });
    let others = start(guarded, roles);
    rest();
    guarded.leave_reading();
    others.into_iter().for_each(Handle::join);
    guarded.settled();
}

/// A reader enters on one CPU, and leaves on another, while the first thread writes.
fn moves(roles: &'static [Role]) {
    let guarded = Guarded::keep(SPREAD);
    guarded.raw.read();
    let others = start(guarded, roles);
    let moved = spawn(move || guarded.leave_reading());
    write(guarded);
    moved.join();
    others.into_iter().for_each(Handle::join);
    guarded.settled();
}

/// A reader leaves; the writer after it drops the lock while the reader may still be in its release.
fn freed(past: Past) {
    let guarded: &'static MaybeUninit<Guarded> = keep(MaybeUninit::new(Guarded::new()));
    // SAFETY: initialised; the lock is dropped below only when the other thread has no more business with it.
    let first = unsafe { guarded.assume_init_ref() };
    set_stage(|| {
        past(&first.raw);
        first.raw.read();
    });
    let last = spawn(move || {
        write(first);
        // SAFETY: the other thread was in before us, so nobody else has business with the lock.
        unsafe { std::ptr::drop_in_place((&raw const first.raw).cast_mut()) };
    });
    first.leave_reading();
    last.join();
}
