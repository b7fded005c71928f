//! Sleeps that are no pthread lock's: their kinds, names, call sites and numbers, and that the program notices nothing.

use crate::harness::{Run, function, library, lock};
use turnwise_preload_abi::libraries;
use turnwise_profile::model::{Awaited, LockKind, Profile, Site};

#[track_caller]
fn awaited(profile: &Profile, kind: LockKind) -> &Awaited {
    let all = || profile.awaited.iter().map(|one| (one.kind, &one.name)).collect::<Vec<_>>();
    let found = profile.awaited.iter().find(|one| one.kind == kind && one.wait.count > 0);
    found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", all()))
}

fn named<'a>(profile: &'a Profile, kind: LockKind, name: &str) -> &'a Awaited {
    let found = profile.awaited.iter().find(|one| one.kind == kind && one.name == name);
    found.unwrap_or_else(|| panic!("no {kind:?} {name} in {:#?}", profile.awaited))
}

/// Returns the function that slept most on something.
fn sleeper<'a>(profile: &'a Profile, one: &Awaited) -> &'a str {
    &profile.frames[one.sites[0].frames[0] as usize].function
}

fn of(name: &str) -> Profile {
    let profile = Run::program("asleep", name, &[], &[]).profile();
    assert_eq!(profile.recording.missing, Vec::<String>::new());
    profile
}

#[test]
fn only_waits_for_semaphores_that_are_not_free_are_counted() {
    let profile = of("semaphore");
    let items = named(&profile, LockKind::Semaphore, "items");
    assert_eq!((items.wait.count, items.timed_out, items.wake_ups), (3, 0, (3, 0)));
    assert_eq!(sleeper(&profile, items), "consume");
    let never = named(&profile, LockKind::Semaphore, "never");
    assert_eq!((never.wait.count, never.timed_out, never.wake_ups.0), (2, 2, 0));
    assert!(never.wait.sum_ns >= 50_000_000, "{never:?}");
    assert!(profile.locks.is_empty(), "a semaphore is no lock: {:?}", profile.locks);
}

#[test]
fn the_last_thread_at_a_barrier_does_not_wait() {
    let profile = of("barrier");
    let gate = named(&profile, LockKind::Barrier, "gate");
    assert_eq!((gate.wait.count, sleeper(&profile, gate)), (1, "arrive"));
}

#[test]
fn a_join_waits_for_a_thread_that_has_not_ended() {
    let profile = of("join");
    let join = awaited(&profile, LockKind::Join);
    assert_eq!((join.wait.count, sleeper(&profile, join)), (1, "join"));
}

#[test]
fn who_waits_for_an_initialiser_is_named() {
    let profile = of("once");
    let once = named(&profile, LockKind::Once, "once");
    assert_eq!((once.wait.count, sleeper(&profile, once)), (1, "use_second"));
}

#[test]
fn calls_that_wake_nobody_are_counted() {
    let profile = of("futexes");
    let word = named(&profile, LockKind::Futex, "word");
    assert_eq!((word.wait.count, word.wake_ups), (1, (6, 5)));
    assert_eq!(sleeper(&profile, word), "sleep_on_word");
}

/// The programs check each result and errno.
#[test]
fn the_kernels_answers_are_the_programs() {
    for behind in [vec![], vec![library(libraries::PRELOAD)]] {
        for name in ["answers", "handler", "cancel", "fork"] {
            let run = Run::program("asleep", name, &behind, &[]);
            assert!(run.status.success(), "{name} with {behind:?}: {}", run.status);
            let profile = run.profile();
            assert!(profile.deadlocks.is_empty() && profile.recording.still_waiting == 0, "{name}");
        }
    }
}

#[test]
fn cancelled_sleeps_end() {
    let profile = of("cancel");
    for (kind, name) in [(LockKind::Semaphore, "never"), (LockKind::Futex, "word")] {
        let one = named(&profile, kind, name);
        assert_eq!((one.wait.count, one.timed_out), (1, 1), "{name}");
    }
}

#[test]
fn sleeps_of_turnwises_locks_are_waits_for_these_alone() {
    let profile = Run::program("truth", "holder", &[library(libraries::PRELOAD)], &[]).profile();
    assert_eq!(lock(&profile, "first").usage.contended, 1);
    assert!(profile.awaited.iter().all(|one| one.kind == LockKind::Join), "{:?}", profile.awaited);
    assert!(profile.locks.iter().all(|lock| lock.kind.is_pthread()), "{:?}", profile.locks);
}

#[test]
fn what_cpp_waits_on_is_named() {
    let profile = Run::program("asleep20", "", &[], &[]).profile();
    let kinds = [(LockKind::CppLatch, "ready"), (LockKind::CppSemaphore, "items"), (LockKind::CppAtomic, "flag")];
    for (kind, name) in kinds {
        let one = named(&profile, kind, name);
        assert!(one.wait.count == 1 && sleeper(&profile, one) == "consume", "{one:?}");
    }
    // No thread ever waits: whether the library calls the kernel nevertheless is up to its version.
    if let Some(room) = profile.awaited.iter().find(|one| one.name == "room") {
        assert_eq!((room.kind, room.wait.count, room.wake_ups.0), (LockKind::CppSemaphore, 0, room.wake_ups.1));
    }
}

#[test]
fn the_locks_of_rust_are_named_with_the_code_that_waits() {
    let profile = Run::program("asleep.rs", "", &[], &[]).profile();
    let kinds = [
        (LockKind::RustMutex, "asleep::INVENTORY", "take_inventory"),
        (LockKind::RustRwLock, "asleep::TABLE", "read_table"),
        (LockKind::ParkingLot, "", "raise_prices"),
    ];
    for (kind, name, waiter) in kinds {
        let place = profile.locks.iter().position(|lock| lock.kind == kind && lock.name.starts_with(name));
        let place = place.unwrap_or_else(|| panic!("no {kind:?} {name} in {:#?}", profile.locks)) as u32;
        let lock = &profile.locks[place as usize];
        assert!(lock.usage.wait.sum_ns >= 5_000_000 && lock.usage.acquisitions == 0, "{lock:?}");
        let sites = || (0_u32..).zip(&profile.sites).filter(|(_, site)| site.lock == place);
        let waits = |(_, site): &(u32, &Site)| site.usage.wait.count > 0 && function(&profile, site).ends_with(waiter);
        let (site, _) = sites().find(waits).unwrap_or_else(|| panic!("nobody waits in {waiter}"));
        let pair = profile.blocked.iter().find(|pair| pair.waiter == site).expect("who ended the wait");
        assert!(!profile.sites[pair.holder as usize].frames.is_empty());
    }
    for kind in [LockKind::RustCondvar, LockKind::RustChannel] {
        assert!(awaited(&profile, kind).wait.sum_ns >= 5_000_000);
    }
    let waited: u64 = profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
    assert_eq!(profile.threads.iter().map(|thread| thread.usage.wait.sum_ns).sum::<u64>(), waited);
}
