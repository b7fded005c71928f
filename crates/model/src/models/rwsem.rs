//! The readers-writer lock.

use super::Protected;
use crate::check::{Lock, Model};
use crate::platform::{Handle, Identity, Loom, Setup, keep, rest, saw, spawn};
use std::mem::MaybeUninit;
use turnwise::RawRwSem;
use turnwise::platform::{Clock, Deadline, Parked};
use turnwise::rwsem::Prefer;

const PLAIN: Setup = Setup::PLAIN;
const PARKS: Setup = Setup { identity: Identity::NoSlot, looks: 1, ..Setup::PLAIN };
const TIMED: Setup = Setup { alarms: 1, ..PARKS };
const RESTLESS: Setup = Setup { spurious: Some(Parked::Woken), ..PARKS };

type Shows = &'static [&'static str];
const SLEEP: Shows = &["slept"];
const BOTH: Shows = &["slept", "slept in the first lane", "woken in the first lane"];
const EITHER: Shows = &["woke unwoken", "got it after all", "gave up"];
const CLAIM: Shows = &["slept in the first lane", "woken in the first lane", "gave up"];

const fn model(name: &'static str, setup: Setup, preemptions: (usize, usize), shows: Shows, body: fn()) -> Model {
    Model { name, lock: Lock::RwSem, setup, preemptions, shows, body }
}

use Prefer::{Readers, Writers};

pub(super) const MODELS: &[Model] = &[
    model("rwsem: a writer and a reader", PARKS, (4, 8), SLEEP, || mixed(Readers, 1, 1)),
    model("rwsem: a writer and a reader that spin", PLAIN, (4, 8), &[], || mixed(Readers, 1, 1)),
    model("rwsem: a writer and two readers", PARKS, (3, 4), BOTH, || mixed(Readers, 1, 2)),
    model("rwsem: two writers and a reader", PARKS, (2, 4), BOTH, || mixed(Readers, 2, 1)),
    model("rwsem: two writers and a reader, writers first", PARKS, (2, 4), BOTH, || mixed(Writers, 2, 1)),
    model("rwsem: two writers and a reader that spin", PLAIN, (2, 3), &[], || mixed(Readers, 2, 1)),
    model("rwsem: a sleeper wakes for no reason", RESTLESS, (1, 3), &["woke unwoken"], || behind_writer(Readers)),
    model("rwsem: all wait for a writer", PARKS, (1, 4), BOTH, || behind_writer(Readers)),
    model("rwsem: all wait for a writer, writers first", PARKS, (2, 4), BOTH, || behind_writer(Writers)),
    model("rwsem: a reader reads again while a writer sleeps", PARKS, (4, 8), SLEEP, recursion),
    model("rwsem: a reader waits behind a sleeping writer", PARKS, (2, 4), BOTH, behind_claim),
    model("rwsem: a timed writer gives up or gets it", TIMED, (2, 3), EITHER, || timed_writer(Readers, true)),
    model("rwsem: a timed writer and a patient one", TIMED, (1, 2), EITHER, || timed_writer(Readers, false)),
    model("rwsem: a claim is withdrawn", TIMED, (1, 2), CLAIM, || timed_writer(Writers, true)),
    model("rwsem: a claim is withdrawn or taken over", TIMED, (1, 3), EITHER, || timed_writer(Writers, false)),
    model("rwsem: a timed reader", TIMED, (2, 3), EITHER, timed_reader),
    model("rwsem: freed right after a writer's release", PARKS, (4, 8), &[], || freed(true)),
    model("rwsem: freed right after a reader's release", PARKS, (4, 8), &[], || freed(false)),
];

/// A lock and what it protects.
struct Guarded {
    raw: RawRwSem<Loom>,
    data: Protected,
}

impl Guarded {
    fn keep() -> &'static Guarded {
        keep(Guarded { raw: RawRwSem::new_in(), data: Protected::new() })
    }

    fn read(&self, prefer: Prefer) {
        assert!(self.raw.read_with(prefer, None));
        self.leave_reading();
    }

    fn write(&self, prefer: Prefer) {
        assert!(self.raw.write_with(prefer, None));
        self.leave_writing();
    }

    fn leave_reading(&self) {
        self.data.get();
        // SAFETY: the caller has a read lock.
        unsafe { self.raw.unlock_read() };
    }

    fn leave_writing(&self) {
        self.data.add();
        // SAFETY: the caller has the write lock.
        unsafe { self.raw.unlock_write() };
    }

    /// Everybody is done: as many as said have written, and the lock can be had by anybody.
    fn settled(&self, writes: u32) {
        assert!(!self.raw.is_locked(), "locked when everybody has left");
        assert!(self.raw.try_read_with(Writers), "a claim is left when everybody has left");
        assert_eq!(self.data.get(), writes, "critical sections of writers");
    }
}

/// An early point in time: the clock stays below, unless an alarm rings.
const SOON: Deadline = Deadline { clock: Clock::Monotonic, at: 1_000 };

/// Writers and readers, once each; the first thread is a writer.
fn mixed(prefer: Prefer, writers: u32, readers: u32) {
    let guarded = Guarded::keep();
    let mut handles: Vec<_> = (1..writers).map(|_| spawn(move || guarded.write(prefer))).collect();
    handles.extend((0..readers).map(|_| spawn(move || guarded.read(prefer))));
    guarded.write(prefer);
    handles.into_iter().for_each(Handle::join);
    guarded.settled(writers);
}

/// The first thread writes and rests, so that a writer and a reader come to wait for it.
fn behind_writer(prefer: Prefer) {
    let guarded = Guarded::keep();
    guarded.raw.write();
    let writer = spawn(move || guarded.write(prefer));
    let reader = spawn(move || guarded.read(prefer));
    rest();
    guarded.leave_writing();
    writer.join();
    reader.join();
    guarded.settled(2);
}

/// A writer comes between a thread's two read locks.
fn recursion() {
    let guarded = Guarded::keep();
    guarded.raw.read();
    let writer = spawn(move || guarded.write(Readers));
    rest();
    guarded.raw.read();
    guarded.leave_reading();
    guarded.leave_reading();
    writer.join();
    guarded.settled(1);
}

/// A reader that respects writers comes while one sleeps.
fn behind_claim() {
    let guarded = Guarded::keep();
    guarded.raw.read();
    let writer = spawn(move || guarded.write(Writers));
    let reader = spawn(move || guarded.read(Writers));
    rest();
    guarded.leave_reading();
    writer.join();
    reader.join();
    guarded.settled(1);
}

/// A timed writer waits for the first thread, which reads; so does a reader or a patient writer.
fn timed_writer(prefer: Prefer, reader: bool) {
    let guarded = Guarded::keep();
    guarded.raw.read();
    let timed = spawn(move || {
        if guarded.raw.write_with(prefer, Some(SOON)) {
            saw("got it after all");
            guarded.leave_writing();
        } else {
            saw("gave up");
            guarded.write(prefer);
        }
    });
    let other = spawn(move || if reader { guarded.read(prefer) } else { guarded.write(prefer) });
    rest();
    guarded.leave_reading();
    timed.join();
    other.join();
    guarded.settled(1 + u32::from(!reader));
}

/// A timed reader waits for the first thread, which writes.
fn timed_reader() {
    let guarded = Guarded::keep();
    guarded.raw.write();
    let timed = spawn(move || {
        if guarded.raw.read_until(SOON) {
            saw("got it after all");
        } else {
            saw("gave up");
            guarded.raw.read();
        }
        guarded.leave_reading();
    });
    rest();
    guarded.leave_writing();
    timed.join();
    guarded.settled(1);
}

/// The last to have the lock drops it while the other may still be in its release.
fn freed(writes: bool) {
    let lock: &'static MaybeUninit<RawRwSem<Loom>> = keep(MaybeUninit::new(RawRwSem::new_in()));
    // SAFETY: initialised, and dropped below only when the other thread has no more business with it.
    let raw = unsafe { lock.assume_init_ref() };
    let first = Protected::new();
    let first: &'static Protected = keep(first);
    if writes {
        raw.write();
    } else {
        raw.read();
    }
    let last = spawn(move || {
        raw.write();
        first.add();
        // SAFETY: locked above; the other thread was in before us, so nobody else has business with the lock.
        unsafe {
            raw.unlock_write();
            std::ptr::drop_in_place(lock.as_ptr().cast_mut());
        }
    });
    first.get();
    // SAFETY: locked above.
    unsafe {
        if writes {
            raw.unlock_write();
        } else {
            raw.unlock_read();
        }
    }
    last.join();
}
