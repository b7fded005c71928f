//! `turnwise-lab list`: the catalogue of locks.

use crate::common::expect;

#[test]
fn the_catalogue_names_locks_with_sizes_and_fits_a_terminal() {
    let (list, _) = expect(0, &["list"]);
    for part in ["QueuedSpinLock", "MCS 1991", "bench --list"] {
        assert!(list.contains(part), "no {part} in the list");
    }
    let mutex = list.lines().find(|line| line.trim_start().starts_with("mutex ")).expect("the mutex is a lock");
    assert!(mutex.split_whitespace().nth(2).is_some_and(|bytes| bytes.parse::<usize>().is_ok()), "{mutex}");
    let long: Vec<_> = list.lines().filter(|line| line.chars().count() > 120).collect();
    assert!(long.is_empty(), "{long:#?}");
}
