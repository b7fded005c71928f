//! The part of the file in which individual waits are recorded, while a profiler requests it.
//!
//! A profiler writes [`Switch`] into the header repeatedly: the recorder is off once [`Switch::until`] has passed, so a
//! killed profiler leaves none on. The program then writes two rings:
//!
//! | from | what | how many |
//! |---|---|---|
//! | [`crate::layout::LOG_START`] | [`Counts`] | 1 |
//! | [`RECORDS_START`] | [`Record`]: a wait that has ended, with a piece of its thread's stack | [`RECORDS`] |
//! | [`RELEASES_START`] | [`Release`]: the lock of such a wait was released while others waited | [`RELEASES`] |
//!
//! Each wait that lasts [`Switch::period`] or longer is recorded. A shorter one is recorded at random, with its
//! fraction of the period as the probability, and stands for one period of waiting. So sums over records are unbiased,
//! and their number depends on the time waited, not on the number of waits.
//!
//! Invariants:
//! 1. The thread that sets `busy` of a slot from 0 to 1 writes the slot, and resets it. A thread that finds it 1 counts
//!    its record as lost.
//! 2. `number` of a slot is 0 while it is written; then 1 plus the number of the record in it. Record `n` is in slot
//!    `n` modulo the number of slots.

use crate::layout::{EVENTS, LOG_START, PAGE};
use core::sync::atomic::{AtomicU32, AtomicU64};
use zerocopy::{FromBytes, IntoBytes};

/// The number of slots for waits.
pub const RECORDS: usize = 1 << 10;
/// The number of slots for releases.
pub const RELEASES: usize = 1 << 11;
/// The most bytes of a stack that are kept.
pub const STACK: usize = 3968;

/// The offset of the waits.
pub const RECORDS_START: usize = LOG_START + PAGE;
/// The offset of the releases.
pub const RELEASES_START: usize = RECORDS_START + RECORDS * size_of::<Record>();
/// The length of the log.
pub const BYTES: usize = PAGE + RECORDS * size_of::<Record>() + RELEASES * size_of::<Release>();

const _: () = {
    assert!(size_of::<Record>() == PAGE && size_of::<Release>() == 64 && size_of::<Counts>() <= PAGE);
    assert!(BYTES.is_multiple_of(PAGE));
};

/// Whether and which waits are recorded. A reader with the owner's rights writes it; the program only reads it.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Switch {
    /// The time until which waits are recorded, in ticks; 0, or a time in the past: they are not.
    pub until: AtomicU64,
    /// The length from which a wait is always recorded, in ticks.
    pub period: AtomicU64,
    /// The process that wrote this, for human readers.
    pub profiler: AtomicU64,
}

/// The numbers of records written.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Counts {
    /// The number of waits for which slots were taken.
    pub records: AtomicU64,
    /// The number of releases for which slots were taken.
    pub releases: AtomicU64,
    /// The number of records whose stack could not be read.
    pub no_stack: AtomicU64,
}

/// The bits of [`Record::flags`].
pub mod flags {
    /// The wait ended without the lock.
    pub const GAVE_UP: u32 = 1;
}

/// A wait that has ended.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Record {
    /// 0: empty, or being written (invariant 2).
    pub number: AtomicU64,
    /// 1: a thread writes it (invariant 1).
    pub busy: AtomicU32,
    /// The thread.
    pub tid: AtomicU32,
    /// The lock and the way of waiting: [`crate::Key`].
    pub key: AtomicU64,
    /// The call site; 0: unknown.
    pub site: AtomicU64,
    /// When the wait began, in ticks.
    pub since: AtomicU64,
    /// When it ended, in ticks.
    pub until: AtomicU64,
    /// The ticks of waiting that it counts for; 0: its own.
    pub weight: AtomicU64,
    /// [`flags`].
    pub flags: AtomicU32,
    /// The number of bytes of the stack that are present.
    pub stack_bytes: AtomicU32,
    /// The sleeps, steals and hand-offs in it.
    pub events: [AtomicU32; EVENTS],
    /// The thread that held the lock when the wait began; 0: unknown.
    pub holder: AtomicU32,
    /// The call site at which that thread acquired it by a wait; 0: unknown.
    pub holder_site: AtomicU64,
    /// [`crate::layout::Header::unloads`] when the wait ended, which identifies the stack's modules.
    pub unloads: AtomicU64,
    /// The instruction pointer.
    pub instruction: AtomicU64,
    /// The stack pointer.
    pub stack_pointer: AtomicU64,
    /// The frame pointer.
    pub frame_pointer: AtomicU64,
    /// The link register, where the processor has one.
    pub link: AtomicU64,
    /// The stack from its pointer upwards.
    pub stack: [AtomicU64; STACK / 8],
}

/// The release of a lock that was acquired by a recorded wait, while others waited for it.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Release {
    /// 0: empty, or being written (invariant 2).
    pub number: AtomicU64,
    /// 1: a thread writes it (invariant 1).
    pub busy: AtomicU32,
    /// The thread.
    pub tid: AtomicU32,
    /// When its wait ended, in ticks, which identifies the wait.
    pub since: AtomicU64,
    /// When it released the lock, in ticks.
    pub at: AtomicU64,
    /// Zeros.
    pub spare: [AtomicU64; 4],
}
