//! What lies where in the file of a live view. Everything in it is an atomic word, so both sides may look at any time.
//!
//! | from | what | how many |
//! |---|---|---|
//! | 0 | [`Header`] | 1 |
//! | [`SETTINGS_START`] | [`Table`](settings::Table): what is set for locks (`settings.rs`) | [`settings::TABLES`] |
//! | [`FILE_RULES_START`] | [`Rule`](settings::Rule): what the policy file sets, for readers | [`settings::FILE_RULES`] |
//! | [`UNLOADED_START`] | [`Unloaded`]: modules that the program has unloaded | [`UNLOADED`] |
//! | [`LOCKS_START`] | [`Entry`]: waits of threads that are gone, or that found no room in their block | [`LOCKS`] |
//! | [`BLOCKS_START`] | [`Block`]: a thread's own waits | [`BLOCKS`] |
//! | [`LOG_START`] | [`crate::log`]: waits one by one, while a profiler has them recorded | |
//!
//! Addresses of locks and call sites in a place where a module came after another have the number of those that had
//! gone before ([`crate::numbered`]).
//!
//! The file has holes: only what was written takes room. What a lock's waits come to is the sum over both.
//!
//! But for the settings the program writes all of it.
//!
//! Invariants:
//! 1. A block is written by its thread alone. When that thread is gone, whoever moves [`Block::state`] from
//!    [`state::LIVE`] to [`state::REAPED`] writes it. A lock's record in the table is only ever added to.
//! 2. While [`Wait::sequence`] is odd, the wait's fields and the entry that the wait before it is counted in change.
//! 3. While [`Block::moves`] is odd, an entry moves from the block to the table. [`Header::moves_begun`] and
//!    [`Header::moves_ended`] are equal when nothing moves in any block.
//! 4. [`Header::magic`] is written last: a file without it is being made.

use crate::{log, settings};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use zerocopy::{FromBytes, IntoBytes};

/// The first bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TWISElve");
/// Grows with every change of the layout or its meaning.
pub const VERSION: u32 = 9;
/// Bytes that processors fetch together.
const LINE: usize = 64;
/// The header and each block begin on a page.
pub const PAGE: usize = 4096;
/// Histograms are by powers of two: bucket `n` has waits of `2^n` ns and more, below `2^(n+1)`; the first has those of
/// 0 ns, too, and the last all that are longer.
pub const BUCKETS: usize = 32;
/// The number of locks and call sites that a block has room for.
pub const ENTRIES: usize = 20;
/// The number of records in the table.
pub const LOCKS: usize = 1 << 14;
/// The number of threads that have a block at the same time.
pub const BLOCKS: usize = 1 << 11;
/// The number of modules that were unloaded and are known.
pub const UNLOADED: usize = 128;
/// The most bytes of the program's path that are kept.
pub const NAME: usize = 512;
/// The most bytes that are kept of the words by which the program was called.
pub const CALLED: usize = 256;
/// The most bytes of the first thread's name, as the system has it.
pub const TITLE: usize = 16;

/// Where the settings begin.
pub const SETTINGS_START: usize = PAGE;
/// Where that begins which a policy file sets.
pub const FILE_RULES_START: usize = SETTINGS_START + settings::TABLES * size_of::<settings::Table>();
/// Where the modules begin that were unloaded.
pub const UNLOADED_START: usize = FILE_RULES_START + settings::FILE_RULES * size_of::<settings::Rule>();
/// Where the table begins.
pub const LOCKS_START: usize = UNLOADED_START + UNLOADED * size_of::<Unloaded>();
/// Where the blocks begin.
pub const BLOCKS_START: usize = LOCKS_START + LOCKS * size_of::<Entry>();
/// Where the log begins.
pub const LOG_START: usize = BLOCKS_START + BLOCKS * size_of::<Block>();
/// Length of the file.
pub const FILE_BYTES: usize = LOG_START + log::BYTES;

/// Sizes of all records: a reader of another build sees that it does not understand the file.
pub const LAYOUT: u32 = (size_of::<Header>()
    + 5 * size_of::<Entry>()
    + 7 * size_of::<Wait>()
    + 11 * size_of::<Block>()
    + 13 * (ENTRIES + BUCKETS)
    + 17 * (LOCKS + BLOCKS)
    + 19 * size_of::<log::Record>()
    + 23 * size_of::<log::Release>()
    + 29 * (log::RECORDS + log::RELEASES)
    + 31 * size_of::<settings::Rule>()
    + 37 * UNLOADED * size_of::<Unloaded>()) as u32;

const _: () = {
    assert!(size_of::<Block>() == PAGE && size_of::<Entry>() == 192 && LOCKS_START.is_multiple_of(LINE));
    assert!(size_of::<Unloaded>() == 512);
    assert!(size_of::<Header>() <= PAGE && BLOCKS_START.is_multiple_of(PAGE));
    assert!(offset_of!(Header, settings) / LINE < offset_of!(Header, locks_used) / LINE);
};

/// [`Header::clock`]: the processor's counter.
pub const CLOCK_COUNTER: u32 = 1;
/// [`Header::clock`]: `CLOCK_MONOTONIC` in nanoseconds.
pub const CLOCK_MONOTONIC: u32 = 2;

/// [`Header::policy`]: a policy file's rules decide, lock by lock.
pub const POLICY_FILE: u32 = 255;

/// What the file is about. What threads read at each wait has no cache line in common with what they change as entries
/// move, which is at the end.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], once the file can be read.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// [`LAYOUT`].
    pub layout: AtomicU32,
    /// The process.
    pub pid: AtomicU32,
    /// The clock of all times that are in ticks: [`CLOCK_COUNTER`] or [`CLOCK_MONOTONIC`].
    pub clock: AtomicU32,
    /// When the process began, as field 22 of its `/proc/PID/stat` says it.
    pub start: AtomicU64,
    /// A time in ticks.
    pub base_ticks: AtomicU64,
    /// The same time by `CLOCK_MONOTONIC`.
    pub base_ns: AtomicU64,
    /// Nanoseconds in 2^32 ticks, as far as the writer knows.
    pub ns_per_tick: AtomicU64,
    /// The number of blocks that there may be, at most [`BLOCKS`].
    pub blocks: AtomicU32,
    /// The number of blocks that were ever taken: the others are zeros.
    pub blocks_used: AtomicU32,
    /// Whether waits are recorded one by one: the one part that readers write.
    pub switch: log::Switch,
    /// Which settings are in force (`settings.rs`). Others than the program write it.
    pub settings: AtomicU64,
    /// The policy of the process's locks: 1 and its number, or [`POLICY_FILE`]; 0: not known.
    pub policy: AtomicU32,
    /// 0.
    pub spare: AtomicU32,
    /// The program's path; zeros follow.
    pub name: [AtomicU8; NAME],
    /// The words by which the program was called, each with a zero behind it: the first one's file name is another
    /// name of the program (`python3` for `python3.11`).
    pub called: [AtomicU8; CALLED],
    /// The first thread's name, and a line feed: a third one, as that of a script that runs by its first line.
    pub title: [AtomicU8; TITLE],
    /// The number of records of the table that were ever taken: the others are zeros.
    pub locks_used: AtomicU32,
    /// The number of [`Unloaded`] that are there.
    pub unloaded: AtomicU32,
    /// How often modules were found to be unloaded.
    pub unloads: AtomicU64,
    /// From where to where modules lay of which not all unloads are known: no name of an address in there is sure.
    pub unsure: [AtomicU64; 2],
    /// Entries that began to move to the table (invariant 3).
    pub moves_begun: AtomicU64,
    /// Entries that have moved.
    pub moves_ended: AtomicU64,
    /// Threads that found no block.
    pub lost_threads: AtomicU64,
    /// Waits whose lock found no room in the table.
    pub lost_waits: AtomicU64,
    /// Waits inside another wait of the same thread: those of signal handlers.
    pub lost_nested: AtomicU64,
    /// Records of waits and of releases that found no room: on the disk, or since another thread still wrote the slot.
    pub lost_records: AtomicU64,
}

/// A module that was unloaded: addresses may mean it, or what was loaded in its place. Those of one place are in the
/// order in which they lay there.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Unloaded {
    /// Where it lay.
    pub start: AtomicU64,
    /// Where it ended.
    pub end: AtomicU64,
    /// What to subtract for an address in the file.
    pub base: AtomicU64,
    /// [`Header::unloads`] when it was unloaded, the last time: it may have come back before.
    pub at: AtomicU64,
    /// The number of bytes of the build id.
    pub build_id_bytes: AtomicU32,
    /// 0.
    pub spare: AtomicU32,
    /// The build id.
    pub build_id: [AtomicU8; 32],
    /// The path by which the loader knew it; zeros follow.
    pub path: [AtomicU8; 440],
}

/// What waits for one lock, in one way, at one call site come to: those of one thread in its block, those of all others
/// in the table. Where a counter may run over, further waits are in another entry: readers add them.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Entry {
    /// The lock and the way of waiting: [`crate::Key`]. 0: the entry is free.
    pub key: AtomicU64,
    /// The call site; 0: unknown.
    pub site: AtomicU64,
    /// Length of all waits together.
    pub wait_ns: AtomicU64,
    /// Length of the longest.
    pub longest_ns: AtomicU64,
    /// Sleeps.
    pub sleeps: AtomicU32,
    /// Acquisitions past threads that slept.
    pub steals: AtomicU32,
    /// Acquisitions by a promised turn.
    pub handoffs: AtomicU32,
    /// Waits that ended without the lock.
    pub gave_up: AtomicU32,
    /// 1 and the number of the policy file's rule for the lock; 0: none is.
    pub rule: AtomicU64,
    /// 0.
    pub spare: AtomicU64,
    /// All waits, by length.
    pub histogram: [AtomicU32; BUCKETS],
}

/// Counters of the thread, modulo 2^32: sleeps, steals, hand-offs.
pub const EVENTS: usize = 3;

/// The bits of [`Wait::flags`].
pub mod flags {
    /// The wait has ended with the lock.
    pub const ACQUIRED: u32 = 1;
    /// The wait has ended without the lock.
    pub const GAVE_UP: u32 = 2;
    /// The thread has released the lock since, while others waited; or nobody would tell.
    pub const RELEASED: u32 = 4;
}

/// The last wait of a thread. It is counted in an entry when the next one begins, so readers add it.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Wait {
    /// Odd while the rest changes (invariant 2).
    pub sequence: AtomicU32,
    /// [`flags`]; 0: the thread is waiting.
    pub flags: AtomicU32,
    /// The lock and the way of waiting: [`crate::Key`]. 0: there was no wait yet.
    pub key: AtomicU64,
    /// The call site; 0: unknown.
    pub site: AtomicU64,
    /// When it began, in ticks.
    pub since: AtomicU64,
    /// When it ended, in ticks; of use if [`Wait::flags`] says so.
    pub until: AtomicU64,
    /// The owner as the wait began: 0: unknown; below [`THREADS`]: the thread's number; else its
    /// [`Block::thread_pointer`].
    pub owner: AtomicU64,
    /// The thread's counters as it began.
    pub before: [AtomicU32; EVENTS],
    /// The thread's counters as it ended.
    pub after: [AtomicU32; EVENTS],
}

/// The number of locks that a thread may be known to have got by waits before its last one.
pub const HELD: usize = 4;

/// A lock that a thread got by a wait. Changes under [`Wait::sequence`], but for the key, which the release clears.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Held {
    /// The lock and the way of waiting; 0: none.
    pub key: AtomicU64,
    /// When it got it, in ticks.
    pub since: AtomicU64,
}

/// Numbers of threads are below (the kernel's limit), thread pointers are not.
pub const THREADS: u64 = 1 << 22;

/// The values of [`Block::state`].
pub mod state {
    /// Nobody has the block.
    pub const FREE: u32 = 0;
    /// A thread has it, or had it until it exited.
    pub const LIVE: u32 = 1;
    /// Its thread is gone, and its entries move to the table.
    pub const REAPED: u32 = 2;
}

/// What one thread waited for.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Block {
    /// One of [`state`].
    pub state: AtomicU32,
    /// The thread's id.
    pub tid: AtomicU32,
    /// For the thread itself: [`Entry::rule`] of the lock of its last wait.
    pub rule: AtomicU32,
    /// Odd while an entry moves to the table (invariant 3).
    pub moves: AtomicU32,
    /// The thread pointer, under which some locks name the thread.
    pub thread_pointer: AtomicU64,
    /// For the thread itself: 0, or about where its stack ended as it began to wait.
    pub inside: AtomicU64,
    /// Its last wait.
    pub wait: Wait,
    /// For the thread itself: the entry that it used last.
    pub last: AtomicU32,
    /// For the thread itself: the entry that it gives up next.
    pub hand: AtomicU32,
    /// For the thread itself: hashes of the entries' locks and sites, so that a look at two cache lines finds one.
    pub tags: [AtomicU32; ENTRIES],
    /// Locks that it got by a wait before the last one, and is not known to have released.
    pub held: [Held; HELD],
    /// What its waits come to.
    pub entries: [Entry; ENTRIES],
}

/// Returns the bucket of [`BUCKETS`] that a wait belongs to.
#[must_use]
#[inline(always)]
pub const fn bucket(ns: u64) -> usize {
    let power = (ns | 1).ilog2() as usize;
    if power < BUCKETS { power } else { BUCKETS - 1 }
}
