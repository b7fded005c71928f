//! Seeded orders of locks: each cycle that threads could be caught in is found, and no other.

use super::harness::{Run, cycles, profile};
use turnwise_profile::model::{Misuse, MisuseKind};

/// Runs scenarios of `tests/c/orders.c`, each with the cycles that are expected.
#[track_caller]
fn check(scenarios: &[(&str, &[&str])]) {
    for (name, expected) in scenarios {
        let profile = Run::program("orders", name, &[], &[]).profile();
        assert_eq!(cycles(&profile), *expected, "{name}");
        assert_eq!(profile.misuses, [], "{name}");
    }
}

/// Runs a scenario in which a lock is misused; returns how, the lock, the function of the call, and whether another
/// thread had the lock.
#[track_caller]
fn misused(scenario: &str) -> Vec<(MisuseKind, String, String, Option<bool>)> {
    let profile = Run::program("orders", scenario, &[], &[]).profile();
    assert!(profile.cycles.is_empty(), "{scenario}: {:?}", profile.cycles);
    let one = |misuse: &Misuse| {
        let frame = misuse.stack.map(|stack| profile.stacks[stack as usize][0]);
        let function = frame.map(|frame| profile.frames[frame as usize].function.clone()).unwrap_or_default();
        assert_eq!(misuse.taken_at.is_some(), misuse.holder.is_some(), "{misuse:?}");
        (misuse.kind, misuse.lock.clone(), function, misuse.holder.map(|holder| holder != misuse.thread))
    };
    profile.misuses.iter().map(one).collect()
}

#[test]
fn misuse_of_a_mutex_is_noted_where_its_own_words_confirm_it() {
    for (scenario, kind, function, of_another) in [
        ("released by another", MisuseKind::ReleasedOfAnother, "release", Some(true)),
        ("released by a first call", MisuseKind::ReleasedOfAnother, "release", Some(true)),
        ("released twice", MisuseKind::ReleasedFree, "release", None),
        ("destroyed by its holder", MisuseKind::DestroyedHeld, "destroy", Some(false)),
        ("destroyed by another", MisuseKind::DestroyedHeld, "destroy", Some(true)),
        ("waited without", MisuseKind::WaitedWithout, "wait_in_vain", None),
        ("ended with", MisuseKind::EndedWith, "", Some(false)),
    ] {
        let expected = (kind, "a".to_owned(), function.to_owned(), of_another);
        assert_eq!(misused(scenario), [expected], "{scenario}");
    }
    assert_eq!(misused("checked by the mutex"), [], "a recursive one defines what happens");
}

#[test]
fn cycles_of_any_length_are_found() {
    check(&[
        ("pair", &["a b"]),
        ("three", &["a b c"]),
        ("four", &["a b c d"]),
        ("two pairs", &["a b", "b c"]),
        ("in part", &["a c"]),
        ("spin lock", &["a p"]),
        ("one order", &[]),
        ("array in order", &[]),
        ("array in both orders", &["e e+40"]),
    ]);
}

#[test]
fn a_lock_that_keeps_the_threads_apart_is_a_gate() {
    check(&[
        ("gate", &[]),
        ("gate of three", &[]),
        ("one of two gates each time", &[]),
        ("gate of a writer", &[]),
        ("tried gate", &[]),
        ("gate left once", &["a b"]),
        ("different gates", &["a b"]),
        ("released gate", &["a b"]),
        ("gate between", &["a g", "b g"]),
        ("gate of readers", &["a b"]),
    ]);
}

#[test]
fn a_gate_that_is_not_followed_gives_no_false_alarm() {
    check(&[
        ("gate counted later", &[]),
        ("counted later", &["a b"]),
        ("forgotten gate", &[]),
        ("gate above many", &[]),
        ("after a forgotten lock", &["a b"]),
    ]);
}

#[test]
fn readers_wait_for_writers_only() {
    check(&[
        ("readers", &[]),
        ("reader under a mutex", &[]),
        ("one way reads", &[]),
        ("writer under a mutex", &["a r"]),
        ("writers", &["r s"]),
    ]);
}

#[test]
fn a_try_orders_nothing_but_what_follows_it() {
    check(&[("tried second", &[]), ("tried second once", &[]), ("tried in vain", &[]), ("tried first", &["a b"])]);
}

#[test]
fn a_cycle_needs_as_many_threads_as_steps() {
    check(&[("one thread", &[]), ("taken again", &[]), ("made again", &[]), ("two such threads", &["a b"])]);
}

#[test]
fn the_threads_of_a_cycle_live_at_the_same_time() {
    check(&[("never together", &[]), ("three not together", &[]), ("the third together", &["a b"])]);
}

#[test]
fn the_end_of_a_wait_takes_the_mutex() {
    check(&[("wait", &[]), ("wait with the outer lock", &[]), ("wait with a lock held", &["a b"])]);
}

#[test]
fn processes_are_checked_each_for_itself() {
    let run = Run::program("orders", "child", &[], &[]);
    let child = run.others();
    assert_eq!((cycles(&run.profile()), child.len()), (vec![], 1));
    assert!(cycles(&profile(&child[0])).is_empty());
    let run = Run::program("orders", "in a child", &[], &[]);
    assert!(cycles(&run.profile()).is_empty());
    assert_eq!(cycles(&profile(&run.others()[0])), ["a b"]);
}
