//! What lies where.

use crate::fields::records;
use crate::scale::{BUCKETS, STEPS};

/// The first bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TWISErec");
/// Grows with every change of the layout.
pub const VERSION: u32 = 4;
/// The longest file. It grows as it is written.
pub const FILE_BYTES: u64 = 4 << 30;

/// Records of one size that are found by their numbers. They lie in pieces, which are chunks; where those are, says a
/// table in front of the chunks: a [`Ref`] each, 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Where the table begins.
    pub table: u64,
    /// Bytes of a record.
    pub record: u64,
    /// Number of records.
    pub count: u64,
    /// Pages of a piece.
    pub pages: u32,
}

impl Region {
    const fn after(previous: u64, record: usize, count: u64, pages: u32) -> Region {
        Region { table: previous, record: record as u64, count, pages }
    }

    /// From the start of a piece to its first record: records lie on cache lines of their own.
    #[must_use]
    pub const fn first(&self) -> u64 {
        if self.record > CHUNK_HEADER { self.record } else { CHUNK_HEADER }
    }

    /// The number of records in a piece.
    #[must_use]
    #[inline(always)]
    pub const fn in_piece(&self) -> u64 {
        (self.pages as u64 * PAGE - self.first()) / self.record
    }

    /// The number of pieces.
    #[must_use]
    pub const fn pieces(&self) -> u64 {
        self.count.div_ceil(self.in_piece())
    }

    /// Where the table ends: on a cache line.
    const fn end(&self) -> u64 {
        (self.table + self.pieces() * size_of::<Ref>() as u64).next_multiple_of(CHUNK_HEADER)
    }
}

/// Chunks are whole pages.
pub const PAGE: u64 = 4096;
/// The threads. Those beyond share the last record.
pub const THREADS: Region = Region::after(PAGE, size_of::<Thread>(), 65_536, 2);
/// The program and its shared objects.
pub const MODULES: Region = Region::after(THREADS.end(), size_of::<Module>(), 4096, 2);
/// The locks by address.
pub const LOCK_SLOTS: Region = Region::after(MODULES.end(), 4, 1 << 22, 1);
/// The locks.
pub const LOCKS: Region = Region::after(LOCK_SLOTS.end(), size_of::<Lock>(), 2 << 20, 16);
/// The stacks by hash.
pub const STACK_SLOTS: Region = Region::after(LOCKS.end(), 8, 1 << 16, 1);
/// Where the chunks begin: what lies before is there from the start.
pub const CHUNKS: u64 = STACK_SLOTS.end().next_multiple_of(PAGE);

/// From the start of a chunk to its first record: entries lie on cache lines of their own.
pub const CHUNK_HEADER: u64 = 64;

/// A place in the file, in units of 16 bytes; 0 is nowhere.
pub type Ref = u32;
/// The unit of [`Ref`].
pub const REF_UNIT: u64 = 16;

/// Sizes of all records: a reader of another build sees that it does not understand the file.
pub const LAYOUT: u32 = (size_of::<Header>()
    + 3 * size_of::<Thread>()
    + 5 * size_of::<Module>()
    + 7 * size_of::<Lock>()
    + 11 * size_of::<Entry>()
    + 13 * size_of::<Detail>()
    + 17 * size_of::<Tally>()
    + 19 * size_of::<Episode>()
    + 23 * size_of::<Edge>()
    + 29 * size_of::<Step>()) as u32;

const _: () = assert!(size_of::<Header>() <= PAGE as usize);
const _: () = assert!(size_of::<Entry>() == 64, "an entry is a cache line");
const _: () = assert!(size_of::<Thread>() == 128, "a thread has two cache lines: processors fetch them in pairs");
const _: () = assert!(FILE_BYTES / REF_UNIT <= u32::MAX as u64 + 1);

/// [`Header::clock`]: the time-stamp counter of x86-64.
pub const CLOCK_TSC: u32 = 1;
/// [`Header::clock`]: `CLOCK_MONOTONIC` in nanoseconds.
pub const CLOCK_MONOTONIC: u32 = 2;

/// [`Header::ending`]: it had not ended.
pub const RUNNING: u32 = 0;
/// [`Header::ending`]: it exited with [`Header::ending_value`].
pub const EXITED: u32 = 1;
/// [`Header::ending`]: the signal [`Header::ending_value`] ended it.
pub const SIGNALLED: u32 = 2;

/// [`Header::ending`]: it ended; how is not known.
pub const ENDED: u32 = 3;

/// [`Chunk::kind`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ChunkKind {
    /// [`Entry`] after [`Entry`].
    Entries = 1,
    /// [`Episode`] after [`Episode`].
    Episodes = 2,
    /// [`Edge`] after [`Edge`].
    Edges = 3,
    /// [`Detail`], [`Tally`], stacks: what others refer to.
    Arena = 4,
    /// [`Step`] after [`Step`].
    Steps = 5,
    /// A piece of a [`Region`].
    Piece = 6,
}

/// What happened at a site: the upper byte of [`Entry::site`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Op {
    /// A lock was acquired (by a writer).
    Acquire = 0,
    /// A lock was acquired by a reader.
    Read = 1,
    /// A condition variable's wait acquired the mutex again.
    AfterWait = 2,
    /// A condition variable was waited on.
    Wait = 3,
    /// `pthread_cond_signal`.
    Signal = 4,
    /// `pthread_cond_broadcast`.
    Broadcast = 5,
}

impl Op {
    /// All, by their numbers.
    pub const ALL: [Op; 6] = [Op::Acquire, Op::Read, Op::AfterWait, Op::Wait, Op::Signal, Op::Broadcast];

    /// Encodes the operation and its address for [`Entry::site`].
    #[must_use]
    #[inline(always)]
    pub const fn at(self, address: u64) -> u64 {
        address & ADDRESS | (self as u64) << 56
    }

    /// What a word of [`Entry::site`] holds; `None`: no such number.
    #[must_use]
    pub fn split(site: u64) -> Option<(Op, u64)> {
        Some((*Op::ALL.get((site >> 56) as usize)?, site & ADDRESS))
    }
}

/// The bits of an address in [`Entry::site`].
const ADDRESS: u64 = (1 << 56) - 1;

/// What [`Lock::class`] says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Class {
    /// `pthread_mutex_t`, `mtx_t`.
    Mutex = 1,
    /// `pthread_rwlock_t`.
    RwLock = 2,
    /// `pthread_spinlock_t`.
    Spin = 3,
    /// `pthread_cond_t`, `cnd_t`.
    Condition = 4,
}

/// [`Tally::kind`]: `key` is a stack.
pub const TALLY_STACK: u32 = 1;
/// [`Tally::kind`]: `key` is the site ([`Entry::site`]) from which the holder had the lock.
pub const TALLY_HOLDER: u32 = 2;
/// [`Tally::kind`]: `key` is a holder's site; counts waits that looked at their beginning whether the holder was on a
/// CPU.
pub const TALLY_LOOKED: u32 = 3;
/// [`Tally::kind`]: `key` is a holder's site; counts waits that found the holder on no CPU.
pub const TALLY_OFF_CPU: u32 = 4;

/// [`Module::gone`]: it was unloaded; the same file may come back.
pub const GONE: u32 = 1;
/// [`Module::gone`]: another file came in its place. What was recorded of its addresses until then has been marked
/// ([`marked`]).
pub const REPLACED: u32 = 2;
/// [`Module::gone`]: another file came in its place, and a thread is marking.
pub const MARKING: u32 = 3;

/// The bits of an address below the mark.
const UNMARKED: u64 = (1 << 48) - 1;
/// The largest mark: which of the modules was meant is not known any more.
pub const MOST_MARKS: u64 = 255;

/// An address in a module in whose place another came: with the module's number among those that lay there, from 1 on.
/// Addresses without a mark are in the last of them.
#[must_use]
pub const fn marked(address: u64, number: u64) -> u64 {
    let number = if number < MOST_MARKS { number } else { MOST_MARKS };
    address & !(MOST_MARKS << 48) | number << 48
}

/// The address without its mark, and the mark; 0: none.
#[must_use]
pub const fn unmarked(address: u64) -> (u64, u64) {
    (address & UNMARKED, address >> 48)
}

/// [`Step::what`]: a stretch begins, at [`Step::ticks`]; [`Step::of`] is the thread's number.
pub const STEP_BEGIN: u32 = 1;
/// [`Step::what`]: follows a beginning: how many acquisitions the thread had made by then.
pub const STEP_COUNT: u32 = 2;
/// [`Step::what`]: the thread ran for [`Step::ticks`], then asked for a lock and acquired it; [`Step::of`] is its
/// [`Entry`].
pub const STEP_ACQUIRE: u32 = 3;
/// [`Step::what`]: the thread ran for [`Step::ticks`], then gave back the lock of the [`Entry`] [`Step::of`].
pub const STEP_RELEASE: u32 = 4;
/// [`Step::what`]: the thread ran for [`Step::ticks`] before it was off its CPU.
pub const STEP_RAN: u32 = 5;
/// [`Step::what`]: the thread slept for [`Step::ticks`], by its own will.
pub const STEP_SLEPT: u32 = 6;
/// [`Step::what`]: the thread wanted to run, and others had its CPU for [`Step::ticks`].
pub const STEP_PREEMPTED: u32 = 7;
/// [`Step::what`]: the thread waited for [`Step::ticks`] on a condition variable.
pub const STEP_AWAITED: u32 = 8;
/// [`Step::what`]: the stretch ended, at [`Step::ticks`].
pub const STEP_END: u32 = 9;
/// [`Step::what`]: the acquisition that follows waited. The recorder looked around for [`Step::of`] ticks before the
/// wait, and took notes for [`Step::ticks`] after it, with the lock held.
pub const STEP_WAITED: u32 = 10;

/// [`Episode::flags`]: the lock was acquired in the end.
pub const ACQUIRED: u32 = 1;

/// Number in [`Detail::events`]: sleeps.
pub const LOCK_SLEEPS: usize = 0;
/// Acquisitions past threads that slept, after a wait.
pub const LOCK_STEALS: usize = 1;
/// Acquisitions by a promised turn.
pub const LOCK_HANDOFFS: usize = 2;
/// Spins that ended with the lock.
pub const LOCK_SPINS_WON: usize = 3;
/// Spins not begun or given up, since the owner was off its CPU.
pub const LOCK_SPINS_OFF_CPU: usize = 4;
/// Spins given up, since their time was spent.
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

/// Frames of a stack at most.
pub const STACK_FRAMES: usize = 48;

records! {
    /// What ran, the clock, how much of each part is used.
    Header as HeaderCopy {
        /// [`MAGIC`].
        magic: u64,
        /// [`VERSION`].
        version: u32,
        /// [`LAYOUT`].
        layout: u32,
        /// Process that records here; 0: none yet.
        pid: u32,
        /// Which clock the ticks are of.
        clock: u32,
        /// One in so many uncontended acquisitions has its hold time measured.
        hold_one_in: u32,
        /// One in so many short contended acquisitions has its stack.
        stack_one_in: u32,
        /// Nanoseconds since 1970 at the start.
        started_unix_ns: u64,
        /// Ticks at the start.
        ticks_start: u64,
        /// `CLOCK_MONOTONIC` at the start, ns.
        monotonic_start: u64,
        /// Ticks later.
        ticks_end: u64,
        /// `CLOCK_MONOTONIC` then, ns.
        monotonic_end: u64,
        /// Bytes of chunks handed out.
        used: u64,
        /// Threads so far; may exceed their region.
        threads: u32,
        /// Modules so far; may exceed their region.
        modules: u32,
        /// Locks so far; may exceed their region.
        locks: u32,
        /// Files of other processes that descend from this one.
        children: u32,
        /// Acquisitions that could not be counted by lock and site.
        unattributed: u64,
        /// Pages of episodes handed out.
        episode_pages: u64,
        /// Histograms handed out.
        details: u64,
        /// Why something is missing, by the `WHY_*` numbers; 0: nothing is.
        full: u32,
        /// Whether call stacks can be taken here without waiting for the loader.
        can_unwind: u32,
        /// CPUs that the process could use.
        cpus: u32,
        /// [`RUNNING`], [`EXITED`], [`SIGNALLED`], [`ENDED`].
        ending: u32,
        /// Status or signal.
        ending_value: u32,
        /// Not 0: the locks tell what their waits were made of ([`Detail::told`]).
        lock_events: u32,
        /// Not 0: threads keep stretches of what they do in order ([`Step`]).
        steps: u32,
        /// Not 0: threads counted acquisitions some time after they had made them, and some may be in their own numbers
        /// alone.
        journals: u32,
        /// Ticks that reading the clock in order takes, which lie within every time of a [`Step`].
        clock_ticks: u64,
        /// Pages of steps handed out.
        step_pages: u64,
        /// Processes that descend from this one and could make no recording.
        unrecorded: u32,
        /// Why the first could not, by the `WHY_*` numbers.
        unrecorded_why: u32,
        /// The locks that the program ran on: the value of `TURNWISE_LOCK`, or `libc`.
        policy: [u8; 32],
        /// Machine, as the reports name it; behind its zero byte, what others took of the CPUs: programs and host, as
        /// `0.31 0.02`, if that is known.
        machine: [u8; 256],
        /// The program's file.
        executable: [u8; 512],
        /// The command line, a zero byte after each argument.
        command: [u8; 1024],
    }

    /// A thread.
    Thread as ThreadCopy {
        /// Its number in the system.
        tid: u32,
        /// Its [`Detail`], once it waited.
        detail: u32,
        /// When its first lock operation was, ticks.
        began: u64,
        /// When it ended, ticks; 0: it did not.
        ended: u64,
        /// Its name at last sight.
        name: [u8; 16],
        /// Acquisitions until the next sampled one, and all up to there: the difference is how many there were.
        left: u32,
        /// Zero.
        reserved: u32,
        /// See `left`.
        ahead: u64,
        /// Acquisitions by readers.
        reads: u64,
        /// Attempts that failed.
        failed: u64,
        /// Waits not kept one by one.
        dropped: u64,
        /// Acquisitions from signal handlers that interrupted the recorder, counted nowhere else.
        nested: u64,
        /// Acquisitions at once, past threads that slept.
        stolen: u64,
        /// Zero. Two threads write to no line together.
        spare: [u64; 4],
    }

    /// A file that is mapped into the program.
    Module as ModuleCopy {
        /// What to subtract from an address for one in the file.
        base: u64,
        /// First address.
        start: u64,
        /// First address behind it; 0: not written yet.
        end: u64,
        /// Bytes of the build id.
        build_id_bytes: u32,
        /// Not 0: something else may lie there by now; see [`GONE`], [`MARKING`] and
        /// [`REPLACED`].
        gone: u32,
        /// The build id.
        build_id: [u8; 32],
        /// For the recorder: hash of the loader's name of it.
        name: u64,
        /// Without a build id: the file's number, if it was asked for.
        inode: u64,
        /// Its size.
        bytes: u64,
        /// When it was last changed, ns since 1970.
        changed_ns: u64,
        /// The checksum of its bytes (CRC-32), if the program's starter found it unchanged at the end.
        checksum: u32,
        /// Whether there is one.
        has_checksum: u32,
        /// The file, with a zero byte behind; empty: the program itself.
        path: [u8; 448],
    }

    /// A lock or a condition variable.
    Lock as LockCopy {
        /// Where it lies.
        address: u64,
        /// [`Class`].
        class: u32,
        /// Of a mutex, its kind as the C library has it.
        kind: u32,
        /// Stack of the call that made it; 0: none seen.
        created: u32,
        /// The lock that lay there before: its number and 1.
        previous: u32,
        /// First sight, ticks.
        began: u64,
        /// Not 0: destroyed.
        destroyed: u32,
        /// Not 0: somebody waited.
        contended: u32,
        /// Where it was made.
        created_at: u64,
        /// Not 0: it lay in a module in whose place another came; the mark of its address ([`marked`]).
        replaced: u64,
    }

    /// What precedes a chunk's records.
    Chunk as ChunkCopy {
        /// [`ChunkKind`]; 0: being made.
        kind: u32,
        /// Pages.
        pages: u32,
        /// Records in use.
        count: u32,
        /// Number of the thread that took it, and 1. (Threads that came later may have gone on with it.)
        thread: u32,
    }

    /// What a thread did at one lock from one site. Threads that came later may have gone on with it.
    Entry as EntryCopy {
        /// The lock's address; lowest bit set: another lock lies there now.
        address: u64,
        /// [`Op`] and return address.
        site: u64,
        /// The lock's number.
        lock: u32,
        /// For the recorder: when it last knew that this lock lies at the address; lowest bit: the first acquisitions
        /// are not over.
        epoch: u32,
        /// Acquisitions; of waits, waits; of signals, signals.
        acquisitions: u64,
        /// Its [`Detail`]; 0: none.
        detail: u32,
        /// Attempts that failed.
        failed: u32,
        /// Of condition variables: the mutex's address. Of locks, for the recorder: stands for the locks under which
        /// the thread acquired this one before.
        mutex_or_under: u64,
        /// Of condition variables: waits that ended by their time. Of locks: acquisitions at once, past threads that
        /// slept.
        timed_out_or_stolen: u64,
        /// Of condition variables: woken for nothing.
        for_nothing: u64,
    }

    /// Distributions and a course over time.
    Detail as DetailCopy {
        /// Contended acquisitions.
        contended: u64,
        /// Ticks waited for them.
        wait_sum: u64,
        /// Longest wait.
        wait_max: u64,
        /// Contended acquisitions whose release was seen.
        hold_contended: u64,
        /// Ticks that they held.
        hold_contended_sum: u64,
        /// Others that were measured and stand for themselves: a site's first, and those after a condition variable.
        hold_single: u64,
        /// Ticks that they held.
        hold_single_sum: u64,
        /// Of all others a sample.
        hold_sampled: u64,
        /// Ticks that they held.
        hold_sampled_sum: u64,
        /// Longest hold.
        hold_max: u64,
        /// The first [`Tally`]; 0: none.
        tallies: u32,
        /// A step is 2 to this power ticks.
        step_shift: u32,
        /// Tallies that found no room.
        tallies_dropped: u64,
        /// Waits of which the lock told what they were made of.
        told: u64,
        /// Others whose sleeps are known all the same.
        watched: u64,
        /// What they were made of, by the `LOCK_*` numbers.
        events: [u64; LOCK_EVENTS],
        /// Waits by length.
        wait: [u32; BUCKETS],
        /// Holds by length.
        hold: [u32; BUCKETS],
        /// Acquisitions in each step, scaled up from the sample.
        step_acquisitions: [u32; STEPS],
        /// Contended ones.
        step_contended: [u32; STEPS],
        /// Ticks waited.
        step_wait: [u64; STEPS],
    }

    /// Waits by stack, or by the holder's site.
    Tally as TallyCopy {
        /// [`TALLY_STACK`], [`TALLY_HOLDER`], [`TALLY_LOOKED`], [`TALLY_OFF_CPU`].
        kind: u32,
        /// The next one.
        next: u32,
        /// What they have in common.
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
        /// Who waited.
        thread: u32,
        /// Stack; 0: not taken.
        stack: u32,
        /// Number of the holder and 1; 0: unknown.
        holder: u32,
        /// Where the holder had taken it ([`Entry::site`]).
        holder_site: u64,
        /// Ticks at its beginning.
        began: u64,
        /// Ticks at its end; 0: it had not ended.
        acquired: u64,
        /// Ticks at the release; 0: not seen.
        released: u64,
        /// [`ACQUIRED`].
        flags: u32,
        /// Zero.
        reserved: u32,
    }

    /// A thread acquired one lock while it held another.
    Edge as EdgeCopy {
        /// The [`Entry`] of the one that it held.
        held: u32,
        /// The [`Entry`] of the one that it acquired.
        acquired: u32,
        /// Which thread.
        thread: u32,
        /// 1; 0: not written yet.
        seen: u32,
    }
    /// What a thread did next. Steps follow one another in stretches, each from a [`STEP_BEGIN`] to a [`STEP_END`] or
    /// to the end of the thread's steps; a thread holds no lock where a stretch begins. The recorder's own work lies
    /// between the times.
    Step as StepCopy {
        /// One of the `STEP_*` numbers.
        what: u32,
        /// See there.
        of: u32,
        /// See there.
        ticks: u64,
    }
}
