//! Every scenario with every lock, for a moment: do the figures make sense?

use std::time::Duration;
use turnwise_bench::load::exclusive::{self, Lock, Protected};
use turnwise_bench::load::shared::{self, Record, SharedLock};
use turnwise_bench::run::{Kind, Outcome, Plan, Roles, Section};
use turnwise_bench::stats::fairness;
use turnwise_bench::subject::{SUBJECTS, Scenario, Waiting};

const MOMENT: Plan = Plan {
    threads: 2,
    section: Section::Tight,
    roles: Roles::WRITE,
    pinned: false,
    warm_up: Duration::from_millis(1),
    duration: Duration::from_millis(4),
    timed: false,
};

fn plan(scenario: &Scenario, timed: bool) -> Plan {
    let (section, roles) = (scenario.section(), scenario.roles());
    Plan { threads: scenario.threads, section, roles, pinned: scenario.pinned, timed, ..MOMENT }
}

fn check(name: &str, plan: &Plan, outcome: &Outcome) {
    assert_eq!(outcome.ops.len(), plan.threads, "{name}");
    assert!(outcome.elapsed >= plan.duration, "{name}");
    let totals: Vec<u64> = outcome.ops.iter().map(|ops| ops.total()).collect();
    assert!((0.0..=1.0).contains(&fairness(&totals)), "{name}");
    check_roles(name, plan.roles, outcome);
    let Some(waits) = &outcome.waits else {
        assert!(!plan.timed, "{name}: no waits");
        return;
    };
    assert!(plan.timed, "{name}: waits without being asked");
    for kind in [Kind::Read, Kind::Write] {
        let waits = waits.get(kind);
        assert!(waits.len() >= outcome.count(kind), "{name}: every acquisition of the interval is timed");
        let at = |q| waits.value_at_quantile(q);
        assert!(at(0.5) <= at(0.99) && at(0.99) <= at(0.999) && at(0.999) <= waits.max(), "{name}");
    }
}

/// Nobody does what is not in its role.
fn check_roles(name: &str, roles: Roles, outcome: &Outcome) {
    match roles {
        Roles::Mixed { read_percent: 0 } => assert_eq!(outcome.count(Kind::Read), 0, "{name}"),
        Roles::Mixed { read_percent: 100 } => assert_eq!(outcome.count(Kind::Write), 0, "{name}"),
        Roles::Mixed { .. } => {}
        Roles::Apart { writers, .. } => {
            assert!(outcome.ops[..writers].iter().all(|ops| ops.read == 0), "{name}");
            assert!(outcome.ops[writers..].iter().all(|ops| ops.write == 0), "{name}");
        }
    }
}

/// Every scenario of a subject with each of its locks.
fn figures_are_sane(subject: &str) {
    let subject = SUBJECTS.iter().find(|s| s.name == subject).expect(subject);
    for scenario in subject.scenarios {
        for lock in scenario.group.locks {
            // A crowd on a lock that only spins takes seconds to disperse; a few threads show as much.
            if lock.waiting == Waiting::Spins && scenario.threads > 4 {
                continue;
            }
            for timed in [false, true] {
                let name = format!("{} {} with {}", subject.name, scenario.name, lock.name);
                let plan = plan(scenario, timed);
                let outcome = lock.sample(&plan).unwrap_or_else(|e| panic!("{name}: {e:#}"));
                check(&name, &plan, &outcome);
            }
        }
    }
}

#[test]
fn mutex_figures_are_sane() {
    figures_are_sane("mutex");
}

#[test]
fn rwlock_figures_are_sane() {
    figures_are_sane("rwlock");
}

#[test]
fn seqlock_figures_are_sane() {
    figures_are_sane("seqlock");
}

#[test]
fn refcount_figures_are_sane() {
    figures_are_sane("refcount");
}

#[test]
fn spin_figures_are_sane() {
    figures_are_sane("spin");
}

#[test]
fn vfs_figures_are_sane() {
    figures_are_sane("vfs");
}

#[test]
fn lineage_figures_are_sane() {
    figures_are_sane("lineage");
}

/// On a busy machine a sample of 4 ms may pass without anybody having run; one of a second may not.
#[test]
fn every_lock_lets_somebody_in() {
    for (subject, group) in SUBJECTS.iter().flat_map(|s| s.groups.iter().map(move |g| (s, g))) {
        for lock in group.locks {
            let did = |duration| {
                let outcome = lock.sample(&Plan { duration, ..MOMENT });
                outcome.unwrap_or_else(|e| panic!("{} {}: {e:#}", subject.name, lock.name)).total() > 0
            };
            let lengths = [20, 100, 1000].map(Duration::from_millis);
            assert!(lengths.into_iter().any(did), "{} {}: nobody got in", subject.name, lock.name);
        }
    }
}

/// Gives everybody a copy of their own and keeps the last one: what two threads in one critical section do to data,
/// without the undefined behaviour.
struct OpenDoor<T>(std::sync::Mutex<T>);

impl<T: Copy> OpenDoor<T> {
    fn pass<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut copy = *self.0.lock().expect("nobody panics");
        let result = f(&mut copy);
        std::thread::yield_now();
        *self.0.lock().expect("nobody panics") = copy;
        result
    }
}

impl<T: Copy + Send + 'static> Lock<T> for OpenDoor<T> {
    fn new(value: T) -> Self {
        OpenDoor(std::sync::Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.pass(f)
    }
}

impl SharedLock for OpenDoor<Record> {
    fn new(value: Record) -> Self {
        OpenDoor(std::sync::Mutex::new(value))
    }

    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        f(&self.0.lock().expect("nobody panics"))
    }

    fn write<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
        self.pass(f)
    }
}

#[test]
fn a_lock_that_lets_everybody_in_is_caught() {
    let section = Section::Sleep(Duration::from_millis(1));
    let plan = Plan { threads: 4, section, duration: Duration::from_millis(50), ..MOMENT };
    let error = exclusive::sample::<OpenDoor<Protected>>(&plan).expect_err("increments were lost");
    assert!(error.to_string().contains("two threads in at once"), "{error:#}");
}

#[test]
fn a_lock_that_lets_two_writers_in_is_caught() {
    let plan = Plan { threads: 4, duration: Duration::from_millis(100), ..MOMENT };
    let error = shared::sample::<OpenDoor<Record>>(&plan).expect_err("writes were lost");
    assert!(error.to_string().contains("two writers in at once"), "{error:#}");
}

/// Readers see the first count of a write, and not yet the others.
struct HalfOpen(OpenDoor<Record>);

impl SharedLock for HalfOpen {
    fn new(value: Record) -> Self {
        HalfOpen(SharedLock::new(value))
    }

    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        self.0.read(|&[count, mirror, chain, last]| f(&[count + 1, mirror, chain, last]))
    }

    fn write<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
        f(&mut self.0.0.lock().expect("nobody panics"))
    }
}

#[test]
fn a_lock_that_lets_a_reader_in_beside_a_writer_is_caught() {
    let plan = Plan { roles: Roles::Mixed { read_percent: 50 }, duration: Duration::from_millis(100), ..MOMENT };
    let error = shared::sample::<HalfOpen>(&plan).expect_err("a reader saw half a write");
    assert!(error.to_string().contains("half a write"), "{error:#}");
}
