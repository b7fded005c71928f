//! The names of the bits of each lock's words: the parts of a word that a mutant leaves unchanged.

use crate::check::Lock;

/// A part of a word: its name, and its bits.
pub type Field = (&'static str, u64);

/// A word that is changed as a whole: a token, a pointer, a number.
const WHOLE: &[Field] = &[("the word", u64::MAX)];

const MUTEX: &[Field] =
    &[("OWNER", 0xffff), ("GENERATION", 0xfff << 16), ("GRANTED", 1 << 29), ("WAITERS", 1 << 30), ("HANDOFF", 1 << 31)];
const RWSEM: &[Field] = &[
    ("COUNT", (1 << 21) - 1),
    ("GENERATION", 0x3f << 21),
    ("UPGRADABLE", 1 << 27),
    ("WRITER", 1 << 28),
    ("HANDOFF", 1 << 29),
    ("READERS", 1 << 30),
    ("WRITERS", 1 << 31),
];
const BIG_READER_GATE: &[Field] = &[("SPREAD", 1), ("WAITING", 2), ("count", 0xffff_fffc)];
const BIG_READER_SLOT: &[Field] = &[("OPEN", 1), ("count", 0xffff_fffc)];
const SEMAPHORE: &[Field] = &[
    ("PERMITS", (1 << 24) - 1),
    ("GENERATION", 0xf << 24),
    ("HANDOFF", 1 << 28),
    ("PASSED", 1 << 29),
    ("FIRST", 1 << 30),
    ("WAITERS", 1 << 31),
];
/// A condition variable's sequence.
const SEQUENCE: &[Field] = &[("SEVERAL", 1), ("POLLING", 2), ("notifications", 0xffff_fffc)];
/// What the polls of a condition variable have taught.
const SPIN_THEN_SLEEP: &[Field] = &[("GENERATION", 0xffff), ("SKIPS", 0xff << 16), ("FAILED", 0xff << 24)];
const LOCKREF: &[Field] =
    &[("OWNER", 0xffff), ("HELD", 1 << 16), ("WAITERS", 1 << 17), ("count", 0x7fff_ffff << 32), ("DEAD", 1 << 63)];
const QUEUED: &[Field] = &[("TAIL", 0xffff), ("HELD", 1 << 16)];
const TICKET: &[Field] = &[("served", 0xffff), ("drawn", 0xffff << 16)];

/// The preload library's condition variable: its word, and which threads may still touch it.
const COND: &[Field] = &[("sequence", 0xffff_ffff), ("count", 0x7fff_ffff << 32), ("POLLING", 1 << 63)];
const INSIDE: &[Field] = &[("DESTROYER", 1), ("inside", 0xffff_fffe)];
/// The process to which the queue of a lock belongs.
const LINE: &[Field] = &[("generation", 0x7fff_ffff), ("RENEWING", 1 << 31)];
/// The stack of free slots.
const FREE: &[Field] = &[("top", 0xffff_ffff), ("changes", 0xffff_ffff << 32)];

/// Returns the parts of the word that an operation on this line of this file changes.
pub fn on(lock: Lock, file: &str, line: &str) -> &'static [Field] {
    let file = file.rsplit('/').next().unwrap_or_default();
    match lock {
        Lock::Mutex => MUTEX,
        Lock::RwSem if !line.contains(".owner.") => RWSEM,
        Lock::BigReader if line.contains("gate.") => BIG_READER_GATE,
        Lock::BigReader if !line.contains("met.") => BIG_READER_SLOT,
        Lock::Semaphore => SEMAPHORE,
        Lock::Condvar | Lock::PreloadCond if line.contains("history.") => SPIN_THEN_SLEEP,
        Lock::Condvar if line.contains("sequence.") || file == "spin_then_sleep.rs" => SEQUENCE,
        Lock::PreloadCond if file == "spin_then_sleep.rs" => COND,
        Lock::LockRef if !line.contains("released.") => LOCKREF,
        Lock::Spin if file == "queued.rs" && line.contains(".word.") => QUEUED,
        Lock::Spin if file == "ticket.rs" => TICKET,
        Lock::PreloadCond if line.contains("self.word.") => COND,
        Lock::PreloadCond => INSIDE,
        Lock::PreloadWord if line.contains("self.line.") => LINE,
        Lock::Slots if line.contains("self.free.") => FREE,
        // Numbers and pointers of a file system, not the flags of a lock.
        Lock::Journal | Lock::Dcache => &[],
        _ => WHOLE,
    }
}
