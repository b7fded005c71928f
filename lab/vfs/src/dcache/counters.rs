//! Event counts on a line per CPU, so that counting costs no line that others write.

use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Hint, IntWord, Platform, Word};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counter {
    /// Dentries made.
    Made,
    /// Dentries ended.
    Killed,
    /// Look-ups of one component that had to consult the directory.
    Missed,
}

const COUNTERS: usize = 3;
const LINES: usize = 32;

#[repr(align(64))]
struct Line<P: Platform>([P::U64; COUNTERS]);

/// The counts.
pub(crate) struct Counters<P: Platform>(Box<[Line<P>; LINES]>);

impl<P: Platform> Counters<P> {
    pub(super) fn new() -> Self {
        Counters(Box::new(std::array::from_fn(|_| Line(std::array::from_fn(|_| P::U64::new(0))))))
    }

    #[inline]
    pub(crate) fn add(&self, counter: Counter) {
        let cpu = if cfg!(miri) { 0 } else { P::hint(Hint::Cpu) };
        self.0[cpu as usize % LINES].0[counter as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self, counter: Counter) -> u64 {
        self.0.iter().map(|line| line.0[counter as usize].load(Relaxed)).sum()
    }
}
