//! The layout of a live view's file. It consists of atomic words, so both sides may access it at any time.
//!
//! | from | what | how many |
//! |---|---|---|
//! | 0 | [`Header`] | 1 |
//! | [`SETTINGS_START`] | [`Table`](settings::Table): the settings for locks (`settings.rs`) | [`settings::TABLES`] |
//! | [`FILE_RULES_START`] | [`Rule`](settings::Rule): policy file's settings, for readers | [`settings::FILE_RULES`] |
//! | [`UNLOADED_START`] | [`Unloaded`]: modules that the program has unloaded | [`UNLOADED`] |
//! | [`LOCKS_START`] | [`Entry`]: waits of threads that have exited, or that found no room in their block | [`LOCKS`] |
//! | [`STACKS_START`] | [`Stack`]: call stacks of waits that are not for our locks | [`STACKS`] |
//! | [`BLOCKS_START`] | [`Block`]: a thread's own waits | [`BLOCKS`] |
//! | [`LOG_START`] | [`crate::log`]: individual waits, while a profiler has them recorded | |
//!
//! Addresses of locks and call sites where one module replaced another include the number of those unloaded before
//! ([`crate::numbered`]).
//!
//! The file has holes: only written parts take room. The totals of a lock's waits are the sum over table and blocks.
//!
//! Except for the settings, the program writes all of it.
//!
//! Invariants:
//! 1. A block is written only by its thread. When that thread has exited, the thread that moves [`Block::state`] from
//!    [`state::LIVE`] to [`state::REAPED`] writes it. A lock's record in the table only ever grows.
//! 2. While [`Wait::sequence`] is odd, the wait's fields and the entry that the wait before it is counted in change.
//! 3. While [`Block::moves`] is odd, an entry is being moved from the block to the table. [`Header::moves_begun`] and
//!    [`Header::moves_ended`] are equal when no entry is being moved in any block.
//! 4. [`Header::magic`] is written last: a file without it is being created.

use crate::{log, settings};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use zerocopy::{FromBytes, IntoBytes};

/// The first bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TWISElve");
/// The version of the layout, which grows with every change of it or its meaning.
pub const VERSION: u32 = 10;
/// The number of bytes that processors fetch together.
const LINE: usize = 64;
/// The size of a page; the header and each block begin on one.
pub const PAGE: usize = 4096;
/// Histograms are by powers of two: bucket `n` has waits of `2^n` ns and more, below `2^(n+1)`; the first also has
/// those of 0 ns, and the last all longer ones.
pub const BUCKETS: usize = 32;
/// The number of locks and call sites that a block has room for.
pub const ENTRIES: usize = 20;
/// The number of records in the table.
pub const LOCKS: usize = 1 << 14;
/// The number of threads that have a block at the same time.
pub const BLOCKS: usize = 1 << 11;
/// The most call stacks that are kept.
pub const STACKS: usize = 1 << 11;
/// The most calls of a stack.
pub const CALLS: usize = 15;
/// The most unloaded modules that are known.
pub const UNLOADED: usize = 128;
/// [`Unloaded::at`] of a module that was seen by a wait, in a program whose unloads are not reported.
pub const STILL_LOADED: u64 = u64::MAX;
/// The most bytes of the program's path that are kept.
pub const NAME: usize = 512;
/// The most bytes that are kept of the arguments by which the program was called.
pub const CALLED: usize = 256;
/// The most bytes of the system's name of the first thread.
pub const TITLE: usize = 16;

/// The offset of the settings.
pub const SETTINGS_START: usize = PAGE;
/// The offset of the policy file's settings.
pub const FILE_RULES_START: usize = SETTINGS_START + settings::TABLES * size_of::<settings::Table>();
/// The offset of the unloaded modules.
pub const UNLOADED_START: usize = FILE_RULES_START + settings::FILE_RULES * size_of::<settings::Rule>();
/// The offset of the table.
pub const LOCKS_START: usize = UNLOADED_START + UNLOADED * size_of::<Unloaded>();
/// The offset of the call stacks.
pub const STACKS_START: usize = LOCKS_START + LOCKS * size_of::<Entry>();
/// The offset of the blocks.
pub const BLOCKS_START: usize = STACKS_START + STACKS * size_of::<Stack>();
/// The offset of the log.
pub const LOG_START: usize = BLOCKS_START + BLOCKS * size_of::<Block>();
/// The length of the file.
pub const FILE_BYTES: usize = LOG_START + log::BYTES;

/// The sizes of all records, by which a reader of another build detects that it does not understand the file.
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
    + 37 * UNLOADED * size_of::<Unloaded>()
    + 41 * STACKS * size_of::<Stack>()) as u32;

const _: () = {
    assert!(size_of::<Block>() == PAGE && size_of::<Entry>() == 192 && LOCKS_START.is_multiple_of(LINE));
    assert!(size_of::<Unloaded>() == 512 && size_of::<Stack>() == 128 && STACKS_START.is_multiple_of(PAGE));
    assert!(size_of::<Header>() <= PAGE && BLOCKS_START.is_multiple_of(PAGE));
    assert!(offset_of!(Header, settings) / LINE < offset_of!(Header, locks_used) / LINE);
};

/// A record of which the file has one, or several in a row.
///
/// # Safety
/// From `START`, which is aligned for them, the file has `COUNT` of them, which consist of atomics.
pub unsafe trait Part: Sized {
    /// The offset of the first.
    const START: usize;
    /// How many there are.
    const COUNT: usize;

    /// Returns the offset of one.
    #[must_use]
    fn offset(place: usize) -> usize {
        Self::START + place * size_of::<Self>()
    }
}

macro_rules! parts {
    ($($part:ty: $start:expr, $count:expr;)*) => {$(
        // SAFETY: the constants above make room for this many, one after the other; all fields are atomics.
        unsafe impl Part for $part {
            const START: usize = $start;
            const COUNT: usize = $count;
        }
    )*};
}

parts! {
    settings::Table: SETTINGS_START, settings::TABLES;
    settings::Rule: FILE_RULES_START, settings::FILE_RULES;
    Unloaded: UNLOADED_START, UNLOADED;
    Entry: LOCKS_START, LOCKS;
    Block: BLOCKS_START, BLOCKS;
    Stack: STACKS_START, STACKS;
    log::Counts: LOG_START, 1;
    log::Record: log::RECORDS_START, log::RECORDS;
    log::Release: log::RELEASES_START, log::RELEASES;
}

/// [`Header::clock`]: the processor's counter.
pub const CLOCK_COUNTER: u32 = 1;
/// [`Header::clock`]: `CLOCK_MONOTONIC` in nanoseconds.
pub const CLOCK_MONOTONIC: u32 = 2;

/// [`Header::policy`]: a policy file's rules decide, lock by lock.
pub const POLICY_FILE: u32 = 255;

/// The header. The fields that threads read at each wait share no cache line with those that they change as entries
/// move, which are at the end.
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
    /// The time at which the process began, from field 22 of its `/proc/PID/stat`.
    pub start: AtomicU64,
    /// A time in ticks.
    pub base_ticks: AtomicU64,
    /// The same time by `CLOCK_MONOTONIC`.
    pub base_ns: AtomicU64,
    /// Nanoseconds in 2^32 ticks, as far as known to the writer.
    pub ns_per_tick: AtomicU64,
    /// The number of blocks that there may be, at most [`BLOCKS`].
    pub blocks: AtomicU32,
    /// The number of blocks that were ever taken: the others are zeros.
    pub blocks_used: AtomicU32,
    /// Whether individual waits are recorded: the only part that readers write.
    pub switch: log::Switch,
    /// The settings in force (`settings.rs`). Other processes than the program write it.
    pub settings: AtomicU64,
    /// The policy of the process's locks: 1 plus its number, or [`POLICY_FILE`]; 0: unknown.
    pub policy: AtomicU32,
    /// 0.
    pub spare: AtomicU32,
    /// The program's path; zeros follow.
    pub name: [AtomicU8; NAME],
    /// The arguments by which the program was called, each followed by a zero: the first one's file name is another
    /// name of the program (`python3` for `python3.11`).
    pub called: [AtomicU8; CALLED],
    /// The first thread's name, and a line feed: a third name, for example that of a script run by its first line.
    pub title: [AtomicU8; TITLE],
    /// The number of records of the table that were ever taken: the others are zeros.
    pub locks_used: AtomicU32,
    /// The number of [`Unloaded`] records.
    pub unloaded: AtomicU32,
    /// The number of times that modules were found to be unloaded.
    pub unloads: AtomicU64,
    /// The range of modules of which not all unloads are known: names of addresses in it are uncertain.
    pub unsure: [AtomicU64; 2],
    /// The number of entries that began to move to the table (invariant 3).
    pub moves_begun: AtomicU64,
    /// The number of entries that have moved.
    pub moves_ended: AtomicU64,
    /// The number of threads that found no block.
    pub lost_threads: AtomicU64,
    /// The number of waits whose lock found no room in the table.
    pub lost_waits: AtomicU64,
    /// Waits inside another wait of the same thread: those of signal handlers.
    pub lost_nested: AtomicU64,
    /// Records of waits and releases without room: on the disk, or because another thread was writing the slot.
    pub lost_records: AtomicU64,
}

/// A module that was unloaded: addresses may refer to it, or to a module loaded in its place. Modules of one place are
/// in the order of their loading.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Unloaded {
    /// The address at which it began.
    pub start: AtomicU64,
    /// The address at which it ended.
    pub end: AtomicU64,
    /// The difference between an address and the one in the file.
    pub base: AtomicU64,
    /// [`Header::unloads`] when it was last unloaded: it may have been loaded again before. [`STILL_LOADED`]: it was
    /// not, as far as the program's waits show.
    pub at: AtomicU64,
    /// The number of bytes of the build id.
    pub build_id_bytes: AtomicU32,
    /// 0.
    pub spare: AtomicU32,
    /// The build id.
    pub build_id: [AtomicU8; 32],
    /// The path that the loader had for it; zeros follow.
    pub path: [AtomicU8; 440],
}

/// The totals of waits for one lock, in one way, at one call site: those of one thread in its block, those of all
/// others in the table. Before a counter can overflow, further waits go to another entry: readers add them.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Entry {
    /// The lock and the way of waiting: [`crate::Key`]. 0: the entry is free.
    pub key: AtomicU64,
    /// The call site, or a stack ([`stack_of_site`]); 0: unknown.
    pub site: AtomicU64,
    /// The total length of all waits.
    pub wait_ns: AtomicU64,
    /// The length of the longest.
    pub longest_ns: AtomicU64,
    /// The number of sleeps.
    pub sleeps: AtomicU32,
    /// Acquisitions past threads that slept.
    pub steals: AtomicU32,
    /// Acquisitions by a hand-off.
    pub handoffs: AtomicU32,
    /// Waits that ended without the lock.
    pub gave_up: AtomicU32,
    /// 1 plus the number of the policy file's rule for the lock; 0: there is none.
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
    /// The thread has since released the lock, while others waited; or its release would not be reported.
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
    /// When it ended, in ticks; valid if [`Wait::flags`] says so.
    pub until: AtomicU64,
    /// The owner when the wait began: 0: unknown; below [`THREADS`]: the thread's number; otherwise its
    /// [`Block::thread_pointer`].
    pub owner: AtomicU64,
    /// The thread's counters when it began.
    pub before: [AtomicU32; EVENTS],
    /// The thread's counters when it ended.
    pub after: [AtomicU32; EVENTS],
}

/// The number of locks that a thread may be known to have acquired by waits before its last one.
pub const HELD: usize = 4;

/// A lock that a thread acquired by a wait. Changes under [`Wait::sequence`], but the release clears the key.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Held {
    /// The lock and the way of waiting; 0: none.
    pub key: AtomicU64,
    /// When the thread acquired it, in ticks.
    pub since: AtomicU64,
}

/// The kernel's limit of thread numbers; thread pointers are above it.
pub const THREADS: u64 = 1 << 22;

/// A call stack, which does not change once a wait has its number.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Stack {
    /// The number of calls.
    pub count: AtomicU64,
    /// Their return addresses, innermost first.
    pub calls: [AtomicU64; CALLS],
}

/// The bit of a call site that is the number of a [`Stack`].
const IS_STACK: u64 = 1 << 63;

/// Returns the call site that stands for the stack of this number.
#[must_use]
pub const fn site_of_stack(number: usize) -> u64 {
    IS_STACK | number as u64
}

/// Returns the number of the stack that a call site stands for; `None`: it is a return address.
#[must_use]
pub const fn stack_of_site(site: u64) -> Option<usize> {
    if site & IS_STACK == 0 { None } else { Some((site & !IS_STACK) as usize) }
}

/// The values of [`Block::state`].
pub mod state {
    /// No thread has the block.
    pub const FREE: u32 = 0;
    /// A thread has it, or had it until it exited.
    pub const LIVE: u32 = 1;
    /// Its thread has exited, and its entries move to the table.
    pub const REAPED: u32 = 2;
}

/// The waits of one thread.
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
    /// The thread pointer, by which some locks name the thread.
    pub thread_pointer: AtomicU64,
    /// For the thread itself: 0, or about where its stack ended as it began to wait.
    pub inside: AtomicU64,
    /// Its last wait.
    pub wait: Wait,
    /// For the thread itself: the entry that it used last.
    pub last: AtomicU32,
    /// For the thread itself: the entry that it replaces next.
    pub hand: AtomicU32,
    /// For the thread itself: hashes of the entries' locks and sites, so that reading two cache lines finds one.
    pub tags: [AtomicU32; ENTRIES],
    /// Locks that it acquired by a wait before the last one, and is not known to have released.
    pub held: [Held; HELD],
    /// The totals of its waits.
    pub entries: [Entry; ENTRIES],
}

/// Returns the bucket of [`BUCKETS`] that a wait belongs to.
#[must_use]
#[inline(always)]
pub const fn bucket(ns: u64) -> usize {
    let power = (ns | 1).ilog2() as usize;
    if power < BUCKETS { power } else { BUCKETS - 1 }
}
