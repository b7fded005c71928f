//! What an operation does in addition to its accesses to the data.

use crate::environment::Environment;
use crate::run::Section;
use anyhow::{Result, bail};
use std::hint::black_box;
use std::marker::PhantomData;

/// A workload of this kind in this world with this lock or count, and what an operation does in addition.
pub(super) struct Load<Of, B> {
    pub(super) body: B,
    of: PhantomData<fn() -> Of>,
}

impl<Of, B> Load<Of, B> {
    pub(super) fn of(body: B) -> Self {
        Load { body, of: PhantomData }
    }
}

impl<Of, B: Copy> Clone for Load<Of, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Of, B: Copy> Copy for Load<Of, B> {}

/// The two halves of an operation.
pub(super) trait Body<W: Environment>: Copy + Send + Sync + 'static {
    /// Returns whether only the data is accessed.
    fn tight(self) -> bool;
    fn inside(self, seed: u64) -> u64;
    fn outside(self, local: &mut u64);
}

/// Nothing.
#[derive(Clone, Copy)]
pub(super) struct Tight;

impl<W: Environment> Body<W> for Tight {
    #[inline(always)]
    fn tight(self) -> bool {
        true
    }
    #[inline(always)]
    fn inside(self, seed: u64) -> u64 {
        seed
    }
    #[inline(always)]
    fn outside(self, _local: &mut u64) {}
}

/// This much work.
#[derive(Clone, Copy)]
pub(super) struct Work<S> {
    pub(super) inside: u32,
    pub(super) outside: u32,
    pub(super) jitter: S,
}

impl<W: Environment> Body<W> for Work<W::Jitter> {
    #[inline(always)]
    fn tight(self) -> bool {
        false
    }
    #[inline(always)]
    fn inside(self, seed: u64) -> u64 {
        W::work(seed, self.inside)
    }
    #[inline(always)]
    fn outside(self, local: &mut u64) {
        *local = black_box(W::think(*local, self.outside, self.jitter));
    }
}

/// Either. Out of line: the locks share it.
#[derive(Clone, Copy)]
pub(super) enum Any<S> {
    Tight,
    Work(Work<S>),
}

impl<S> Any<S> {
    /// Returns the section as one of these; `no_sleep` is the error of one that sleeps.
    pub(super) fn of(section: Section, jitter: S, no_sleep: &'static str) -> Result<Any<S>> {
        match section {
            Section::Tight => Ok(Any::Tight),
            Section::Work { inside, outside } => Ok(Any::Work(Work { inside, outside, jitter })),
            Section::Sleep(_) => bail!(no_sleep),
        }
    }
}

impl<W: Environment> Body<W> for Any<W::Jitter> {
    fn tight(self) -> bool {
        matches!(self, Any::Tight)
    }

    #[inline(never)]
    fn inside(self, seed: u64) -> u64 {
        match self {
            Any::Tight => seed,
            Any::Work(work) => Body::<W>::inside(work, seed),
        }
    }

    #[inline(never)]
    fn outside(self, local: &mut u64) {
        if let Any::Work(work) = self {
            Body::<W>::outside(work, local);
        }
    }
}

/// Draws the next random number of a thread: 32 bits, the upper half of Knuth's generator (MMIX).
#[inline(always)]
pub(super) fn lot(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    *state >> 32
}
