//! Threads that take any of several locks, each for itself.

use super::exclusive::{Any, Body, Lock, Protected};
use crate::probe::Probe;
use crate::run::{self, Apart, Counts, Kind, Outcome, Plan, Roles, Section, Workload};
use std::marker::PhantomData;
use std::ptr;
use turnwise::platform::Native;

/// Runs one sample of `plan` with as many fresh locks as it says.
///
/// # Errors
/// When a thread cannot be started, or when a lock let two threads in at the same time.
pub(crate) fn sample<L: Lock<Protected>>(plan: &Plan) -> anyhow::Result<Outcome> {
    run::sample(plan, Many::<L> { section: plan.section, locks: plan.situation.locks, of: PhantomData })
}

struct Many<L> {
    section: Section,
    locks: usize,
    of: PhantomData<fn() -> L>,
}

impl<L> Clone for Many<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Many<L> {}

/// What a thread has for itself.
struct Local {
    chain: u64,
    chance: u64,
}

impl<L> Many<L> {
    fn body(self) -> Any<()> {
        Any::of(self.section, ())
    }
}

impl<L: Lock<Protected>> Workload for Many<L> {
    type Shared = Vec<Apart<L>>;
    type Local = Local;

    fn shared(self) -> Self::Shared {
        (0..self.locks).map(|_| Apart(L::new(Protected::default()))).collect()
    }

    fn local(self, _roles: Roles, thread: usize) -> Local {
        Local { chain: 1, chance: thread as u64 + 1 }
    }

    fn prepare(self) {
        Body::<Native>::prepare(self.body());
    }

    #[inline(always)]
    fn operate<P: Probe>(self, locks: &Self::Shared, local: &mut Local, probe: &mut P) -> Kind {
        // Knuth's generator, MMIX; the upper half.
        local.chance = local.chance.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let lock = &locks[(local.chance >> 32) as usize % locks.len()].0;
        let address = ptr::from_ref(lock).cast();
        probe.asks(address);
        let asked = probe.mark();
        let acquired = lock.with(|data| {
            let acquired = probe.mark();
            probe.acquired(address, Kind::Write);
            Body::<Native>::inside(self.body(), data);
            probe.releases(address, Kind::Write);
            acquired
        });
        probe.record(Kind::Write, asked, acquired);
        Kind::Write
    }

    #[inline(always)]
    fn rest(self, local: &mut Local) {
        Body::<Native>::outside(self.body(), &mut local.chain);
    }

    /// Mutual exclusion: no increment was lost behind any of them.
    fn check(locks: &Self::Shared, done: Counts, _torn: bool) -> anyhow::Result<()> {
        let all = locks.iter().map(|lock| lock.0.with(|data| *data)).fold(Protected::default(), Protected::and);
        all.check(done.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_is_taken_and_all_operations_count() {
        const OPERATIONS: u64 = 1600;
        let section = Section::Work { inside: 1, outside: 1 };
        let work = Many::<std::sync::Mutex<Protected>> { section, locks: 16, of: PhantomData };
        let locks = work.shared();
        let mut local = work.local(Roles::WRITE, 0);
        for _ in 0..OPERATIONS {
            work.operate(&locks, &mut local, &mut crate::probe::Untimed);
        }
        for lock in &locks {
            let alone = lock.0.with(|data| *data);
            assert!((60..140).any(|count| alone.check(count).is_ok()), "{alone:?} is far from a sixteenth");
        }
        let done = |write| Counts { read: 0, write };
        assert!(Many::<std::sync::Mutex<Protected>>::check(&locks, done(OPERATIONS), false).is_ok());
        assert!(Many::<std::sync::Mutex<Protected>>::check(&locks, done(OPERATIONS + 1), false).is_err());
    }
}
