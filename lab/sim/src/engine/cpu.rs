//! What the engine knows about a CPU: its thread, its run queue, its store buffer, its request on the way.

use super::charge::Doing;
use super::lines::{NOBODY, Op};
use crate::spec::{NS, Ps};
use std::collections::VecDeque;
use std::mem::MaybeUninit;

/// CPUs whose mean idle time is shorter do not look for threads elsewhere: Linux's `sysctl_sched_migration_cost`.
pub(super) const MIGRATION_COST: Ps = 500_000 * NS;

/// Idle times count up to there.
const LONGEST_IDLE: Ps = 2 * MIGRATION_COST;

/// What a CPU is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// Nothing.
    Idle,
    /// It was idle, and a thread waits for it to notice.
    Wakes,
    /// It switches to its thread.
    Switches,
    /// Its thread is in an operation, which cannot be interrupted.
    Operation,
    /// Its thread computes until then.
    Busy {
        /// When it is done.
        end: Ps,
    },
    /// Its thread is parked on lines.
    Spin,
}

/// A CPU. The order of fields puts what each event reads on one line of the host, and what requests and stores use on
/// the next.
#[repr(C, align(64))]
pub(crate) struct Cpu {
    pub(crate) thread: Option<u32>,
    pub(crate) activity: Activity,
    pub(crate) doing: Doing,
    /// Up to then its time is charged.
    pub(crate) accounted: Ps,
    /// Events for its thread with another number are void.
    pub(crate) generation: u32,
    /// Its thread must go as soon as its operation is done, or its section.
    pub(super) resched: bool,
    pub(crate) stores: StoreBuffer,
    pub(crate) request: Option<Request>,
    /// Ready threads, in no order.
    pub(super) ready: Vec<u32>,
    /// CPU time consumed: that of the thread which had least, never falling.
    pub(super) min_vruntime: Ps,
    pub(super) slice_start: Ps,
    pub(super) slice_generation: u32,
    pub(super) idle_since: Ps,
    /// How long it expects to be idle: a running mean of its idle times; `None` before the first.
    pub(super) expected_idle: Option<Ps>,
    /// The scheduler's version of this, which counts no time beyond [`LONGEST_IDLE`] (`avg_idle`).
    pub(super) mean_idle: Ps,
    /// The line of its queue, and until when that is locked.
    pub(super) queue_line: u32,
    pub(super) locked_until: Ps,
}

impl Cpu {
    /// Returns how long it has had nothing to do.
    pub(crate) fn idle_for(&self, now: Ps) -> Option<Ps> {
        (self.activity == Activity::Idle).then(|| now - self.idle_since)
    }

    /// Records the end of an idle time. Linux's two means of them weigh the last one by an eighth: `avg_idle` of a run
    /// queue, and the correction factor of the `menu` governor, as long as the next timer is always equally far away.
    pub(super) fn was_idle(&mut self, time: Ps) {
        let mean = |last: Ps| last - last / 8 + time / 8;
        self.expected_idle = Some(self.expected_idle.map_or(time, mean));
        self.mean_idle = if time > LONGEST_IDLE { LONGEST_IDLE } else { mean(self.mean_idle) };
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) fn new() -> Cpu {
        Cpu {
            thread: None,
            activity: Activity::Idle,
            doing: Doing::IDLE,
            accounted: 0,
            generation: 0,
            request: None,
            stores: StoreBuffer::default(),
            resched: false,
            ready: Vec::new(),
            min_vruntime: 0,
            slice_start: 0,
            slice_generation: 0,
            idle_since: 0,
            expected_idle: None,
            mean_idle: LONGEST_IDLE,
            queue_line: NOBODY,
            locked_until: 0,
        }
    }
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(super) line: u32,
    pub(super) op: Op,
    pub(super) travel: Ps,
}

/// A store that waits for its line.
pub(crate) struct Posted {
    pub(super) line: u32,
    pub(super) travel: Ps,
    pub(super) word: *mut u8,
    pub(super) value: MaybeUninit<u64>,
    pub(super) bytes: usize,
    pub(super) number: u32,
    /// Its line has come.
    pub(super) ready: bool,
}

impl Posted {
    /// # Safety
    /// `word` points to this many bytes, at most 8, that stay in place until the simulation ends or they are freed;
    /// `value` holds the same number.
    pub(crate) unsafe fn new(line: u32, word: *mut u8, value: MaybeUninit<u64>, bytes: usize) -> Posted {
        Posted { line, travel: 0, word, value, bytes, number: 0, ready: false }
    }

    /// Returns no store, but a request for a line that an operation behind the buffer is to change.
    pub(super) fn request(line: u32) -> Posted {
        let (word, value) = (std::ptr::null_mut(), MaybeUninit::uninit());
        Posted { line, travel: 0, word, value, bytes: 0, number: 0, ready: false }
    }

    /// Returns whether it is such a request: nothing is written.
    pub(super) fn is_request(&self) -> bool {
        self.word.is_null()
    }

    /// Lets the store happen.
    ///
    /// # Safety
    /// No other code accesses the word at this moment.
    #[inline]
    pub(super) unsafe fn write(&self) {
        // SAFETY: the contract of `Posted::new` and the caller's guarantee.
        unsafe { copy(self.value, self.word, self.bytes) };
    }
}

/// Writes this many bytes of a value. The usual numbers need no call.
///
/// # Safety
/// `to` points to this many bytes, at most 8, that no other code accesses at this moment; `value` holds as many.
#[inline]
pub(crate) unsafe fn copy(value: MaybeUninit<u64>, to: *mut u8, bytes: usize) {
    let from = value.as_ptr().cast::<u8>();
    // SAFETY: guaranteed by the caller.
    unsafe {
        match bytes {
            0 => {}
            4 => from.copy_to_nonoverlapping(to, 4),
            8 => from.copy_to_nonoverlapping(to, 8),
            bytes => from.copy_to_nonoverlapping(to, bytes),
        }
    }
}

/// A CPU's buffer.
#[derive(Default)]
pub(crate) struct StoreBuffer {
    pub(super) waiting: VecDeque<Posted>,
    /// Stores so far: events name them by it.
    pub(super) made: u32,
    /// The thread can do nothing until the buffer is empty.
    pub(super) drains: bool,
}
