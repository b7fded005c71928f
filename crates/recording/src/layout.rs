//! The layout of the file.

use crate::fields::records;
use crate::scale::{BUCKETS, STEPS};

/// The first bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TWISErec");
/// The version of the layout, which grows with every change.
pub const VERSION: u32 = 6;
/// The longest file. It grows as it is written.
pub const FILE_BYTES: u64 = 4 << 30;

/// Records of one size that are found by their numbers. They lie in pieces, which are chunks; a table in front of the
/// chunks holds their places: a [`Ref`] each, 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The offset of the table.
    pub table: u64,
    /// The size of a record, in bytes.
    pub record: u64,
    /// The number of records.
    pub count: u64,
    /// The number of pages in a piece.
    pub pages: u32,
}

impl Region {
    /// Returns the offset of the first record in a piece: records have their own cache lines.
    #[must_use]
    pub const fn first(&self) -> u64 {
        if self.record > CHUNK_HEADER { self.record } else { CHUNK_HEADER }
    }

    /// Returns the number of records in a piece.
    #[must_use]
    #[inline(always)]
    pub const fn in_piece(&self) -> u64 {
        (self.pages as u64 * PAGE - self.first()) / self.record
    }

    /// Returns the number of pieces.
    #[must_use]
    pub const fn pieces(&self) -> u64 {
        self.count.div_ceil(self.in_piece())
    }

    /// Returns where the table ends: at a cache line boundary.
    const fn end(&self) -> u64 {
        (self.table + self.pieces() * size_of::<Ref>() as u64).next_multiple_of(CHUNK_HEADER)
    }
}

/// The size of a page; chunks are whole pages.
pub const PAGE: u64 = 4096;
/// The threads. Those beyond its count share the last record.
pub const THREADS: Region = Region { table: PAGE, record: size_of::<Thread>() as u64, count: 65_536, pages: 2 };
/// The program and its shared objects.
pub const MODULES: Region = Region { table: THREADS.end(), record: size_of::<Module>() as u64, count: 4096, pages: 2 };
/// The locks by address.
pub const LOCK_SLOTS: Region = Region { table: MODULES.end(), record: 4, count: 1 << 22, pages: 1 };
/// The locks.
pub const LOCKS: Region =
    Region { table: LOCK_SLOTS.end(), record: size_of::<Lock>() as u64, count: 2 << 20, pages: 16 };
/// The stacks by hash.
pub const STACK_SLOTS: Region = Region { table: LOCKS.end(), record: 8, count: 1 << 16, pages: 1 };
/// The offset of the chunks: the parts before it exist from the start.
pub const CHUNKS: u64 = STACK_SLOTS.end().next_multiple_of(PAGE);

/// The offset of the first record in a chunk: entries have their own cache lines.
pub const CHUNK_HEADER: u64 = 64;

/// A place in the file, in units of 16 bytes; 0 is nowhere.
pub type Ref = u32;
/// The unit of [`Ref`].
pub const REF_UNIT: u64 = 16;

/// The sizes of all records, by which a reader of another build detects that it does not understand the file.
pub const LAYOUT: u32 = (size_of::<Header>()
    + 3 * size_of::<Thread>()
    + 5 * size_of::<Module>()
    + 7 * size_of::<Lock>()
    + 11 * size_of::<Entry>()
    + 13 * size_of::<Detail>()
    + 17 * size_of::<Tally>()
    + 19 * size_of::<Episode>()
    + 23 * size_of::<Edge>()
    + 29 * size_of::<Step>()
    + 31 * size_of::<Misuse>()) as u32;

const _: () = assert!(size_of::<Header>() <= PAGE as usize);
const _: () = assert!(size_of::<Entry>() == 64, "an entry is a cache line");
const _: () = assert!(size_of::<Thread>() == 128, "a thread has two cache lines: processors fetch them in pairs");
const _: () = assert!(FILE_BYTES / REF_UNIT <= u32::MAX as u64 + 1);

/// [`Header::clock`]: the time-stamp counter of x86-64.
pub const CLOCK_TSC: u32 = 1;
/// [`Header::clock`]: `CLOCK_MONOTONIC` in nanoseconds.
pub const CLOCK_MONOTONIC: u32 = 2;

/// [`Header::ending`]: the process had not ended.
pub const RUNNING: u32 = 0;
/// [`Header::ending`]: the process exited with [`Header::ending_value`].
pub const EXITED: u32 = 1;
/// [`Header::ending`]: the signal [`Header::ending_value`] ended the process.
pub const SIGNALLED: u32 = 2;

/// [`Header::ending`]: the process ended; how is unknown.
pub const ENDED: u32 = 3;

/// [`Tally::kind`]: `key` is a stack.
pub const TALLY_STACK: u32 = 1;
/// [`Tally::kind`]: `key` is the site ([`Entry::site`]) at which the holder acquired the lock.
pub const TALLY_HOLDER: u32 = 2;
/// [`Tally::kind`]: `key` is a holder's site; counts waits that checked at their beginning whether the holder was on a
/// CPU.
pub const TALLY_LOOKED: u32 = 3;
/// [`Tally::kind`]: `key` is a holder's site; counts waits that found the holder off its CPU.
pub const TALLY_OFF_CPU: u32 = 4;

/// [`Module::gone`]: it was unloaded; the same file may be loaded again.
pub const GONE: u32 = 1;
/// [`Module::gone`]: another file took its place. Everything recorded of its addresses until then has been marked
/// ([`marked`]).
pub const REPLACED: u32 = 2;
/// [`Module::gone`]: another file took its place, and a thread is marking.
pub const MARKING: u32 = 3;

/// The largest mark: which of the modules was meant is no longer known.
pub use turnwise_preload_abi::UNKNOWN_MODULE as MOST_MARKS;
/// Marks an address in a module that another has replaced with the module's number among those at that place, from 1.
/// Addresses without a mark are in the last of them.
pub use turnwise_preload_abi::numbered as marked;

/// Returns the address without its mark, and the mark; 0: none.
#[must_use]
pub const fn unmarked(address: u64) -> (u64, u64) {
    (turnwise_preload_abi::unnumbered(address), address >> 48)
}

/// [`Step::what`]: a stretch begins, at [`Step::ticks`]; [`Step::of`] is the thread's number.
pub const STEP_BEGIN: u32 = 1;
/// [`Step::what`]: follows a beginning: the number of acquisitions that the thread had made until then.
pub const STEP_COUNT: u32 = 2;
/// [`Step::what`]: the thread ran for [`Step::ticks`], then requested a lock and acquired it; [`Step::of`] is its
/// [`Entry`].
pub const STEP_ACQUIRE: u32 = 3;
/// [`Step::what`]: the thread ran for [`Step::ticks`], then released the lock of the [`Entry`] [`Step::of`].
pub const STEP_RELEASE: u32 = 4;
/// [`Step::what`]: the thread ran for [`Step::ticks`] before it was off its CPU.
pub const STEP_RAN: u32 = 5;
/// [`Step::what`]: the thread slept for [`Step::ticks`], voluntarily.
pub const STEP_SLEPT: u32 = 6;
/// [`Step::what`]: the thread was runnable, and others had its CPU for [`Step::ticks`].
pub const STEP_PREEMPTED: u32 = 7;
/// [`Step::what`]: the thread waited for [`Step::ticks`] on a condition variable.
pub const STEP_AWAITED: u32 = 8;
/// [`Step::what`]: the stretch ended, at [`Step::ticks`].
pub const STEP_END: u32 = 9;
/// [`Step::what`]: the acquisition that follows waited. The recorder took [`Step::of`] ticks to look before the
/// wait, and took notes for [`Step::ticks`] after it, with the lock held.
pub const STEP_WAITED: u32 = 10;

/// [`Edge::acquisition`]: all edges of the acquisition are written.
pub const LAST_EDGE: u32 = 1 << 31;

/// [`Misuse::what`]: the thread released a mutex that another one had.
pub const RELEASED_OF_ANOTHER: u32 = 1;
/// [`Misuse::what`]: the thread released a mutex that no thread had.
pub const RELEASED_FREE: u32 = 2;
/// [`Misuse::what`]: the thread destroyed a mutex that a thread had.
pub const DESTROYED_HELD: u32 = 3;
/// [`Misuse::what`]: the thread waited on a condition variable with a mutex that it did not have.
pub const WAITED_WITHOUT: u32 = 4;
/// [`Misuse::what`]: the thread ended with a mutex.
pub const ENDED_WITH: u32 = 5;

/// [`Episode::flags`]: the lock was eventually acquired.
pub const ACQUIRED: u32 = 1;

/// Index in [`Detail::events`]: sleeps.
pub const LOCK_SLEEPS: usize = 0;
/// Acquisitions past threads that slept, after a wait.
pub const LOCK_STEALS: usize = 1;
/// Acquisitions by a hand-off.
pub const LOCK_HANDOFFS: usize = 2;
/// Spins that ended with the lock.
pub const LOCK_SPINS_WON: usize = 3;
/// Spins not begun or abandoned because the owner was off its CPU.
pub const LOCK_SPINS_OFF_CPU: usize = 4;
/// Spins abandoned at the end of their time.
pub const LOCK_SPINS_TIMED_OUT: usize = 5;
/// The number of [`Detail::events`].
pub const LOCK_EVENTS: usize = 6;

/// [`Header::full`], [`Header::unrecorded_why`]: the limit on the size of files.
pub const WHY_FILE_SIZE: u32 = 1;
/// The limit on address space or on locked memory, or no memory.
pub const WHY_MEMORY: u32 = 2;
/// The disk is full.
pub const WHY_DISK: u32 = 3;
/// The file cannot be reached any more: by another user, or under another root directory.
pub const WHY_UNREACHABLE: u32 = 4;
/// The limit on descriptors.
pub const WHY_DESCRIPTORS: u32 = 5;
/// There are too many processes, or the file has its greatest length.
pub const WHY_MANY: u32 = 6;
/// Something else.
pub const WHY_OTHER: u32 = 7;
/// The program installed a filter of system calls, which may end it for a call that it does not make itself.
pub const WHY_FILTER: u32 = 8;

/// The most frames of a stack.
pub const STACK_FRAMES: usize = 48;

records! {
    /// The header: what ran, the clock, and how much of each part is used.
    Header as HeaderCopy {
        /// [`MAGIC`].
        magic: u64,
        /// [`VERSION`].
        version: u32,
        /// [`LAYOUT`].
        layout: u32,
        /// The process that records here; 0: none yet.
        pid: u32,
        /// The clock that the ticks are from.
        clock: u32,
        /// One in this many uncontended acquisitions has its hold time measured.
        hold_one_in: u32,
        /// One in this many short contended acquisitions has its stack.
        stack_one_in: u32,
        /// Nanoseconds since 1970 at the start.
        started_unix_ns: u64,
        /// Ticks at the start.
        ticks_start: u64,
        /// `CLOCK_MONOTONIC` at the start, ns.
        monotonic_start: u64,
        /// Ticks at a later time.
        ticks_end: u64,
        /// `CLOCK_MONOTONIC` at that time, ns.
        monotonic_end: u64,
        /// Bytes of chunks handed out.
        used: u64,
        /// The number of threads so far; may exceed their region.
        threads: u32,
        /// The number of modules so far; may exceed their region.
        modules: u32,
        /// The number of locks so far; may exceed their region.
        locks: u32,
        /// The number of files of other processes that descend from this one.
        children: u32,
        /// Acquisitions that could not be counted by lock and site.
        unattributed: u64,
        /// The number of episode pages handed out.
        episode_pages: u64,
        /// The number of histograms handed out.
        details: u64,
        /// The reason that something is missing, a `WHY_*` number; 0: nothing is missing.
        full: u32,
        /// Whether call stacks can be taken here without waiting for the loader.
        can_unwind: u32,
        /// CPUs that the process could use.
        cpus: u32,
        /// [`RUNNING`], [`EXITED`], [`SIGNALLED`], [`ENDED`].
        ending: u32,
        /// The status or signal.
        ending_value: u32,
        /// Not 0: the locks report what their waits consisted of ([`Detail::reported`]).
        lock_events: u32,
        /// Not 0: threads record stretches of their operations in order ([`Step`]).
        steps: u32,
        /// Not 0: threads counted acquisitions some time after they had made them, and some may be only in their own
        /// numbers.
        journals: u32,
        /// The ticks that reading the clock in order takes, included in every time of a [`Step`].
        clock_ticks: u64,
        /// Pages of steps handed out.
        step_pages: u64,
        /// The number of processes that descend from this one and could not create a recording.
        unrecorded: u32,
        /// Why the first of them could not, a `WHY_*` number.
        unrecorded_why: u32,
        /// The locks that the program ran on: the value of `TURNWISE_LOCK`, or `libc`.
        policy: [u8; 32],
        /// The machine, as the reports name it; after its zero byte, the CPU use of others: programs and host, as `0.31
        /// 0.02`, if known.
        machine: [u8; 256],
        /// The program's file.
        executable: [u8; 512],
        /// The command line, a zero byte after each argument.
        command: [u8; 1024],
    }

    /// A thread.
    Thread as ThreadCopy {
        /// The thread's number in the system.
        tid: u32,
        /// Its [`Detail`], once it waited.
        detail: u32,
        /// The time of its first lock operation, ticks.
        began: u64,
        /// The time at which it ended, ticks; 0: it did not.
        ended: u64,
        /// Its name when last seen.
        name: [u8; 16],
        /// Acquisitions until the next sampled one. `ahead` minus this is the number of acquisitions so far.
        left: u32,
        /// Zero.
        reserved: u32,
        /// All acquisitions up to that one; see `left`.
        ahead: u64,
        /// The number of acquisitions by readers.
        reads: u64,
        /// The number of failed attempts.
        failed: u64,
        /// The number of waits not kept individually.
        dropped: u64,
        /// Acquisitions from signal handlers that interrupted the recorder, counted nowhere else.
        nested: u64,
        /// Immediate acquisitions, past threads that slept.
        stolen: u64,
        /// Zero. No two threads write to the same cache line.
        spare: [u64; 4],
    }

    /// A file that is mapped into the program.
    Module as ModuleCopy {
        /// The difference between an address and the one in the file.
        base: u64,
        /// The first address.
        start: u64,
        /// The first address after it; 0: not written yet.
        end: u64,
        /// Bytes of the build id.
        build_id_bytes: u32,
        /// Not 0: something else may be there now; see [`GONE`], [`MARKING`] and [`REPLACED`].
        gone: u32,
        /// The build id.
        build_id: [u8; 32],
        /// For the recorder: a hash of the loader's name for it, and of its build id.
        identity: u64,
        /// Without a build id: the file's number, if it was requested.
        inode: u64,
        /// Its size.
        bytes: u64,
        /// The time of its last change, ns since 1970.
        changed_ns: u64,
        /// The checksum of its bytes (CRC-32), if the program's starter found it unchanged at the end.
        checksum: u32,
        /// Whether there is one.
        has_checksum: u32,
        /// The file, followed by a zero byte; empty: the program itself.
        path: [u8; 448],
    }

    /// A lock or a condition variable.
    Lock as LockCopy {
        /// Its address.
        address: u64,
        /// [`Class`](crate::Class).
        class: u32,
        /// For a mutex, its kind in the C library.
        kind: u32,
        /// For what threads sleep on: the stack of the call that last woke one, or was to; 0: not known.
        woken_by: u32,
        /// The number of the thread that made it.
        waker: u32,
        /// Stack of the call that made it; 0: none seen.
        created: u32,
        /// The lock at this address before: its number plus 1.
        previous: u32,
        /// First sight, ticks.
        began: u64,
        /// Not 0: destroyed.
        destroyed: u32,
        /// Not 0: a thread waited.
        contended: u32,
        /// Where it was initialised.
        created_at: u64,
        /// Not 0: it was in a module that another has replaced; the mark of its address ([`marked`]).
        replaced: u64,
    }

    /// The header that precedes a chunk's records.
    Chunk as ChunkCopy {
        /// [`ChunkKind`](crate::ChunkKind); 0: being made.
        kind: u32,
        /// Pages.
        pages: u32,
        /// Records in use.
        count: u32,
        /// The number of the thread that took it, plus 1. (Later threads may have continued with it.)
        thread: u32,
    }

    /// A thread's operations on one lock from one site. Later threads may have continued with it.
    Entry as EntryCopy {
        /// The lock's address; lowest bit set: another lock is there now.
        address: u64,
        /// [`Op`](crate::Op) and return address; for [`Op::Sleep`](crate::Op::Sleep), a hash of the path that led
        /// there.
        site: u64,
        /// The lock's number.
        lock: u32,
        /// For the recorder: the epoch in which this lock was last known to be at the address; lowest bit: the first
        /// acquisitions are not over.
        epoch: u32,
        /// The number of acquisitions; for waits, of waits; for signals, of signals.
        acquisitions: u64,
        /// Its [`Detail`]; 0: none.
        detail: u32,
        /// The number of failed attempts.
        failed: u32,
        /// For condition variables: the mutex's address. For [`Op::Sleep`](crate::Op::Sleep): the stack's [`Ref`], and
        /// in the upper half the thread's number. For locks, for the recorder: identifies the locks under which the
        /// thread acquired this one before.
        mutex_or_under: u64,
        /// For condition variables: waits that timed out. For locks: immediate acquisitions, past threads that slept.
        timed_out_or_stolen: u64,
        /// For condition variables: wake-ups without effect. For calls that wake: those that woke no thread.
        for_nothing: u64,
    }

    /// Distributions and a time course.
    Detail as DetailCopy {
        /// Contended acquisitions.
        contended: u64,
        /// Ticks waited for them.
        wait_sum: u64,
        /// The longest wait.
        wait_max: u64,
        /// Contended acquisitions whose release was recorded.
        hold_contended: u64,
        /// Ticks that they held.
        hold_contended_sum: u64,
        /// Other measured holds, which stand for themselves: a site's first, and those after a condition variable.
        hold_single: u64,
        /// Ticks that they held.
        hold_single_sum: u64,
        /// A sample of all others.
        hold_sampled: u64,
        /// Ticks that they held.
        hold_sampled_sum: u64,
        /// The longest hold.
        hold_max: u64,
        /// The first [`Tally`]; 0: none.
        tallies: u32,
        /// A step is 2 to this power ticks.
        step_shift: u32,
        /// The number of tallies that found no room.
        tallies_dropped: u64,
        /// The number of waits whose components the lock reported.
        reported: u64,
        /// The number of other waits whose sleeps are nevertheless known.
        watched: u64,
        /// Their components, by the `LOCK_*` numbers.
        events: [u64; LOCK_EVENTS],
        /// Waits by length.
        wait: [u32; BUCKETS],
        /// Holds by length.
        hold: [u32; BUCKETS],
        /// Acquisitions in each step, scaled up from the sample.
        step_acquisitions: [u32; STEPS],
        /// Contended acquisitions in each step.
        step_contended: [u32; STEPS],
        /// Ticks waited in each step.
        step_wait: [u64; STEPS],
    }

    /// Waits by stack, or by the holder's site.
    Tally as TallyCopy {
        /// [`TALLY_STACK`], [`TALLY_HOLDER`], [`TALLY_LOOKED`], [`TALLY_OFF_CPU`].
        kind: u32,
        /// The next one.
        next: u32,
        /// The key that they have in common.
        key: u64,
        /// Waits, scaled up.
        waits: u64,
        /// Their ticks, scaled up.
        ticks: u64,
    }

    /// One wait.
    Episode as EpisodeCopy {
        /// The [`Entry`].
        entry: u32,
        /// The thread that waited.
        thread: u32,
        /// Stack; 0: not taken.
        stack: u32,
        /// The number of the holder plus 1; 0: unknown.
        holder: u32,
        /// Where the holder had acquired the lock ([`Entry::site`]).
        holder_site: u64,
        /// Ticks at its beginning.
        began: u64,
        /// Ticks at its end; 0: the wait had not ended.
        acquired: u64,
        /// Ticks at the release; 0: not recorded.
        released: u64,
        /// [`ACQUIRED`].
        flags: u32,
        /// Zero.
        reserved: u32,
    }

    /// A thread acquired one lock while it held another. Of a thread that held several, there is an edge for each: the
    /// other locks guard an edge: a thread that holds one of them keeps away others that would take it.
    Edge as EdgeCopy {
        /// The [`Entry`] of the lock that it held; of the acquired lock, if the thread held that already.
        held: u32,
        /// The [`Entry`] of the lock that it acquired.
        acquired: u32,
        /// The thread.
        thread: u32,
        /// The number that the edges of one acquisition have in common among the thread's, and [`LAST_EDGE`] in the
        /// last of them; 0: not written yet.
        acquisition: u32,
    }
    /// A thread did with a lock what POSIX forbids.
    Misuse as MisuseCopy {
        /// What it did, by its number; 0: not written yet.
        what: u32,
        /// The thread.
        thread: u32,
        /// The lock's number.
        lock: u32,
        /// The stack of the call; 0: not known.
        stack: u32,
        /// The number of the thread that had the lock, plus 1; 0: none had it.
        holder: u32,
        /// Zero.
        reserved: u32,
        /// Where that thread had acquired it ([`Entry::site`]).
        holder_site: u64,
    }
    /// A thread's next operation. Steps follow one another in stretches, each from a [`STEP_BEGIN`] to a [`STEP_END`]
    /// or to the end of the thread's steps; a thread holds no lock where a stretch begins. The recorder's own work lies
    /// between the times.
    Step as StepCopy {
        /// One of the `STEP_*` numbers.
        what: u32,
        /// See the number's description.
        of: u32,
        /// See the number's description.
        ticks: u64,
    }
}
