//! The part of the file in which waits are recorded one by one, while somebody asks for it.
//!
//! A profiler writes [`Switch`] into the header, and writes it again and again: the recorder is off when
//! [`Switch::until`] is over, so one that was killed leaves none on. The program then writes two rings:
//!
//! | from | what | how many |
//! |---|---|---|
//! | [`crate::layout::LOG_START`] | [`Counts`] | 1 |
//! | [`RECORDS_START`] | [`Record`]: a wait that has ended, with a piece of its thread's stack | [`RECORDS`] |
//! | [`RELEASES_START`] | [`Release`]: the lock of such a wait was released while others waited | [`RELEASES`] |
//!
//! Which waits: each that lasts [`Switch::period`] or longer. A shorter one is recorded by chance, with its part of the
//! period as the probability, and stands for as much waiting as a period. So sums over records are unbiased, and their
//! number depends on the time that is waited, and not on how often.
//!
//! Invariants:
//! 1. Who moves `busy` of a slot from 0 to 1 writes the slot, and moves it back. Who finds it 1 counts its record as
//!    lost.
//! 2. `number` of a slot is 0 while it is written; then 1 more than the number of the record in it. Record `n` is in
//!    slot `n` modulo the number of slots.

use crate::layout::{EVENTS, LOG_START, PAGE};
use core::sync::atomic::{AtomicU32, AtomicU64};
use zerocopy::{FromBytes, IntoBytes};

/// The number of slots for waits.
pub const RECORDS: usize = 1 << 10;
/// The number of slots for releases.
pub const RELEASES: usize = 1 << 11;
/// The most bytes of a stack that are kept.
pub const STACK: usize = 3968;

/// Where the waits begin.
pub const RECORDS_START: usize = LOG_START + PAGE;
/// Where the releases begin.
pub const RELEASES_START: usize = RECORDS_START + RECORDS * size_of::<Record>();
/// Length of the log.
pub const BYTES: usize = PAGE + RECORDS * size_of::<Record>() + RELEASES * size_of::<Release>();

const _: () = {
    assert!(size_of::<Record>() == PAGE && size_of::<Release>() == 64 && size_of::<Counts>() <= PAGE);
    assert!(BYTES.is_multiple_of(PAGE));
};

/// Whether waits are recorded, and which. A reader with the owner's rights writes it; the program only reads it.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Switch {
    /// Until when waits are recorded, in ticks; 0, or a time that is over: they are not.
    pub until: AtomicU64,
    /// Length of a wait that is recorded in any case, in ticks.
    pub period: AtomicU64,
    /// The process that wrote this, for people.
    pub profiler: AtomicU64,
}

/// How much was written.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Counts {
    /// The number of waits that slots were taken for.
    pub records: AtomicU64,
    /// The number of releases that slots were taken for.
    pub releases: AtomicU64,
    /// Records whose stack could not be read.
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
    /// 0: nothing, or it is being written (invariant 2).
    pub number: AtomicU64,
    /// 1: somebody writes it (invariant 1).
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
    /// As how many ticks of waiting it counts; 0: as its own.
    pub weight: AtomicU64,
    /// [`flags`].
    pub flags: AtomicU32,
    /// The number of bytes of the stack that are there.
    pub stack_bytes: AtomicU32,
    /// Sleeps, steals and hand-offs in it.
    pub events: [AtomicU32; EVENTS],
    /// The thread that had the lock when the wait began; 0: unknown.
    pub holder: AtomicU32,
    /// Where that thread had got it by a wait; 0: unknown.
    pub holder_site: AtomicU64,
    /// [`crate::layout::Header::unloads`] as the wait ended: which modules the stack is in.
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

/// A lock that was got by a recorded wait was released, while others waited for it.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Release {
    /// 0: nothing, or it is being written (invariant 2).
    pub number: AtomicU64,
    /// 1: somebody writes it (invariant 1).
    pub busy: AtomicU32,
    /// The thread.
    pub tid: AtomicU32,
    /// When its wait ended, in ticks: which tells the wait.
    pub since: AtomicU64,
    /// When it released the lock, in ticks.
    pub at: AtomicU64,
    /// Zeros.
    pub spare: [AtomicU64; 4],
}
