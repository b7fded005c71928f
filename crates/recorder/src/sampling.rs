//! Chooses which acquisitions and waits of a thread are measured, and which have their stack taken.

use core::cell::Cell;

/// One in this many uncontended acquisitions has its hold time measured.
pub(crate) const HOLD_ONE_IN: u32 = 512;
/// One in this many short waits has its stack.
pub(crate) const STACK_ONE_IN: u32 = 64;
/// Mean interval between long waits whose stack is taken: it is taken with the lock held.
pub(crate) const LONG_STACK_ONE_IN: u32 = 8;
/// The number of first acquisitions of an entry that are all measured, unless there are too many entries: rare locks
/// also have hold times.
const FIRST_ACQUISITIONS: u64 = 4;

/// A thread's countdowns.
pub(crate) struct Sampling {
    random: Cell<u64>,
    stack_countdown: Cell<u32>,
    /// Counts individual long waits.
    long_countdown: Cell<u32>,
    /// The number of waits so far.
    pub(crate) waits: Cell<u64>,
    /// How many acquisitions of an entry are all measured.
    pub(crate) first_acquisitions: Cell<u64>,
}

impl Sampling {
    /// Begins to sample for a thread.
    pub(crate) fn begin(&self, seed: u64) {
        self.waits.set(0);
        self.first_acquisitions.set(FIRST_ACQUISITIONS);
        self.random.set(seed);
        self.stack_countdown.set(self.interval(STACK_ONE_IN));
    }

    /// Returns a random number of calls, `mean` on average, so that the sample matches no rhythm of the program.
    pub(crate) fn interval(&self, mean: u32) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        1 + ((x >> 32) as u32) % (2 * mean - 1)
    }

    /// Returns whether the stack of this short wait is taken.
    pub(crate) fn is_stack_due(&self) -> bool {
        self.is_due(&self.stack_countdown, STACK_ONE_IN)
    }

    /// Returns whether the stack of this long wait is taken, at a site whose waits are short.
    pub(crate) fn is_long_stack_due(&self) -> bool {
        self.is_due(&self.long_countdown, LONG_STACK_ONE_IN)
    }

    fn is_due(&self, countdown: &Cell<u32>, mean: u32) -> bool {
        let left = countdown.get();
        let due = left <= 1;
        countdown.set(if due { self.interval(mean) } else { left - 1 });
        due
    }

    /// Counts a wait.
    pub(crate) fn count_wait(&self) {
        self.waits.set(self.waits.get() + 1);
    }
}
