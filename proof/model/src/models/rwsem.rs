//! The readers-writer lock. All models: A1, P1. "upgrader", "downgrades": A2; "freed": A3; "outlives": P3; "timed": P4.

use super::*;
use crate::scenarios::{read, read_first, write};
use turnwise::RawRwSem;
use turnwise::platform::Lane;
use turnwise::rwsem::Prefer::Readers;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call():
        mixed(roles: [role]), behind(hold: hold, roles: [role]), reads_again(other: role),
        orphaned(flags: flags, hold: hold, roles: [role]), freed(hold: hold), full(), late_beside_upgrade(),
        upgrade_beside_request();
        lock::<Raw>(call)
    }
}

fn role(name: &str) -> Role<Raw> {
    named! { name: tries, reads_first, tries_first, upgradable_cleanly; scenarios::role(name) }
}

fn flags(names: &str) -> u32 {
    flags::all_of("rwsem", names)
}

type Raw = RawRwSem<Loom>;
type Guarded = Pages<Raw>;

impl Settles for Raw {
    fn is_settled(&self) -> bool {
        assert_eq!(self.word().fetch_or(0, Relaxed), 0, "a flag is left when everybody has left");
        !self.is_locked() && self.try_read()
    }
}

fn hold(name: &str) -> Hold<Raw> {
    named! { name:
        reader = (RawRwSem::read, Guarded::leave_reading),
        read_first = (RawRwSem::read, |guarded| guarded.leave_reading_with(Readers)),
        writer = (RawRwSem::lock, Guarded::leave_writing),
        written_twice = (RawRwSem::lock, write_twice_and_leave),
        upgradable = (RawRwSem::upgradable_read, Guarded::leave_upgradable),
        upgraded = (RawRwSem::upgradable_read, Guarded::upgrade_and_leave),
        downgraded = (RawRwSem::lock, Guarded::downgrade_and_leave),
        free = (|_| (), |_| ()),
    }
}

/// Writes twice while the others wait.
fn write_twice_and_leave(guarded: &Guarded) {
    guarded.leave_writing();
    guarded.raw.lock();
    rest();
    guarded.leave_writing();
}

/// When it has the lock, no generation remains without flags.
fn upgradable_cleanly(guarded: &Guarded) {
    guarded.raw.upgradable_read();
    let word = guarded.raw.word().load(Relaxed);
    assert!(word & ALL != 0 || word & GENERATION == 0, "flags are gone, and their generation is left");
    guarded.leave_upgradable();
}

fn tries(guarded: &Guarded) {
    if guarded.raw.try_lock() {
        guarded.leave_writing();
    }
    if guarded.raw.try_upgradable_read() {
        // SAFETY: just acquired.
        if unsafe { guarded.raw.try_upgrade() } {
            guarded.leave_writing();
        } else {
            guarded.leave_upgradable();
        }
    }
    if guarded.raw.try_read() {
        guarded.leave_reading();
    }
}

/// Alone: each try gets the lock.
fn reads_first(guarded: &Guarded) {
    assert!(guarded.raw.try_read(), "kept out by a thread that is not here");
    guarded.leave_reading();
}

/// Alone: each try gets the lock.
fn tries_first(guarded: &Guarded) {
    assert!(guarded.raw.try_upgradable_read(), "kept out by a thread that is not here");
    guarded.leave_upgradable();
    assert!(guarded.raw.try_lock(), "kept out by nobody");
    guarded.leave_writing();
}

const FULL: u32 = 1 << 20;
const GENERATION: u32 = 0x3f << 21;
const HANDOFF: u32 = 1 << 29;
const READERS: u32 = 1 << 30;
const WRITERS: u32 = 1 << 31;
const ALL: u32 = HANDOFF | READERS | WRITERS;

/// Gates that threads wait for, unknown to the locks.
struct Gates([LoomU32; 2]);

impl Gates {
    fn shut() -> Gates {
        Gates([LoomU32::new(0), LoomU32::new(0)])
    }

    fn pass(&self, gate: usize) {
        Loom::park(&self.0[gate], 0, Lane::Waiters, None);
    }

    fn open(&self, gate: usize) {
        self.0[gate].store(1, Relaxed);
        Loom::wake(&raw const self.0[gate], Lane::Waiters, 1);
    }
}

/// Reads from one gate to the next.
fn read_between(guarded: &Guarded, gates: &Gates) {
    gates.pass(0);
    guarded.raw.read();
    gates.pass(1);
    guarded.leave_reading();
}

/// The first thread has the lock, and one reads between the gates. The stage is set further by `set`, which returns
/// another thread; after `then`, the first thread upgrades.
fn upgrade_after(set: fn(&'static Guarded, &'static Gates) -> Handle, then: fn(&Guarded, &Gates)) {
    let (guarded, gates) = (Guarded::keep(), keep(Gates::shut()));
    let others = set_stage(|| {
        guarded.raw.lock();
        [spawn(move || read_between(guarded, gates)), set(guarded, gates)]
    });
    then(guarded, gates);
    guarded.upgrade_and_leave();
    join(others);
    guarded.is_over();
}

/// A writer requests a hand-off while an upgradable reader and a reader are inside; then the former upgrades. Both
/// sleep in one lane, and the reader that leaves must wake the upgrader.
fn upgrade_beside_request() {
    let set = |guarded: &'static Guarded, gates: &'static Gates| {
        sleepers(1);
        let writer = spawn(move || write(guarded));
        sleepers(2);
        later();
        guarded.leave_writing();
        guarded.raw.upgradable_read();
        gates.open(0);
        rest();
        sleepers(2);
        writer
    };
    upgrade_after(set, |_, gates| gates.open(1));
}

/// The lock has the maximum number of readers when another comes.
fn full() {
    let guarded = Guarded::keep();
    guarded.raw.word().fetch_add(FULL, Relaxed);
    let reader = spawn(move || read(guarded));
    rest();
    guarded.raw.word().fetch_sub(FULL, Relaxed);
    reader.join();
    guarded.is_over();
}

/// In a forked child: `flags` were set by threads that are not here. The first thread has the lock, and the others come
/// to wait for it.
fn orphaned(flags: u32, hold: Hold<Raw>, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep();
    hold.0(&guarded.raw);
    guarded.raw.word().fetch_or(flags, Relaxed);
    forked();
    wait_behind(guarded, roles, hold.1).is_over();
}

/// Another thread comes between a thread's two read locks.
fn reads_again(other: Role<Raw>) {
    let guarded = Guarded::keep();
    assert!(guarded.raw.read_with(Readers, None));
    let other = spawn(move || other(guarded));
    rest();
    read_first(guarded);
    guarded.leave_reading_with(Readers);
    other.join();
    guarded.is_over();
}

/// A read-first reader waits for a writer until its deadline. The writer becomes the upgradable reader, and upgrades
/// again, past another reader that leaves only when the late one has been in.
fn late_beside_upgrade() {
    let set = |guarded: &'static Guarded, gates: &'static Gates| {
        let late = spawn(move || {
            read_first(guarded);
            gates.open(1);
        });
        sleepers(2);
        later();
        guarded.write();
        late
    };
    upgrade_after(set, |guarded, gates| {
        // SAFETY: the first thread has the write lock.
        unsafe { guarded.raw.downgrade_to_upgradable() };
        gates.open(0);
        rest();
    });
}
