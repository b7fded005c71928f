//! Every scenario with every lock, for a moment: do the figures make sense?

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use turnwise::platform::Native;
use turnwise_bench::adapt::monitors::Pair;
use turnwise_bench::environment::Environment;
use turnwise_bench::load::exclusive::{self, Lock, Protected};
use turnwise_bench::load::monitor::{self, Broadcast, Inside, Monitor, Pattern, PingPong, Queue, Tell};
use turnwise_bench::load::shared::{self, Record, SharedLock};
use turnwise_bench::run::{Kind, Outcome, Plan, Roles, Section, fairness};
use turnwise_bench::samples::Samples;
use turnwise_bench::situation::{Arrivals, Neighbour, Situation};
use turnwise_bench::subject::{SUBJECTS, Scenario};

const MOMENT: Plan = Plan {
    threads: 2,
    section: Section::Tight,
    roles: Roles::WRITE,
    situation: Situation::PLAIN,
    pinned: false,
    warm_up: Duration::from_millis(1),
    duration: Duration::from_millis(4),
    timed: false,
};

fn plan(scenario: &Scenario, timed: bool) -> Plan {
    let (section, roles) = (scenario.section(Native::amount), scenario.roles(Native::amount));
    let (threads, situation, pinned) = (scenario.threads, scenario.situation, scenario.pinned());
    Plan { threads, section, roles, situation, pinned, timed, ..MOMENT }
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

/// Checks that no thread does what is not in its role.
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

/// Runs every scenario of a subject with each of its locks.
fn figures_are_sane(subject: &str) {
    let subject = SUBJECTS.iter().find(|s| s.name == subject).expect(subject);
    // A quota would apply to all tests of this process: `quota.rs` has one of its own.
    for scenario in subject.scenarios().filter(|scenario| scenario.situation.quota.is_none()) {
        for lock in &subject.group(scenario).locks {
            // A crowd on a lock that only spins takes seconds to disperse; a few threads show as much.
            if lock.spins && scenario.threads > 4 {
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
fn condvar_figures_are_sane() {
    figures_are_sane("condvar");
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

/// On a busy machine no thread may run during a sample of 4 ms; during one of some seconds, one must.
#[test]
fn every_lock_lets_somebody_in() {
    for (subject, group) in SUBJECTS.iter().flat_map(|s| s.groups.iter().map(move |g| (s, g))) {
        for lock in &group.locks {
            let did = |duration| {
                let outcome = lock.sample(&Plan { duration, ..MOMENT });
                outcome.unwrap_or_else(|e| panic!("{} {}: {e:#}", subject.name, lock.name)).total() > 0
            };
            let lengths = [20, 100, 1000, 10_000].map(Duration::from_millis);
            assert!(lengths.into_iter().any(did), "{} {}: nobody got in", subject.name, lock.name);
        }
    }
}

/// Returns whether one of several samples shows something. In a single one, a busy machine may stall a thread.
fn shows(sample: impl Fn() -> bool) -> bool {
    (0..20).any(|_| sample())
}

/// Returns whether a lock is caught with this complaint.
#[track_caller]
fn is_caught(sample: impl Fn() -> anyhow::Result<Outcome>, complaint: &str) {
    let caught = || sample().is_err_and(|error| error.to_string().contains(complaint));
    assert!(shows(caught), "never: {complaint}");
}

/// Gives every caller a copy of its own and keeps the last one: what two threads in one critical section do to data,
/// without the undefined behaviour.
struct OpenDoor<T>(std::sync::Mutex<T>);

impl<T: Copy + Send + 'static> Lock<T> for OpenDoor<T> {
    fn new(value: T) -> Self {
        OpenDoor(std::sync::Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut copy = *self.0.lock().expect("nobody panics");
        let result = f(&mut copy);
        std::thread::yield_now();
        *self.0.lock().expect("nobody panics") = copy;
        result
    }
}

impl SharedLock for OpenDoor<Record> {
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        f(&self.0.lock().expect("nobody panics"))
    }
}

#[test]
fn a_lock_that_lets_everybody_in_is_caught() {
    let section = Section::Sleep(Duration::from_millis(1));
    let plan = Plan { threads: 4, section, duration: Duration::from_millis(50), ..MOMENT };
    is_caught(|| exclusive::sample::<OpenDoor<Protected>>(&plan), "two threads in at once");
}

#[test]
fn a_lock_that_lets_two_writers_in_is_caught() {
    let plan = Plan { threads: 4, duration: Duration::from_millis(100), ..MOMENT };
    is_caught(|| shared::sample::<OpenDoor<Record>>(&plan), "two writers in at once");
}

/// Readers see the first count of a write, and not yet the others.
struct HalfOpen(OpenDoor<Record>);

impl Lock<Record> for HalfOpen {
    fn new(value: Record) -> Self {
        HalfOpen(Lock::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
        f(&mut self.0.0.lock().expect("nobody panics"))
    }
}

impl SharedLock for HalfOpen {
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        self.0.read(|&[count, mirror, chain, last]| f(&[count + 1, mirror, chain, last]))
    }
}

#[test]
fn a_lock_that_lets_a_reader_in_beside_a_writer_is_caught() {
    let plan = Plan { roles: Roles::Mixed { read_percent: 50 }, duration: Duration::from_millis(100), ..MOMENT };
    is_caught(|| shared::sample::<HalfOpen>(&plan), "half a write");
}

/// A writer gets in when no reader has been for a tenth of a second, which is never.
struct ReadersFirst {
    lock: std::sync::RwLock<Record>,
    reads: std::sync::atomic::AtomicU64,
}

impl SharedLock for ReadersFirst {
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        self.reads.fetch_add(1, Relaxed);
        f(&self.lock.read().expect("nobody panics"))
    }
}

impl Lock<Record> for ReadersFirst {
    fn new(value: Record) -> Self {
        ReadersFirst { lock: std::sync::RwLock::new(value), reads: 0.into() }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
        loop {
            let before = self.reads.load(Relaxed);
            std::thread::sleep(Duration::from_millis(100));
            if self.reads.load(Relaxed) == before {
                return f(&mut self.lock.write().expect("nobody panics"));
            }
        }
    }
}

#[test]
fn a_lock_that_starves_its_writer_shows_no_share() {
    let roles = Roles::Apart { writers: 1, rest: 0 };
    let plan = Plan { threads: 3, roles, duration: Duration::from_millis(300), ..MOMENT };
    let lock = &SUBJECTS[0].groups[0].locks[0];
    let starves = || {
        let mut samples = Samples::none(lock, roles);
        let outcome = shared::sample::<ReadersFirst>(&plan).expect("it excludes");
        samples.add(outcome, None, &plan, Duration::MAX);
        let report = samples.report(1);
        assert!(report.reads.is_some() && report.writes.is_some(), "both sides have their times");
        report.share.expect("the roles have shares").median < 0.01
    };
    assert!(shows(starves), "the writer has its share");
}

/// Notices only broadcasts, and so never a thread's turn.
struct Deaf<M>(M);

impl<T: 'static, M: Monitor<T>> Monitor<T> for Deaf<M> {
    fn new(value: T) -> Self {
        Deaf(M::new(value))
    }

    fn enter<R>(&self, on: usize, wait: impl FnMut(&mut T) -> bool, f: impl FnOnce(&mut T) -> (R, Tell)) -> R {
        self.0.enter(on, wait, |data| match f(data) {
            (result, Tell::One(_)) => (result, Tell::Nobody),
            other => other,
        })
    }
}

/// Waits for nothing.
struct Hasty<M>(M);

impl<T: 'static, M: Monitor<T>> Monitor<T> for Hasty<M> {
    fn new(value: T) -> Self {
        Hasty(M::new(value))
    }

    fn enter<R>(&self, on: usize, _wait: impl FnMut(&mut T) -> bool, f: impl FnOnce(&mut T) -> (R, Tell)) -> R {
        self.0.enter(on, |_| false, f)
    }
}

type Std<T> = Pair<std::sync::Mutex<T>, std::sync::Condvar>;
type Turn<T> = Inside<<T as Pattern>::State>;

#[test]
fn threads_that_are_not_notified_take_no_turn() {
    let plan = Plan { duration: Duration::from_millis(50), ..MOMENT };
    let outcome = monitor::sample::<Deaf<Std<Turn<PingPong>>>, PingPong>(&plan).expect("it ends when asked to");
    // The first turn is the first thread's; the second one finds its turn there only if it comes later.
    assert!(outcome.total() <= 2, "{outcome:?}");
}

#[test]
fn a_wait_that_ends_too_early_is_caught() {
    let plan = Plan { duration: Duration::from_millis(50), ..MOMENT };
    let early = "a wait ended although";
    is_caught(|| monitor::sample::<Hasty<Std<Turn<PingPong>>>, PingPong>(&plan), early);
    let three = Plan { threads: 3, ..plan };
    is_caught(|| monitor::sample::<Hasty<Std<Turn<Broadcast>>>, Broadcast>(&three), early);
}

#[test]
fn turns_are_taken_evenly() {
    let plan = Plan { threads: 4, duration: Duration::from_millis(100), timed: true, ..MOMENT };
    let ops = |outcome: anyhow::Result<Outcome>| -> Vec<u64> {
        outcome.expect("it excludes").ops.iter().map(|ops| ops.total()).collect()
    };
    // The sampling thread reads one count after the other, and other turns happen in between if it is preempted.
    let near = |a: u64, b: u64, slack: u64| {
        println!("{a} and {b}");
        a.abs_diff(b) <= slack
    };
    let two = || {
        let two = ops(monitor::sample::<Std<Turn<PingPong>>, PingPong>(&Plan { threads: 2, ..plan }));
        near(two[0], two[1], 2 + (two[0] + two[1]) / 2)
    };
    assert!(shows(two), "two threads that tell each other");
    let queue = || {
        let queue = ops(monitor::sample::<Std<Turn<Queue>>, Queue>(&plan));
        near(queue[0] + queue[1], queue[2] + queue[3], 64 + queue.iter().sum::<u64>() / 2)
    };
    assert!(shows(queue), "who puts and who takes");
    let all = || {
        let all = ops(monitor::sample::<Std<Turn<Broadcast>>, Broadcast>(&plan));
        all.iter().all(|one| near(*one, all[0], 2 + all[0] / 2))
    };
    assert!(shows(all), "all that are notified");
}

#[test]
fn many_locks_let_threads_in_side_by_side() {
    let section = Section::Sleep(Duration::from_millis(20));
    let plan = Plan { threads: 8, section, duration: Duration::from_millis(400), ..MOMENT };
    let total = |locks| {
        let plan = Plan { situation: Situation { locks, ..Situation::PLAIN }, ..plan };
        let outcome = exclusive::sample::<std::sync::Mutex<Protected>>(&plan).expect("it excludes");
        outcome.total()
    };
    // Behind one lock, one section at a time, each at least 20 ms long.
    assert!(shows(|| total(64) > total(1)), "never more sections behind 64 locks");
}

/// Stalls for a fifth of a second, once.
struct Stalls {
    lock: std::sync::Mutex<Protected>,
    sections: std::sync::atomic::AtomicU64,
}

impl Lock<Protected> for Stalls {
    fn new(value: Protected) -> Self {
        Stalls { lock: std::sync::Mutex::new(value), sections: 0.into() }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Protected) -> R) -> R {
        let mut data = self.lock.lock().expect("nobody panics");
        if self.sections.fetch_add(1, Relaxed) == 20 {
            std::thread::sleep(Duration::from_millis(200));
        }
        f(&mut data)
    }
}

#[test]
fn a_stall_delays_all_that_arrive_meanwhile_and_not_two_threads() {
    let plan = Plan { duration: Duration::from_millis(300), timed: true, ..MOMENT };
    let long = |arrivals| {
        let situation = Situation { arrivals, ..Situation::PLAIN };
        let outcome = exclusive::sample::<Stalls>(&Plan { situation, ..plan }).expect("it excludes");
        let waits = outcome.waits.expect("they are timed").write;
        waits.count_between(20_000_000, u64::MAX) as f64 / waits.len() as f64
    };
    let open = || long(Some(Arrivals::Poisson { per_s: 4_000 })) > 0.3;
    assert!(shows(open), "of those that arrived in 0.3 s most did in the stall");
    assert!(shows(|| long(None) < 0.01), "two threads waited once");
}

#[test]
fn requests_that_a_lock_cannot_serve_show() {
    let arrivals = Arrivals::Poisson { per_s: 10_000 };
    let situation = Situation { arrivals: Some(arrivals), ..Situation::PLAIN };
    let section = Section::Sleep(Duration::from_millis(2));
    let plan = Plan { situation, section, duration: Duration::from_millis(200), timed: true, ..MOMENT };
    let show = || {
        let mut samples = Samples::none(&SUBJECTS[0].groups[0].locks[0], Roles::WRITE);
        let outcome = exclusive::sample::<std::sync::Mutex<Protected>>(&plan).expect("it excludes");
        samples.add(outcome, None, &plan, Duration::MAX);
        let late = samples.report(1).late.expect("it is an open loop");
        println!("{late:?}");
        late.served.median < 0.1 && late.p99_ns.median > 100e6
    };
    assert!(shows(show), "500 a second at most, of 10,000, and some waited for nearly as long as the sample lasts");
}

/// Lets a thread in late that comes from any CPU but the first one's.
struct FirstCpuOnly {
    lock: std::sync::Mutex<Protected>,
    first: std::sync::OnceLock<i32>,
}

impl Lock<Protected> for FirstCpuOnly {
    fn new(value: Protected) -> Self {
        FirstCpuOnly { lock: std::sync::Mutex::new(value), first: std::sync::OnceLock::new() }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Protected) -> R) -> R {
        // SAFETY: no pointers are involved.
        let cpu = unsafe { libc::sched_getcpu() };
        if *self.first.get_or_init(|| cpu) != cpu {
            std::thread::sleep(Duration::from_millis(20));
        }
        f(&mut self.lock.lock().expect("nobody panics"))
    }
}

#[test]
fn a_disturbed_thread_that_is_let_in_late_shows_in_its_share() {
    let situation = Situation { neighbour: Neighbour::OnLastThread, ..Situation::PLAIN };
    let plan = Plan { situation, pinned: true, duration: Duration::from_millis(300), ..MOMENT };
    // Either thread may have been the first; with one CPU neither is late.
    let has_cpus = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    let show = || {
        let mut samples = Samples::none(&SUBJECTS[0].groups[0].locks[0], Roles::WRITE);
        let outcome = exclusive::sample::<FirstCpuOnly>(&plan).expect("it excludes");
        // CPU time is read a moment after the clock.
        let (elapsed, slack) = (outcome.elapsed, Duration::from_millis(100));
        let is_in_time = outcome.cpu_of_threads.iter().all(|cpu| *cpu <= elapsed + slack);
        println!("{outcome:?}");
        samples.add(outcome, None, &plan, Duration::MAX);
        let share = samples.report(1).beside.expect("there was a neighbour").operations.median;
        is_in_time && (!has_cpus || !(0.2..1.8).contains(&share))
    };
    assert!(shows(show), "the second CPU's thread has its share");
}
