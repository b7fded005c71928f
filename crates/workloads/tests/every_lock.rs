//! Every scenario with every lock, for a moment: do the figures make sense?

use std::time::Duration;
use turnwise_workloads::locks::{LOCKS, Lock, Waiting};
use turnwise_workloads::run::{self, Outcome, Plan, Protected, Section};
use turnwise_workloads::scenario::{SCENARIOS, Scenario};
use turnwise_workloads::stats::fairness;

fn plan(scenario: &Scenario, timed: bool) -> Plan {
    Plan {
        threads: scenario.threads,
        section: scenario.section(),
        warm_up: Duration::from_millis(1),
        duration: Duration::from_millis(4),
        timed,
    }
}

fn check(name: &str, plan: &Plan, outcome: &Outcome) {
    assert_eq!(outcome.ops.len(), plan.threads, "{name}");
    assert!(outcome.elapsed >= plan.duration, "{name}");
    assert!((0.0..=1.0).contains(&fairness(&outcome.ops)), "{name}");
    let Some(waits) = &outcome.waits else {
        assert!(!plan.timed, "{name}: no waits");
        return;
    };
    assert!(plan.timed, "{name}: waits without being asked");
    assert!(waits.len() >= outcome.total(), "{name}: every acquisition of the interval is timed");
    let at = |q| waits.value_at_quantile(q);
    assert!(at(0.5) <= at(0.99) && at(0.99) <= at(0.999) && at(0.999) <= waits.max(), "{name}");
}

#[test]
fn figures_are_sane() {
    for scenario in SCENARIOS {
        for lock in LOCKS {
            // A crowd on a lock that only spins takes seconds to disperse; a few threads show as much.
            if lock.waiting == Waiting::Spins && scenario.threads > 4 {
                continue;
            }
            for timed in [false, true] {
                let name = format!("{} with {}", scenario.name, lock.name);
                let plan = plan(scenario, timed);
                let outcome = (lock.sample)(&plan).unwrap_or_else(|e| panic!("{name}: {e:#}"));
                check(&name, &plan, &outcome);
            }
        }
    }
}

/// On a busy machine a sample of 4 ms may pass without anybody having run; one of a second may not.
#[test]
fn every_lock_lets_somebody_in() {
    for lock in LOCKS {
        let section = Section::Work { inside: 100, outside: 100 };
        let warm_up = Duration::from_millis(1);
        let did = |duration| {
            let outcome = (lock.sample)(&Plan { threads: 2, section, warm_up, duration, timed: false });
            outcome.unwrap_or_else(|e| panic!("{}: {e:#}", lock.name)).total() > 0
        };
        let lengths = [20, 100, 1000].map(Duration::from_millis);
        assert!(lengths.into_iter().any(did), "{}: nobody got in", lock.name);
    }
}

/// Gives everybody a copy of their own and keeps the last one: what two threads in one critical section do to data,
/// without the undefined behaviour.
struct OpenDoor<T>(std::sync::Mutex<T>);

impl<T: Copy + Send> Lock<T> for OpenDoor<T> {
    fn new(value: T) -> Self {
        OpenDoor(std::sync::Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut copy = *self.0.lock().expect("nobody panics");
        let result = f(&mut copy);
        *self.0.lock().expect("nobody panics") = copy;
        result
    }

    fn into_inner(self) -> T {
        self.0.into_inner().expect("nobody panics")
    }
}

#[test]
fn a_lock_that_lets_everybody_in_is_caught() {
    let plan = Plan {
        threads: 4,
        section: Section::Sleep(Duration::from_millis(1)),
        warm_up: Duration::ZERO,
        duration: Duration::from_millis(50),
        timed: false,
    };
    let error = run::sample::<OpenDoor<Protected>>(&plan).expect_err("increments were lost");
    assert!(error.to_string().contains("two threads in at once"), "{error:#}");
}
