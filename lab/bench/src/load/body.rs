//! What an operation does in addition to its accesses to the data.

use crate::environment::Environment;
use crate::run::{self, Outcome, Plan, Section, Workload};
use anyhow::{Result, bail};
use std::hint::black_box;
use std::marker::PhantomData;
use turnwise::platform::Native;

/// A workload of this kind in this world with this lock or count, and what an operation does in addition.
pub struct Load<Of, B> {
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

/// Runs one sample of `plan` of a section that does not sleep, with a copy of the threads' loop for each kind.
pub(super) fn sample<U, L>(plan: &Plan) -> Result<Outcome>
where
    Load<(U, Native, L), Busy<true>>: Workload,
    Load<(U, Native, L), Busy<false>>: Workload,
{
    match plan.section {
        Section::Tight => run::sample(plan, Load::<(U, Native, L), _>::of(Busy::<true> { inside: 0, outside: 0 })),
        Section::Work { inside, outside } => {
            run::sample(plan, Load::<(U, Native, L), _>::of(Busy::<false> { inside, outside }))
        }
        Section::Sleep(_) => bail!(Load::<(U, Native, L), Busy<false>>::NO_SLEEP.unwrap_or("a loop of its own sleeps")),
    }
}

/// Returns the section in the world `W`, where a run-time check of the section's kind costs nothing: one copy of the
/// threads' loop for each lock or count.
///
/// # Errors
/// When the section sleeps, and may not.
pub fn any_section<U, W: Environment, L>(section: Section, jitter: W::Jitter) -> Result<impl Workload>
where
    Load<(U, W, L), Work<W::Jitter>>: Workload,
{
    match (section, Load::<(U, W, L), Work<W::Jitter>>::NO_SLEEP) {
        (Section::Sleep(_), Some(error)) => bail!(error),
        _ => Ok(Load::<(U, W, L), _>::of(Work::of(section, jitter))),
    }
}

/// The two halves of an operation.
pub(super) trait Body<W: Environment>: Copy + Send + Sync + 'static {
    /// Returns whether only the data is accessed.
    fn tight(self) -> bool {
        false
    }
    /// Prepares the thread, before the first operation.
    fn prepare(self) {}
    fn inside(self, seed: u64) -> u64;
    fn outside(self, local: &mut u64);
    /// Works without the lock, in addition to what is outside.
    fn rest(self, local: &mut u64, amount: u32);
}

/// This much work on this machine; nothing, if it is `TIGHT`.
#[derive(Clone, Copy)]
pub(super) struct Busy<const TIGHT: bool> {
    inside: u32,
    outside: u32,
}

impl<const TIGHT: bool> Body<Native> for Busy<TIGHT> {
    #[inline(always)]
    fn tight(self) -> bool {
        TIGHT
    }
    #[inline(always)]
    fn inside(self, seed: u64) -> u64 {
        if TIGHT { seed } else { Native::work(seed, self.inside) }
    }
    #[inline(always)]
    fn outside(self, local: &mut u64) {
        if !TIGHT {
            think::<Native>(local, self.outside, ());
        }
    }
    #[inline(always)]
    fn rest(self, local: &mut u64, amount: u32) {
        think::<Native>(local, amount, ());
    }
}

#[inline(always)]
#[track_caller]
fn think<W: Environment>(local: &mut u64, amount: u32, jitter: W::Jitter) {
    *local = black_box(W::think(*local, amount, jitter));
}

/// A section in any world. Out of line: the locks share it.
#[derive(Clone, Copy)]
pub struct Work<J> {
    section: Section,
    jitter: J,
}

impl<J> Work<J> {
    pub(super) fn of(section: Section, jitter: J) -> Work<J> {
        Work { section, jitter }
    }
}

impl<W: Environment> Body<W> for Work<W::Jitter> {
    fn tight(self) -> bool {
        self.section == Section::Tight
    }

    fn prepare(self) {
        if let Section::Sleep(_) = self.section {
            W::prepare_to_sleep();
        }
    }

    #[inline(never)]
    fn inside(self, seed: u64) -> u64 {
        match self.section {
            Section::Tight => seed,
            Section::Work { inside, .. } => W::work(seed, inside),
            Section::Sleep(time) => {
                W::sleep(time);
                seed
            }
        }
    }

    #[inline(never)]
    fn outside(self, local: &mut u64) {
        if let Section::Work { outside, .. } = self.section {
            think::<W>(local, outside, self.jitter);
        }
    }

    fn rest(self, local: &mut u64, amount: u32) {
        think::<W>(local, amount, self.jitter);
    }
}

/// Draws the next random number of a thread: 32 bits, the upper half of Knuth's generator (MMIX).
#[inline(always)]
pub(super) fn lot(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    *state >> 32
}
