//! Every ordering, flag and wake-up of every lock is needed: changed, it makes a model fail.

#[macro_use]
mod locks;

use turnwise_model::check::{Lock, Width};
use turnwise_model::mutants::{self, Verdict};

fn all_caught(lock: Lock) {
    let say = |verdict: &Verdict| println!("{verdict}");
    let report = mutants::run(lock, Width::from_environment(), say).unwrap_or_else(|e| panic!("{e}"));
    assert!(!report.verdicts.is_empty(), "there is no mutant of {lock:?}: are its sources where `sources.rs` says?");
    let survivors: Vec<_> = report.verdicts.iter().filter(|v| v.caught.is_none() && v.excused.is_none()).collect();
    let survivors = survivors.iter().map(|v| v.to_string()).collect::<Vec<_>>();
    assert!(survivors.is_empty(), "no model needs these: {survivors:#?}");
    assert!(report.untagged.is_empty(), "these orderings lack an ORDERING comment: {:#?}", report.untagged);
    assert!(report.unnamed.is_empty(), "`places.toml` has no names for these bits: {:#x?}", report.unnamed);
    assert!(report.unreached.is_empty(), "no model reaches what these comments speak for: {:#?}", report.unreached);
}

each_lock!(all_caught);

// Those that have explicit-state checks alone: flags and wake-ups.
each_lock! { all_caught:
    preload_cond: PreloadCond,
    preload_word: PreloadWord,
    slots: Slots,
}
