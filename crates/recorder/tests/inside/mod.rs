//! Events inside the locks: programs whose waiters are known to sleep, to find the owner off its CPU, to starve.

use crate::harness::{Run, function, library, lock};
use turnwise_preload_abi::{environment, libraries};
use turnwise_profile::model::{Events, Profile, Usage};

/// Runs the program on Turnwise's locks; `None`: this system does not support what it requires.
fn on(policy: &str, name: &str) -> Option<Profile> {
    let variables = [(environment::LOCK, policy)];
    let run = Run::program("inside", name, &[library(libraries::PRELOAD)], &variables);
    if run.status.code() == Some(77) {
        eprintln!("this system cannot run {name}");
        return None;
    }
    let profile = run.profile();
    assert_eq!(profile.program.policy, policy);
    add_up(&profile);
    Some(profile)
}

/// Checks that the counts of sites, and of threads, are the counts of the locks.
#[track_caller]
fn add_up(profile: &Profile) {
    let counts: [fn(&Events) -> Option<u64>; 6] = [
        |events| events.sleeps,
        |events| events.steals,
        |events| events.handoffs,
        |events| events.spins_won,
        |events| events.spins_off_cpu,
        |events| events.spins_timed_out,
    ];
    for (place, count) in counts.into_iter().enumerate() {
        let sum = |usages: &mut dyn Iterator<Item = &Usage>| -> u64 {
            usages.map(|usage| count(&usage.events).unwrap_or(0)).sum()
        };
        for (number, lock) in profile.locks.iter().enumerate() {
            let sites = profile.sites.iter().filter(|site| site.lock as usize == number);
            assert_eq!(sum(&mut sites.map(|site| &site.usage)), sum(&mut [&lock.usage].into_iter()), "count {place}");
        }
        let locks = sum(&mut profile.locks.iter().map(|lock| &lock.usage));
        assert_eq!(sum(&mut profile.threads.iter().map(|thread| &thread.usage)), locks, "count {place} of threads");
    }
}

fn events(profile: &Profile, name: &str) -> Events {
    let usage = &lock(profile, name).usage;
    assert_eq!(usage.events.watched.min(usage.contended), usage.contended, "all waits are reported: {usage:?}");
    usage.events
}

#[test]
fn waiters_that_sleep_are_counted() {
    let profile = on("adaptive", "sleep").expect("every system can");
    let seen = events(&profile, "first");
    assert!(seen.sleeps >= Some(3), "{seen:?}");
    let site = profile.sites.iter().find(|site| function(&profile, site) == "one_wait").expect("the site");
    assert_eq!((site.usage.contended, site.usage.events.sleeps), (3, seen.sleeps));
    let waiters = profile.threads.iter().filter(|thread| thread.usage.events.sleeps >= Some(1)).count();
    assert_eq!(waiters, 3);
}

#[test]
fn the_c_librarys_locks_tell_sleeps_and_nothing_else() {
    let profile = Run::program("inside", "sleep", &[], &[]).profile();
    let seen = lock(&profile, "first").usage.events;
    assert!(seen.sleeps >= Some(3), "{seen:?}");
    assert_eq!(Events { sleeps: None, ..seen }, Events { watched: 3, ..Events::default() });
    assert!(profile.recording.remarks.iter().any(|remark| remark.contains("do not report")));
    add_up(&profile);
}

#[test]
fn readers_and_writers_sleep() {
    let profile = on("adaptive", "rwlock").expect("every system can");
    assert!(events(&profile, "table").sleeps >= Some(2));
    for reads in [false, true] {
        let site = profile.sites.iter().find(|site| site.reader == reads && site.usage.contended > 0).expect("a site");
        assert!(site.usage.events.sleeps >= Some(1), "{site:?}");
    }
}

#[test]
fn who_was_woken_from_a_condition_sleeps_for_the_mutex() {
    let profile = on("adaptive", "condition").expect("every system can");
    let site = profile.sites.iter().find(|site| site.after_wait).expect("the wait");
    assert!(site.usage.events.sleeps >= Some(1), "{site:?}");
}

#[test]
fn an_owner_off_its_cpu_ends_spins() {
    let Some(profile) = on("adaptive", "away") else { return };
    let seen = events(&profile, "first");
    assert!(seen.spins_off_cpu >= Some(1) && seen.sleeps >= Some(1), "{seen:?}");
}

#[test]
fn a_starving_waiter_is_handed_the_lock() {
    let Some(profile) = on("adaptive", "starve") else { return };
    let seen = events(&profile, "first");
    assert!(seen.handoffs >= Some(1) && seen.sleeps >= Some(2), "{seen:?}");
}

#[test]
fn counts_of_sites_add_up() {
    let profile = on("adaptive", "compete").expect("every system can");
    let seen = events(&profile, "first");
    assert!([seen.steals, seen.spins_won, seen.handoffs].iter().all(Option::is_some), "{seen:?}");
}

#[test]
fn a_spin_lock_spins_and_does_nothing_else() {
    // First come, first served locks take a time slice for each turn on a busy machine.
    let profile = on("ttas", "compete").expect("every system can");
    let usage = &lock(&profile, "first").usage;
    let nothing = Some(0);
    let Events { sleeps, steals, handoffs, spins_won, spins_off_cpu, .. } = usage.events;
    assert_eq!((sleeps, steals, handoffs, spins_off_cpu), (nothing, nothing, nothing, nothing));
    // The lock may have become free between the recorder's try and the acquisition.
    assert!(spins_won.is_some_and(|spun| spun <= usage.contended), "{spins_won:?} of {}", usage.contended);
}
