//! Every wake-up is needed: left out, it makes an explicit-state check fail.

use std::collections::BTreeSet;
use turnwise_model::check::{Cause, Lock, Width};
use turnwise_model::explicit::{self, Check};
use turnwise_model::lab::{Change, Mutation};

/// The check that fails with this change, and after how many states.
fn catch(checks: &[Check], change: &Mutation) -> Option<(&'static str, usize)> {
    checks.iter().find_map(|check| {
        let outcome = check.run(Width::Bounded, std::slice::from_ref(change));
        let wrong = outcome.failure.is_some_and(|failure| failure.cause == Cause::Wrong);
        wrong.then_some((check.name, outcome.states))
    })
}

fn all_caught(lock: Lock) {
    let checks = explicit::of(lock);
    let mut wakes = BTreeSet::new();
    for check in &checks {
        let places = check.run(Width::Bounded, &[]).places;
        let woke = places.into_iter().filter(|(place, done)| done.wakes > 0 && lock.owns(place));
        wakes.extend(woke.map(|(place, _)| place));
    }
    let mut survivors = Vec::new();
    for place in wakes {
        let change = Mutation { place, change: Change::Wakes { most: 0 } };
        match catch(&checks, &change) {
            Some((check, states)) => println!("{change}: caught after {states} states of `{check}`"),
            None => survivors.push(change.to_string()),
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
