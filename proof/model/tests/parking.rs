//! Copies of the portable platform's table that are wrong on purpose: a check or a model of each fails.

use turnwise_model::check::{Cause, Failure, Width};
use turnwise_model::parking::{MUTANTS, Mutant};

/// Returns the check or model that fails, and after how many states or executions.
fn catch(mutant: &Mutant) -> Option<(&'static str, u64)> {
    let wrong = |failure: Option<Failure>| failure.is_some_and(|failure| failure.cause == Cause::Wrong);
    let checks = (mutant.checks)().into_iter().find_map(|check| {
        let outcome = check.run(Width::Bounded, &[]);
        wrong(outcome.failure).then_some((check.name, outcome.tried))
    });
    checks.or_else(|| {
        (mutant.models)().into_iter().find_map(|model| {
            let outcome = model.run(Width::Bounded, &[]);
            wrong(outcome.failure).then_some((model.name, outcome.tried))
        })
    })
}

#[test]
fn every_wrong_copy_of_the_table_is_caught() {
    let mut survivors = Vec::new();
    for mutant in MUTANTS {
        match catch(mutant) {
            Some((by, number)) => println!("{}: caught, by number {number}, in `{by}`", mutant.name),
            None => survivors.push(mutant.name),
        }
    }
    assert!(survivors.is_empty(), "no check or model of these fails: {survivors:#?}");
}
