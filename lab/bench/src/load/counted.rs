//! Threads that take a reference to one object and drop it again.

use super::body::{self, Body, Load};
use crate::environment::Environment;
use crate::load::exclusive::Lock;
use crate::probe::Probe;
use crate::run::{Counts, Kind, Outcome, Plan, Roles, Workload};
use anyhow::ensure;
use std::hint::black_box;
use std::ptr;
use turnwise_catalogue::RefCount;

/// Runs one sample of `plan` with a fresh counter.
///
/// # Errors
/// When a thread cannot be started, or when references got lost.
pub fn sample<C: RefCount>(plan: &Plan) -> anyhow::Result<Outcome> {
    body::sample::<Counted, C>(plan)
}

/// A plain count behind a lock.
pub struct Locked<L>(L);

impl<L: Lock<u64>> RefCount for Locked<L> {
    fn new_in() -> Self {
        Locked(L::new(1))
    }

    #[inline]
    fn get(&self) {
        self.0.with(|count| *count += 1);
    }

    #[inline]
    fn put(&self) {
        self.0.with(|count| *count -= 1);
    }

    fn count(&self) -> u64 {
        self.0.with(|count| *count)
    }
}

/// They take references and drop them.
pub enum Counted {}

impl<W: Environment, C: RefCount, B: Body<W>> Workload for Load<(Counted, W, C), B> {
    type Shared = C;
    type Local = u64;
    const NO_SLEEP: Option<&'static str> = Some("references are taken and dropped without sleep");

    fn shared(self) -> C {
        C::new_in()
    }

    fn local(self, _roles: Roles, _thread: usize) -> u64 {
        1
    }

    fn batch(self, threads: usize) -> u32 {
        if threads <= 2 { 16 } else { 1 }
    }

    /// The wait is for the reference. Many threads have one at a time: for a probe it is shared.
    #[inline(always)]
    fn operate<P: Probe>(self, counter: &C, local: &mut u64, probe: &mut P) -> Kind {
        let address = ptr::from_ref(counter).cast();
        probe.asks(address);
        let asked = probe.mark();
        counter.get();
        let acquired = probe.mark();
        probe.acquired(address, Kind::Read);
        if !self.body.tight() {
            *local = black_box(self.body.inside(*local));
        }
        probe.releases(address, Kind::Read);
        counter.put();
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
