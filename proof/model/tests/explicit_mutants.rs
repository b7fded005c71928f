//! Every wake-up is needed: left out, it makes an explicit-state check fail, or `places.toml` states why it is spared.

use std::collections::BTreeSet;
use turnwise_model::check::{Cause, Lock, Width};
use turnwise_model::explicit::{self, Check};
use turnwise_model::lab::{Change, Mutation, UseSite};
use turnwise_model::mutants::spared_wake;
use turnwise_model::sources::Sources;

/// Returns the check that fails with these changes, and after how many states.
fn catch<'a>(checks: impl IntoIterator<Item = &'a Check>, changes: &[Mutation]) -> Option<(&'static str, u64)> {
    checks.into_iter().find_map(|check| {
        let outcome = check.run(Width::Bounded, changes);
        let wrong = outcome.failure.is_some_and(|failure| failure.cause == Cause::Wrong);
        wrong.then_some((check.name, outcome.tried))
    })
}

fn all_caught(lock: Lock) {
    let checks = explicit::of(lock);
    // The quickest first, as they are unchanged.
    let mut runs: Vec<_> = checks.iter().map(|check| (check, check.run(Width::Bounded, &[]))).collect();
    runs.sort_by_key(|(_, outcome)| outcome.elapsed);
    let places = runs.iter().flat_map(|(_, outcome)| &outcome.places);
    let woke = places.filter(|(place, done)| done.wakes > 0 && lock.owns(place));
    let wakes: BTreeSet<_> = woke.map(|(place, _)| *place).collect();
    assert!(!wakes.is_empty(), "there is no wake-up in {lock:?}: are its sources where `sources.rs` says?");
    let (mut survivors, sources) = (Vec::new(), Sources::of(lock).expect("the sources can be read"));
    for place in wakes {
        let change = Mutation { place, change: Change::Wakes { most: 0 } };
        let reach = runs.iter().filter(|(_, outcome)| outcome.places.contains_key(&place)).map(|(check, _)| *check);
        match catch(reach, &[change]) {
            Some((check, states)) => println!("{change}: caught after {states} states of `{check}`"),
            None => match spared_wake(&sources, &change.place) {
                Some(reason) => println!("{change}: {reason}"),
                None => survivors.push(change.to_string()),
            },
        }
    }
    assert!(survivors.is_empty(), "no check needs these: {survivors:#?}");
}

macro_rules! each_lock {
    ($($name:ident: $lock:ident,)*) => {$(
        #[test]
        fn $name() {
            all_caught(Lock::$lock);
        }
    )*};
}

each_lock! {
    mutex: Mutex,
    rwsem: RwSem,
    semaphore: Semaphore,
    lockref: LockRef,
    condvar: Condvar,
    preload_cond: PreloadCond,
}

/// Each of the two counts may be spared, as `places.toml` states; both together may not.
#[test]
fn a_stack_of_slots_without_a_count_of_changes_is_caught() {
    let changes = u64::from(u32::MAX) << 32;
    let is_of_stack = |check: &&Check| check.name == "slots: taken and given back";
    let checks: Vec<_> = explicit::of(Lock::Slots).iter().filter(is_of_stack).copied().collect();
    let places = checks.iter().flat_map(|check| check.run(Width::Bounded, &[]).places);
    let counts: BTreeSet<_> = places.filter(|(_, done)| done.set & changes != 0).map(|(place, _)| place).collect();
    let left = |&place: &UseSite| Mutation { place, change: Change::Left { name: "changes", bits: changes } };
    let counts: Vec<_> = counts.iter().filter(|place| Lock::Slots.owns(place)).map(left).collect();
    assert_eq!(counts.len(), 2, "{counts:?}");
    let alone = counts.iter().find_map(|change| catch(&checks, std::slice::from_ref(change)));
    assert!(alone.is_none(), "no exception is needed: {alone:?}");
    assert!(catch(&checks, &counts).is_some(), "no check needs a count of changes");
}
