//! Threads that take any of several locks, each for itself.

use super::body::{Load, lot};
use super::exclusive::{Any, Body, Lock, Protected, take};
use crate::probe::Probe;
use crate::run::{self, Apart, Counts, Kind, Outcome, Plan, Roles, Section, Workload};
use turnwise::platform::Native;

/// Runs one sample of `plan` with as many fresh locks as it specifies.
///
/// # Errors
/// When a thread cannot be started, or when a lock let two threads in at the same time.
pub(crate) fn sample<L: Lock<Protected>>(plan: &Plan) -> anyhow::Result<Outcome> {
    run::sample(plan, work::<L>(plan.section, plan.situation.locks))
}

/// The kind of the workload.
enum Many {}

/// What an operation does, with one of several locks.
#[derive(Clone, Copy)]
struct OneOf {
    body: Any<()>,
    locks: usize,
}

fn work<L>(section: Section, locks: usize) -> Load<(Many, L), OneOf> {
    Load::of(OneOf { body: Any::of(section, ()), locks })
}

/// A thread's private state.
struct Local {
    chain: u64,
    lots: u64,
}

impl<L: Lock<Protected>> Workload for Load<(Many, L), OneOf> {
    type Shared = Vec<Apart<L>>;
    type Local = Local;

    fn shared(self) -> Self::Shared {
        (0..self.body.locks).map(|_| Apart(L::new(Protected::default()))).collect()
    }

    fn local(self, _roles: Roles, thread: usize) -> Local {
        Local { chain: 1, lots: thread as u64 + 1 }
    }

    fn prepare(self) {
        Body::<Native>::prepare(self.body.body);
    }

    #[inline(always)]
    fn operate<P: Probe>(self, locks: &Self::Shared, local: &mut Local, probe: &mut P) -> Kind {
        let lock = &locks[lot(&mut local.lots) as usize % locks.len()].0;
        take::<Native, L, P>(lock, self.body.body, probe)
    }

    #[inline(always)]
    fn rest(self, local: &mut Local) {
        Body::<Native>::outside(self.body.body, &mut local.chain);
    }

    /// Checks mutual exclusion: no increment was lost behind any of them.
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
        let work = work::<std::sync::Mutex<Protected>>(Section::Work { inside: 1, outside: 1 }, 16);
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
        let check = |total| <Load<(Many, std::sync::Mutex<Protected>), OneOf>>::check(&locks, done(total), false);
        assert!(check(OPERATIONS).is_ok() && check(OPERATIONS + 1).is_err());
    }
}
