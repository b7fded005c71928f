//! The readers-writer lock. All models: A1, P1. "upgrader", "downgrades": A2; "freed": A3; "outlives": P3; "timed": P4.

use super::*;
use crate::scenarios::{
    downgrade, lower, read, read_first, read_soon, upgradable, upgrade, upgrade_soon, write, write_soon,
};
use turnwise::RawRwSem;
use turnwise::platform::Lane;
use turnwise::rwsem::Prefer::Readers;

const TIMED_LATE: Setup = Setup { jumps: 1, alarms: 2, ..PARKS };

const BOTH: Shows = &["slept", "slept in the readers' lane"];
const VOID: Shows = &["slept", "slept in the readers' lane", "stale flags cleared", "stale request cleared"];
const EITHER: Shows = &["woke unwoken", "got it after all", "gave up"];
const UNWOKEN: Shows = &["woke unwoken"];
const LATE_READER: Shows = &["slept in the readers' lane", "slept in the first lane", "woken in the first lane"];
const UPGRADER: Shows = &["requested", "several woken at once", "woke the upgrader"];

pub(super) const MODELS: &[Model] = models! { RwSem:
    // Two threads.
    "rwsem: a writer and a reader": PARKS, (4, 8), SLEEP => meet(&[write, read]);
    "rwsem: a writer and a reader that spin": PLAIN, (3, 6), ANY => meet(&[write, read]);
    "rwsem: two writers that spin": PLAIN, (3, 6), ANY => meet(&[write, write]);
    "rwsem: an owner that comes back": PLAIN, (2, 3), COMES_BACK => behind(WRITTEN_TWICE, &[write]);
    "rwsem: a writer and a reader, readers first": PARKS, (4, 8), SLEEP => meet(&[write, read_first]);
    "rwsem: a writer and an upgradable reader": PARKS, (3, 8), SLEEP => meet(&[write, upgradable]);
    "rwsem: a writer and an upgrader": PARKS, (3, 8), SLEEP => meet(&[write, upgrade]);
    "rwsem: a reader and an upgrader": PARKS, (4, 8), REQUEST => meet(&[read, upgrade]);
    "rwsem: a reader and an upgrader that spin": PLAIN, (3, 6), ANY => meet(&[read, upgrade]);
    "rwsem: two upgraders": PARKS, (3, 8), SLEEP => meet(&[upgrade, upgrade]);
    "rwsem: two upgraders that spin": PLAIN, (2, 4), ANY => meet(&[upgrade, upgrade]);
    "rwsem: a reader and one that downgrades": PARKS, (4, 8), SLEEP => meet(&[downgrade, read]);
    "rwsem: a writer and one that downgrades by steps": PARKS, (2, 6), SLEEP => meet(&[lower, write]);
    "rwsem: tries and a writer": PARKS, (3, 6), SLEEP => meet(&[tries, write]);
    "rwsem: tries and a reader": PARKS, (3, 6), ANY => meet(&[tries, read]);
    "rwsem: a reader reads again while a writer sleeps": PARKS, (4, 8), SLEEP => reads_again(write);
    "rwsem: a reader that goes first and an upgrader": PARKS, (4, 8), REQUEST => meet(&[read_first, upgrade]);
    "rwsem: a reader that goes first and an upgrader that spin": PLAIN, (3, 6), ANY => meet(&[read_first, upgrade]);
    "rwsem: a reader reads again while another thread upgrades": PARKS, (4, 8), REQUEST => reads_again(upgrade);
    "rwsem: a reader reads again while another thread gives an upgrade up": TIMED, (2, 4), EITHER =>
        reads_again(upgrade_soon);
    // Three threads.
    "rwsem: a writer and two readers": PARKS, (2, 4), BOTH => meet(&[write, read, read]);
    "rwsem: two writers and a reader": PARKS, (1, 3), BOTH => meet(&[write, write, read]);
    "rwsem: two writers and a reader that spin": PLAIN, (1, 2), ANY => meet(&[write, write, read]);
    "rwsem: one of two writers wakes and spins": PLAIN, (0, 1), DUTY => wakes_and_spins::<Raw>();
    "rwsem: two writers and a reader, readers first": PARKS, (1, 3), BOTH => meet(&[write, write, read_first]);
    "rwsem: all wait for a writer": PARKS, (1, 3), BOTH => behind(WRITER, &[write, read]);
    "rwsem: two readers wait for a writer": PARKS, (1, 4), BOTH => behind(WRITER, &[read, read]);
    "rwsem: a reader waits behind a sleeping writer": PARKS, (1, 4), BOTH => behind(READER, &[write, read]);
    "rwsem: two writers wait for a reader": PARKS, (1, 3), SLEEP => behind(READER, &[write, write]);
    "rwsem: both kinds wait for an upgradable reader": PARKS, (1, 3), BOTH => behind(UPGRADABLE, &[upgradable, read]);
    "rwsem: both kinds wait for an upgrader": PARKS, (1, 3), BOTH => behind(UPGRADED, &[write, read]);
    "rwsem: both kinds wait for one that downgrades": PARKS, (1, 3), BOTH => behind(DOWNGRADED, &[write, read]);
    "rwsem: a sleeper wakes for no reason": SPURIOUS, (1, 3), UNWOKEN => behind(WRITER, &[write, read]);
    "rwsem: a sleeper is interrupted": INTERRUPTED, (1, 3), UNWOKEN => behind(READER, &[write, read]);
    // Waits that end.
    "rwsem: a timed writer": TIMED, (2, 4), EITHER => behind(READER, &[write_soon]);
    "rwsem: a timed reader": TIMED, (2, 4), EITHER => behind(WRITER, &[read_soon]);
    "rwsem: a timed writer and a reader behind it": TIMED, (1, 3), EITHER => behind(READER, &[write_soon, read]);
    "rwsem: a timed writer and a patient one": TIMED, (1, 2), EITHER => behind(READER, &[write_soon, write]);
    "rwsem: a timed writer and a patient one, behind a writer": TIMED, (1, 2), EITHER =>
        behind(WRITER, &[write_soon, write]);
    "rwsem: a timed upgrader": TIMED, (2, 4), EITHER => behind(READER, &[upgrade_soon]);
    "rwsem: a timed upgrader and a reader behind it": TIMED, (1, 3), EITHER => behind(READER, &[upgrade_soon, read]);
    "rwsem: a timed upgrader and a writer behind it": TIMED, (1, 3), EITHER => behind(READER, &[upgrade_soon, write]);
    // Hand-off requests.
    "rwsem: a writer requests a hand-off": LATE, (1, 2), REQUEST => overtaken(&[write]);
    "rwsem: a reader requests a hand-off": LATE, (1, 2), REQUEST => overtaken(&[read]);
    "rwsem: an upgradable reader requests a hand-off": LATE, (1, 2), REQUEST => overtaken(&[upgradable]);
    "rwsem: a writer that spins requests a hand-off": SPINS_LATE, (1, 2), REQUEST_SPINS => overtaken(&[write]);
    "rwsem: a reader that spins requests a hand-off": SPINS_LATE, (1, 2), &["requested"] => overtaken(&[read]);
    "rwsem: a writer and a reader, and a request": LATE, (0, 1), REQUEST => overtaken(&[write, read]);
    "rwsem: two writers and a request": LATE, (0, 1), REQUEST => overtaken(&[write, write]);
    "rwsem: two readers and a request": LATE, (0, 1), REQUEST => overtaken(&[read, read]);
    "rwsem: a request is given up": TIMED_LATE, (1, 2), GIVEN_UP => overtaken(&[write_soon]);
    "rwsem: a reader's request is given up": TIMED_LATE, (1, 2), GIVEN_UP => overtaken(&[read_soon]);
    "rwsem: a timed writer and a reader, and a request": TIMED_LATE, (0, 1), GAVE_UP => overtaken(&[write_soon, read]);
    "rwsem: a timed reader and a writer, and a request": TIMED_LATE, (0, 1), GAVE_UP => overtaken(&[read_soon, write]);
    "rwsem: a reader that goes first is late beside an upgrader": LATE, (1, 3), LATE_READER => late_beside_upgrade();
    // In a forked child.
    "rwsem: a writer's announcement outlives it": PARKS, (2, 3), ANY => orphaned(WRITERS, READER, &[read, read]);
    "rwsem: a request outlives its reader": PARKS, (2, 3), SLEEP => orphaned(HANDOFF, WRITER, &[write]);
    "rwsem: a request outlives its writer": PARKS, (2, 3), ANY => orphaned(HANDOFF, READER, &[read]);
    "rwsem: all wait in spite of a hand-off waiter that is gone": PARKS, (1, 2), VOID =>
        orphaned(ALL, WRITER, &[write, read]);
    "rwsem: a request in spite of a hand-off waiter that is gone": LATE, (0, 1), REQUEST =>
        orphaned(ALL, WRITTEN_TWICE, &[write]);
    "rwsem: an upgradable request in spite of a hand-off waiter that is gone": LATE, (0, 1), REQUEST =>
        orphaned(ALL, WRITTEN_TWICE, &[upgradable_cleanly]);
    "rwsem: tries in spite of a hand-off waiter that is gone": PARKS, (1, 3), ANY =>
        orphaned(ALL, FREE, &[reads_first]);
    "rwsem: tries in spite of an upgradable hand-off waiter": PARKS, (1, 3), ANY => orphaned(ALL, FREE, &[tries_first]);
    "rwsem: an upgrader beside a hand-off waiter": PARKS, (1, 2), UPGRADER => upgrade_beside_request();
    // Words that seldom are so.
    "rwsem: more readers than there can be": PARKS, (3, 6), &["waited for too many readers"] => full();
    // The end of its life.
    "rwsem: freed right after a writer's release": PARKS, (4, 8), ANY => freed(WRITER);
    "rwsem: freed right after a reader's release": PARKS, (4, 8), ANY => freed(READER);
    "rwsem: freed right after a reader's release, readers first": PARKS, (4, 8), ANY => freed(READ_FIRST);
    "rwsem: freed right after an upgradable reader's release": PARKS, (4, 8), ANY => freed(UPGRADABLE);
};

type Raw = RawRwSem<Loom>;
type Guarded = Pages<Raw>;

impl Settles for Raw {
    fn is_settled(&self) -> bool {
        assert_eq!(word(self).fetch_or(0, Relaxed), 0, "a flag is left when everybody has left");
        !self.is_locked() && self.try_read()
    }
}

fn word(raw: &Raw) -> &LoomU32 {
    // SAFETY: the lock begins with its word.
    unsafe { super::word(raw) }
}

/// How the first thread has the lock, and how it leaves.
type Hold = (fn(&Raw), Role<Raw>);

const READER: Hold = (RawRwSem::read, Guarded::leave_reading);
const READ_FIRST: Hold = (RawRwSem::read, |guarded| guarded.leave_reading_with(Readers));
const WRITER: Hold = (RawRwSem::lock, Guarded::leave_writing);
const UPGRADABLE: Hold = (RawRwSem::upgradable_read, Guarded::leave_upgradable);
const UPGRADED: Hold = (RawRwSem::upgradable_read, Guarded::upgrade_and_leave);
const FREE: Hold = (|_| (), |_| ());
const WRITTEN_TWICE: Hold = (RawRwSem::lock, |guarded| {
    guarded.leave_writing();
    guarded.raw.lock();
    rest();
    guarded.leave_writing();
});
const DOWNGRADED: Hold = (RawRwSem::lock, Guarded::downgrade_and_leave);

/// When it has the lock, no generation remains without flags.
fn upgradable_cleanly(guarded: &Guarded) {
    guarded.raw.upgradable_read();
    let word = word(&guarded.raw).load(Relaxed);
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

/// All run at once; the first role is the first thread's.
fn meet(roles: &'static [Role<Raw>]) {
    super::meet(|_| (), roles);
}

/// The first thread has the lock and rests, so that the others come to wait for it.
fn behind((acquire, leave): Hold, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep();
    acquire(&guarded.raw);
    wait_behind(guarded, roles, leave).is_over();
}

/// The first thread writes twice while the others wait.
fn overtaken(roles: &'static [Role<Raw>]) {
    behind(WRITTEN_TWICE, roles);
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

/// A writer requests a hand-off while an upgradable reader and a reader are inside; then the former upgrades. Both
/// sleep in one lane, and the reader that leaves must wake the upgrader.
fn upgrade_beside_request() {
    let guarded = Guarded::keep();
    let gates = keep(Gates::shut());
    let mut others = Vec::new();
    set_stage(|| {
        guarded.raw.lock();
        others.push(spawn(move || read_between(guarded, gates)));
        sleepers(1);
        others.push(spawn(move || write(guarded)));
        sleepers(2);
        later();
        guarded.leave_writing();
        guarded.raw.upgradable_read();
        gates.open(0);
        rest();
        sleepers(2);
    });
    gates.open(1);
    guarded.upgrade_and_leave();
    join(others);
    guarded.is_over();
}

/// The lock has the maximum number of readers when another comes.
fn full() {
    let guarded = Guarded::keep();
    word(&guarded.raw).fetch_add(FULL, Relaxed);
    let reader = spawn(move || read(guarded));
    rest();
    word(&guarded.raw).fetch_sub(FULL, Relaxed);
    reader.join();
    guarded.is_over();
}

/// In a forked child: `flags` were set by threads that are not here. The first thread has the lock, and the others come
/// to wait for it.
fn orphaned(flags: u32, hold: Hold, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep();
    hold.0(&guarded.raw);
    word(&guarded.raw).fetch_or(flags, Relaxed);
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
    let guarded = Guarded::keep();
    let gates = keep(Gates::shut());
    let mut others = Vec::new();
    set_stage(|| {
        guarded.raw.lock();
        others.push(spawn(move || read_between(guarded, gates)));
        others.push(spawn(move || {
            read_first(guarded);
            gates.open(1);
        }));
        sleepers(2);
        later();
        guarded.write();
    });
    // SAFETY: it has the write lock.
    unsafe { guarded.raw.downgrade_to_upgradable() };
    gates.open(0);
    rest();
    guarded.upgrade_and_leave();
    join(others);
    guarded.is_over();
}
