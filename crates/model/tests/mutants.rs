//! Every ordering of every lock is needed: weakened, it makes a model fail.

#[macro_use]
mod locks;

use turnwise_model::check::{Lock, Width};
use turnwise_model::mutants;

fn all_caught(lock: Lock) {
    let report = mutants::run(lock, Width::from_environment()).unwrap_or_else(|e| panic!("{e}"));
    report.verdicts.iter().for_each(|verdict| println!("{verdict}"));
    if let Some(caught) = report.together {
        println!("all survivors relaxed at once: {}", if caught { "caught" } else { "SURVIVE" });
    }
    let survivors: Vec<_> = report.verdicts.iter().filter(|v| v.caught.is_none() && v.excused.is_none()).collect();
    let survivors = survivors.iter().map(|v| v.to_string()).collect::<Vec<_>>();
    assert!(survivors.is_empty(), "no model needs these orderings: {survivors:#?}");
    assert!(report.untagged.is_empty(), "these orderings lack an ORDERING comment: {:#?}", report.untagged);
    assert!(report.unreached.is_empty(), "no model reaches what these comments speak for: {:#?}", report.unreached);
}

each_lock!(all_caught);
