//! Threads that take a reference to one object and drop it again.

use crate::load::exclusive::Lock;
use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Section, Workload};
use anyhow::{bail, ensure};
use std::marker::PhantomData;

/// A count of references, which starts at one.
pub trait Counter: Sync {
    /// What stands for a reference.
    type Held;
    /// One reference, the owner's.
    fn new() -> Self;
    /// One more.
    fn get(&self) -> Self::Held;
    /// One less; never the last.
    fn put(&self, held: Self::Held);
    /// How many there are.
    fn count(&self) -> u64;
}

/// Runs one sample of `plan` with a fresh counter.
///
/// # Errors
/// When a thread cannot be started, or when references got lost.
pub fn sample<C: Counter>(plan: &Plan) -> anyhow::Result<Outcome> {
    match plan.section {
        Section::Tight => run::sample(plan, Counted::<C>(PhantomData)),
        _ => bail!("references are taken and dropped without work"),
    }
}

/// A plain count behind a lock.
pub struct Locked<L>(L);

impl<L: Lock<u64>> Counter for Locked<L> {
    type Held = ();

    fn new() -> Self {
        Locked(L::new(1))
    }

    #[inline]
    fn get(&self) {
        self.0.with(|count| *count += 1);
    }

    #[inline]
    fn put(&self, (): ()) {
        self.0.with(|count| *count -= 1);
    }

    fn count(&self) -> u64 {
        self.0.with(|count| *count)
    }
}

struct Counted<C>(PhantomData<fn() -> C>);

impl<C> Clone for Counted<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Counted<C> {}

impl<C: Counter> Workload for Counted<C> {
    type Shared = C;
    type Local = ();

    fn shared(self) -> C {
        C::new()
    }

    fn local(self, _plan: &Plan, _thread: usize) {}

    fn batch(self, plan: &Plan) -> u32 {
        if plan.threads <= 2 { 16 } else { 1 }
    }

    /// The wait is that for the reference.
    #[inline(always)]
    fn operate<P: Probe>(self, counter: &C, (): &mut (), probe: &mut P) -> Kind {
        let asked = probe.mark();
        let held = counter.get();
        probe.record(Kind::Write, asked, probe.mark());
        counter.put(held);
        Kind::Write
    }

    fn check(counter: C, _locals: &[()], done: Counts) -> anyhow::Result<()> {
        let left = counter.count();
        ensure!(left == 1, "after {} references were taken and dropped, {left} are left instead of 1", done.write);
        Ok(())
    }
}
