//! The benchmark: every lock in every scenario of a subject, in interleaved rounds.

use crate::documents::{self, DocumentRow};
use crate::options::Options;
use crate::report::{FORMAT, Method, Report, ScenarioReport};
use crate::run::{Plan, Section};
use crate::samples::Samples;
use crate::subject::{LockInfo, Scenario};
use crate::work::cost_ns;
use anyhow::{Context, Result};
use std::time::Duration;
use turnwise_present::machine::{self, Machine};

/// A lock whose threads need longer than this to stop is not asked again in that scenario.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// [`DRAIN_MAX`] of a quick run.
const DRAIN_MAX_QUICK: Duration = Duration::from_millis(500);
/// What all samples of a quick run may last together.
const QUICK_MS: u64 = 40_000;

/// A scenario, and the locks that are to run in it.
struct ScenarioLocks {
    scenario: &'static Scenario,
    locks: Vec<&'static LockInfo>,
}

/// How far the benchmark is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The scenario of the sample that comes next.
    pub scenario: &'a str,
    /// Its lock.
    pub lock: &'a str,
    /// Samples that were taken.
    pub done: u64,
    /// Samples in all.
    pub all: u64,
}

/// Measures, and tells `progress` before each sample.
///
/// # Errors
/// When threads cannot be started, and when a lock lets two threads in at once.
pub fn measure(args: &Options, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report> {
    let (machine, commit) = (Machine::here(), machine::commit());
    let cases: Vec<ScenarioLocks> =
        args.scenarios()?.into_iter().map(|scenario| ScenarioLocks { scenario, locks: args.locks(scenario) }).collect();
    let mut runner = Runner::new(args, &cases, progress);
    let mut scenarios: Vec<ScenarioReport> = Vec::new();
    for together in cases.chunk_by(|a, b| b.scenario.scales == Some(a.scenario.name)) {
        for (case, mut report) in together.iter().zip(runner.scenarios(together)?) {
            report.compare(&args.reference(case.scenario));
            if let Some(from) = scenarios.iter().find(|other| case.scenario.scales == Some(&other.name)) {
                report.scale(from);
            }
            scenarios.push(report);
        }
    }
    let mut report = Report {
        format: FORMAT.to_owned(),
        subject: args.subject.name.to_owned(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        commit,
        machine,
        method: runner.method,
        documents: comparisons(args, &cases, &scenarios),
        scenarios,
        verdicts: Vec::new(),
    };
    report.verdicts = report.judge();
    Ok(report)
}

fn comparisons(args: &Options, cases: &[ScenarioLocks], reports: &[ScenarioReport]) -> Vec<DocumentRow> {
    let row = |comparison: &documents::Comparison| {
        let index = cases.iter().position(|case| case.scenario.name == comparison.scenario)?;
        documents::row(comparison, cases[index].scenario.group.name, &reports[index])
    };
    args.subject.comparisons.iter().filter_map(row).collect()
}

/// What the scenarios of a run share.
struct Runner<'a> {
    method: Method,
    drain_max: Duration,
    rng: fastrand::Rng,
    progress: &'a mut dyn FnMut(Progress<'_>),
    done: u64,
    all: u64,
}

impl Method {
    /// Rounds of both passes; nobody waits alone, so there is nothing to time then.
    fn rounds(&self, scenario: &Scenario) -> u32 {
        self.samples + if scenario.contended() { self.timed_samples } else { 0 }
    }

    fn of(args: &Options, cases: &[ScenarioLocks]) -> Method {
        let samples = args.samples.unwrap_or(if args.quick { 5 } else { 7 });
        let timed_samples = if args.quick { samples.min(2) } else { samples };
        let mut method = Method { samples, timed_samples, sample_ms: 150, seed: args.seed };
        if args.quick {
            // Each sample warms up for a tenth of its length, and its threads need a moment to start and to stop.
            let all = method.all(cases).max(1);
            method.sample_ms = (QUICK_MS * 10 / 11 / all).clamp(5, 60) as u32;
        }
        method.sample_ms = args.sample_ms.unwrap_or(method.sample_ms);
        method
    }

    fn all(&self, cases: &[ScenarioLocks]) -> u64 {
        cases.iter().map(|case| u64::from(self.rounds(case.scenario)) * case.locks.len() as u64).sum()
    }
}

impl Runner<'_> {
    fn new<'a>(args: &Options, cases: &[ScenarioLocks], progress: &'a mut dyn FnMut(Progress<'_>)) -> Runner<'a> {
        let method = Method::of(args, cases);
        let drain_max = if args.quick { DRAIN_MAX_QUICK } else { DRAIN_MAX };
        let rng = fastrand::Rng::with_seed(method.seed);
        Runner { all: method.all(cases), rng, method, drain_max, progress, done: 0 }
    }

    fn plan(&self, scenario: &Scenario) -> Plan {
        let duration = Duration::from_millis(self.method.sample_ms.into());
        let warm_up = (duration / 10).min(Duration::from_millis(20));
        Plan {
            threads: scenario.threads,
            section: scenario.section(),
            roles: scenario.roles(),
            situation: scenario.situation,
            pinned: scenario.pinned,
            warm_up,
            duration,
            timed: false,
        }
    }

    /// Scenarios whose rounds are interleaved.
    fn scenarios(&mut self, cases: &[ScenarioLocks]) -> Result<Vec<ScenarioReport>> {
        let mut runs: Vec<Running> = cases.iter().map(|case| self.begin(case)).collect();
        let rounds = cases.iter().map(|case| self.method.rounds(case.scenario)).max().unwrap_or(0);
        for round in 0..rounds {
            for (run, case) in runs.iter_mut().zip(cases) {
                if round < self.method.rounds(case.scenario) {
                    let plan = Plan { timed: round >= self.method.samples, ..run.plan };
                    let name = case.scenario.name;
                    self.round(case.scenario, &plan, &mut run.samples).with_context(|| format!("scenario {name}"))?;
                }
            }
        }
        Ok(runs.into_iter().zip(cases).map(|(run, case)| run.report(case.scenario, self.method.samples)).collect())
    }

    fn begin(&self, case: &ScenarioLocks) -> Running {
        let plan = self.plan(case.scenario);
        let work_ns = match plan.section {
            Section::Work { inside, outside } => Some((cost_ns(inside), cost_ns(outside))),
            _ => None,
        };
        let samples = case.locks.iter().map(|&lock| Samples::none(lock, plan.roles)).collect();
        Running { plan, work_ns, samples }
    }

    /// One sample of every lock, in random order.
    fn round(&mut self, scenario: &Scenario, plan: &Plan, samples: &mut [Samples]) -> Result<()> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        self.rng.shuffle(&mut order);
        for index in order {
            let samples = &mut samples[index];
            let name = samples.lock.name;
            (self.progress)(Progress { scenario: scenario.name, lock: name, done: self.done, all: self.all });
            if samples.gave_up.is_none() {
                let outcome = samples.lock.sample(plan).with_context(|| format!("lock {name}"))?;
                samples.add(outcome, plan, self.drain_max);
            }
            self.done += 1;
        }
        Ok(())
    }
}

/// A scenario under way.
struct Running {
    plan: Plan,
    /// Inside and outside.
    work_ns: Option<(f64, f64)>,
    samples: Vec<Samples>,
}

impl Running {
    fn report(&self, scenario: &Scenario, rounds: u32) -> ScenarioReport {
        ScenarioReport {
            name: scenario.name.to_owned(),
            help: scenario.help.to_owned(),
            threads: scenario.threads,
            inside_ns: self.work_ns.map(|(inside, _)| inside),
            outside_ns: self.work_ns.map(|(_, outside)| outside),
            reference: None,
            scales_from: None,
            locks: self.samples.iter().map(|samples| samples.report(rounds)).collect(),
        }
    }
}
