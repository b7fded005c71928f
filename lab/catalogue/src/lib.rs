//! Every lock of this project: its name, its size, where it comes from, what it guarantees, and its type.
//!
//! [`LOCKS`] is the one list. Benchmark, simulation, torture and reproduction take locks from it by name: [`visit`]
//! calls a method of a [`Visit`] with the lock's type.
//!
//! | file | what |
//! |---|---|
//! | `locks.rs` | the list, with name, type and record of each lock |
//! | `visit.rs` | what code that is generic over locks implements |
//! | `nature.rs` | what torture may expect of a lock |

mod locks;
mod nature;
mod visit;

pub use locks::{LOCKS, visit};
pub use nature::Nature;
pub use visit::{Of, OnePermit, RefCount, Visit};

/// The crate that a lock is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// The locks to use.
    Turnwise,
    /// The papers' locks, to measure.
    Lineage,
}

/// The record of a lock, without data.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, wherever one is typed or shown.
    pub name: &'static str,
    /// Its type.
    pub type_name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its crate.
    pub home: Home,
    /// Its size, with the features of this build.
    pub bytes: usize,
    /// The source that it follows: one of the five papers or another one.
    pub source: &'static str,
    /// Which waiter gets it next.
    pub order: &'static str,
    /// For how long later arrivals may overtake a waiter.
    pub overtaken: &'static str,
    /// What its waiters do.
    pub waiters: &'static str,
    /// Whether a waiter can give up at a deadline.
    pub timed: bool,
    /// What happens when a thread acquires a lock that it has.
    pub again: &'static str,
    /// What torture may expect of it.
    pub nature: Nature,
}

impl Entry {
    /// Returns whether its waiters spin for ever.
    #[must_use]
    pub fn spins(&self) -> bool {
        self.waiters == "spin"
    }
}

/// Returns the lock of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    LOCKS.iter().find(|entry| entry.name == name)
}

/// Returns the lock of this name, which must be there.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn get(name: &str) -> &'static Entry {
    find(name).expect("the catalogue has a lock of this name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::type_name;
    use turnwise::platform::Native;
    use turnwise::raw::{RawLock, RawRwLock};
    use turnwise::reentrant::Threads;
    use turnwise::{RawMcsLock, RawSeqRwLock, Semaphore};

    /// The type that a lock is visited with.
    struct TypeName;

    impl<P: Threads> Visit<P> for TypeName {
        type Out = &'static str;

        fn exclusive<R: RawLock<Platform = P>>(self, _: Of<R>) -> Self::Out {
            type_name::<R>()
        }
        fn shared<R: RawRwLock<Platform = P>>(self, _: Of<R>) -> Self::Out {
            type_name::<R>()
        }
        fn mcs(self, _: Of<RawMcsLock<P>>) -> Self::Out {
            type_name::<RawMcsLock<P>>()
        }
        fn sequence(self, _: Of<RawSeqRwLock<P>>) -> Self::Out {
            type_name::<RawSeqRwLock<P>>()
        }
        fn counted<C: RefCount>(self, _: Of<C>) -> Self::Out {
            type_name::<C>()
        }
        fn semaphore<const FAIR: bool>(self, _: Of<Semaphore<FAIR, P>>) -> Self::Out {
            type_name::<Semaphore<FAIR, P>>()
        }
    }

    #[test]
    fn names_and_types_belong_to_one_lock_each() {
        for (index, entry) in LOCKS.iter().enumerate() {
            assert_eq!(find(entry.name).map(|found| found.type_name), Some(entry.type_name));
            let visited = visit::<Native, _>(entry.name, TypeName);
            let outer = entry.type_name.split('<').next().unwrap_or_default().trim_start_matches("Fair");
            assert!(visited.contains(outer), "{} is {visited}, and not {outer}", entry.name);
            for other in &LOCKS[..index] {
                assert_ne!(entry.name, other.name);
                // The Altix's inode locks are other locks' second names, as what readers and writers share.
                let second = [entry, other].iter().any(|lock| lock.name.starts_with("inode-lock-"));
                assert!(second || visited != visit::<Native, _>(other.name, TypeName), "{} is {visited}", entry.name);
            }
        }
        assert!(find("mutx").is_none());
    }
}
