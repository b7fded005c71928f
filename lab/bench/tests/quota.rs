//! Scenarios under a CPU quota, which holds for all threads of a process: so these tests have a process to themselves,
//! and take turns.

use std::sync::Mutex;
use std::time::Duration;
use turnwise::platform::Native;
use turnwise_bench::environment::Environment;
use turnwise_bench::run::{Outcome, Plan, Roles, Section};
use turnwise_bench::samples::Samples;
use turnwise_bench::situation::Situation;
use turnwise_bench::subject::{LockInfo, SUBJECTS, Scenario};
use turnwise_present::quota::Quota;

/// The quota is the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns whether this machine grants a quota; if not, prints what to do.
fn can_be_had() -> bool {
    match Quota::enter(100) {
        Ok(_) => true,
        Err(error) => {
            assert!(format!("{error:#}").contains("systemd-run"), "{error:#}");
            false
        }
    }
}

fn plan(scenario: &Scenario, duration: Duration) -> Plan {
    let (section, roles) = (scenario.section(Native::amount), scenario.roles(Native::amount));
    let (threads, situation, pinned) = (scenario.threads, scenario.situation, scenario.pinned());
    let warm_up = Duration::from_millis(1);
    Plan { threads, section, roles, situation, pinned, warm_up, duration, timed: false }
}

fn scenarios() -> impl Iterator<Item = (&'static Scenario, &'static [LockInfo])> {
    let all = SUBJECTS.iter().flat_map(|subject| subject.scenarios().map(move |scenario| (subject, scenario)));
    let quotas = all.filter(|(_, scenario)| scenario.situation.quota.is_some());
    quotas.map(|(subject, scenario)| (scenario, subject.group(scenario).locks.as_slice()))
}

fn cpus(outcome: &Outcome) -> f64 {
    outcome.cpu.as_secs_f64() / outcome.elapsed.as_secs_f64()
}

fn throttled(lock: &'static LockInfo, plan: &Plan, outcome: Outcome) -> Option<f64> {
    let mut samples = Samples::none(lock, Roles::WRITE);
    samples.add(outcome, None, plan, Duration::MAX);
    samples.report(1).throttled.map(|share| share.median)
}

#[test]
fn every_lock_excludes_under_every_quota() {
    let _alone = ALONE.lock();
    if !can_be_had() {
        return;
    }
    for (scenario, locks) in scenarios() {
        for lock in locks {
            let outcome = lock.sample(&plan(scenario, Duration::from_millis(4)));
            outcome.unwrap_or_else(|error| panic!("{} with {}: {error:#}", scenario.name, lock.name));
        }
    }
}

#[test]
fn a_quota_that_throttles_shows_and_one_that_suffices_does_not() {
    let _alone = ALONE.lock();
    if !can_be_had() {
        return;
    }
    let (scenario, locks) = scenarios().next().expect("there are some");
    let lock = locks.iter().find(|lock| lock.name == "std").expect("it is a peer");
    // So little that even on a busy machine it is used up.
    let situation = Situation { quota: Some(10), ..Situation::PLAIN };
    let scarce = Plan { situation, ..plan(scenario, Duration::from_millis(600)) };
    // Other programs may leave the threads less than that for a while.
    let is_throttled = |_| {
        let outcome = lock.sample(&scarce).expect("it excludes");
        let used = cpus(&outcome);
        assert!(used < 0.3, "{used} CPUs of a tenth of one");
        throttled(lock, &scarce, outcome).is_some_and(|share| share > 0.5)
    };
    assert!((0..20).any(is_throttled), "the quota was used up");

    // Threads that sleep use next to nothing.
    let idle = Plan { section: Section::Sleep(Duration::from_millis(5)), ..scarce };
    let outcome = lock.sample(&idle).expect("it excludes");
    assert!(throttled(lock, &idle, outcome).is_none_or(|share| share < 0.5), "nobody used it up");

    let free = Plan { situation: Situation::PLAIN, ..scarce };
    let outcome = lock.sample(&free).expect("it excludes");
    assert_eq!(throttled(lock, &free, outcome), None, "without a quota there is no share");
}
