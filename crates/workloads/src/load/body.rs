//! What an operation does beside its accesses to the data.

use crate::world::World;
use std::hint::black_box;

/// The two halves of an operation.
pub(super) trait Body<W: World>: Copy + Send + Sync + 'static {
    /// Nothing but the data is looked at.
    const TIGHT: bool;
    fn inside(self, seed: u64) -> u64;
    fn outside(self, local: &mut u64);
}

/// Nothing.
#[derive(Clone, Copy)]
pub(super) struct Tight;

impl<W: World> Body<W> for Tight {
    const TIGHT: bool = true;
    #[inline(always)]
    fn inside(self, seed: u64) -> u64 {
        seed
    }
    #[inline(always)]
    fn outside(self, _local: &mut u64) {}
}

/// So much work.
#[derive(Clone, Copy)]
pub(super) struct Work<S> {
    pub(super) inside: u32,
    pub(super) outside: u32,
    pub(super) spread: S,
}

impl<W: World> Body<W> for Work<W::Spread> {
    const TIGHT: bool = false;
    #[inline(always)]
    fn inside(self, seed: u64) -> u64 {
        W::work(seed, self.inside)
    }
    #[inline(always)]
    fn outside(self, local: &mut u64) {
        *local = black_box(W::think(*local, self.outside, self.spread));
    }
}
