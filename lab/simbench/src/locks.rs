//! Every lock that can be simulated: those of the catalogue.

use super::run::{Plan, Run, cell};
use anyhow::{Context, Result};
use std::sync::LazyLock;
use turnwise::raw::{RawLock, RawRwLock};
use turnwise::{McsLock, RawMcsLock, RawSeqRwLock};
use turnwise_bench::adapt::raw::RawLocked;
use turnwise_bench::adapt::seqlocks::{Blocking, Optimistic};
use turnwise_bench::load::counted::Counted;
use turnwise_bench::load::exclusive::{Exclusive, Protected};
use turnwise_bench::load::shared::{Record, Shared};
use turnwise_catalogue::{Of, RefCount, Visit, visit};
use turnwise_sim::Sim;

/// What threads can do with a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// One thread at a time has it, whatever it does.
    Exclusive,
    /// Many threads read or one writes.
    Shared,
    /// They take references, and drop them.
    Counted,
}

/// A lock that can be simulated.
pub struct SimLock {
    /// Its name in `--lock` and the reports.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// What threads can do with it.
    pub sort: Sort,
    pub(super) run: fn(&Plan) -> Result<Run>,
}

impl SimLock {
    /// Returns the lock of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(name: &str) -> Result<&'static SimLock> {
        let found = LOCKS.iter().find(|lock| lock.name == name);
        found.with_context(|| {
            let names: Vec<_> = LOCKS.iter().map(|lock| lock.name).collect();
            format!("no lock '{name}' can be simulated; there are {}", names.join(", "))
        })
    }
}

/// Every lock of the catalogue, and the sequence lock once more with readers that keep writers out.
pub static LOCKS: LazyLock<Vec<SimLock>> = LazyLock::new(|| {
    let locks = turnwise_catalogue::LOCKS.iter().flat_map(|entry| {
        let (sort, run) = visit(entry.name, Workload);
        let lock = SimLock { name: entry.name, help: entry.summary, sort, run };
        let blocking = (entry.name == "seqrwlock").then_some(SimLock {
            name: "seqrwlock-blocking",
            help: "the same, readers keep writers out",
            sort,
            run: cell::<Shared, Blocking<Sim>>,
        });
        std::iter::once(lock).chain(blocking)
    });
    locks.collect()
});

/// Visits a lock that protects the data of its kind's workload.
struct Workload;

impl Visit<Sim> for Workload {
    type Out = (Sort, fn(&Plan) -> Result<Run>);

    fn exclusive<R: RawLock>(self, _: Of<R>) -> Self::Out {
        (Sort::Exclusive, cell::<Exclusive, RawLocked<R, Protected>>)
    }
    fn shared<R: RawRwLock>(self, _: Of<R>) -> Self::Out {
        (Sort::Shared, cell::<Shared, RawLocked<R, Record>>)
    }
    fn mcs(self, _: Of<RawMcsLock<Sim>>) -> Self::Out {
        (Sort::Exclusive, cell::<Exclusive, McsLock<Protected, Sim>>)
    }
    fn sequence(self, _: Of<RawSeqRwLock<Sim>>) -> Self::Out {
        (Sort::Shared, cell::<Shared, Optimistic<Sim>>)
    }
    fn counted<C: RefCount>(self, _: Of<C>) -> Self::Out {
        (Sort::Counted, cell::<Counted, C>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_a_wrong_one_is_answered_with_all() {
        assert_eq!(LOCKS.iter().map(|lock| lock.name).collect::<HashSet<_>>().len(), LOCKS.len());
        for lock in LOCKS.iter() {
            assert_eq!(SimLock::find(lock.name).expect("it is there").help, lock.help);
        }
        let error = SimLock::find("mutx").err().expect("there is none").to_string();
        assert!(error.contains("'mutx'") && error.contains("osv-mutex-spin-after-push"), "{error}");
    }
}
