//! Threads that take a reference to one object and drop it again.

use super::body::{Any, Body, Tight, Work};
use crate::environment::Environment;
use crate::load::exclusive::Lock;
use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Section, Workload};
use anyhow::{bail, ensure};
use std::hint::black_box;
use std::marker::PhantomData;
use std::ptr;
use turnwise::platform::Native;

/// A count of references, which starts at one.
pub trait Counter: Sync + 'static {
    /// What stands for a reference.
    type Held;
    /// Makes a count with one reference, the owner's.
    fn new() -> Self;
    /// Takes one more reference.
    fn get(&self) -> Self::Held;
    /// Gives a reference back; never the last.
    fn put(&self, held: Self::Held);
    /// Returns the number of references.
    fn count(&self) -> u64;
}

/// Runs one sample of `plan` with a fresh counter.
///
/// # Errors
/// When a thread cannot be started, or when references got lost.
pub fn sample<C: Counter>(plan: &Plan) -> anyhow::Result<Outcome> {
    match plan.section {
        Section::Tight => run::sample(plan, Counted::<Native, C, _>::of(Tight)),
        Section::Work { inside, outside } => {
            run::sample(plan, Counted::<Native, C, _>::of(Work { inside, outside, spread: () }))
        }
        Section::Sleep(_) => bail!(NO_SLEEP),
    }
}

/// The section in the world `W`, where it costs nothing to look at run time which section it is: one copy of the
/// threads' loop for each counter.
///
/// # Errors
/// When the section sleeps.
pub fn any_section<W: Environment, C: Counter>(section: Section, spread: W::Spread) -> anyhow::Result<impl Workload> {
    Ok(Counted::<W, C, _>::of(Any::of(section, spread, NO_SLEEP)?))
}

const NO_SLEEP: &str = "references are taken and dropped without sleep";

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

struct Counted<W, C, B> {
    body: B,
    of: PhantomData<fn() -> (W, C)>,
}

impl<W, C, B> Counted<W, C, B> {
    fn of(body: B) -> Self {
        Counted { body, of: PhantomData }
    }
}

impl<W, C, B: Copy> Clone for Counted<W, C, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, C, B: Copy> Copy for Counted<W, C, B> {}

impl<W: Environment, C: Counter, B: Body<W>> Workload for Counted<W, C, B> {
    type Shared = C;
    type Local = u64;

    fn shared(self) -> C {
        C::new()
    }

    fn local(self, _roles: Roles, _thread: usize) -> u64 {
        1
    }

    fn batch(self, threads: usize) -> u32 {
        if threads <= 2 { 16 } else { 1 }
    }

    /// The wait is that for the reference. Many have one at a time: for a probe it is shared.
    #[inline(always)]
    fn operate<P: Probe>(self, counter: &C, local: &mut u64, probe: &mut P) -> Kind {
        let address = ptr::from_ref(counter).cast();
        probe.asks(address);
        let asked = probe.mark();
        let held = counter.get();
        let acquired = probe.mark();
        probe.acquired(address, Kind::Read);
        if !self.body.tight() {
            *local = black_box(self.body.inside(*local));
        }
        probe.releases(address, Kind::Read);
        counter.put(held);
        probe.record(Kind::Write, asked, acquired);
        Kind::Write
    }

    #[inline(always)]
    fn rest(self, local: &mut u64) {
        self.body.outside(local);
    }

    fn check(counter: &C, done: Counts, _torn: bool) -> anyhow::Result<()> {
        check(counter.count(), done.write)
    }
}

fn check(left: u64, total: u64) -> anyhow::Result<()> {
    ensure!(left == 1, "after {total} references were taken and dropped, {left} are left instead of 1");
    Ok(())
}
