//! The benchmark: every lock in every scenario of a subject, in interleaved rounds.

use crate::environment::Environment;
use crate::options::Options;
use crate::papers::{self, PaperRow};
use crate::report::{FORMAT, LeftOut, Method, Report, ScenarioReport};
use crate::run::{Plan, Section};
use crate::samples::Samples;
use crate::subject::{LockInfo, Scenario};
use crate::work::cost_ns;
use anyhow::{Context, Result};
use std::time::Duration;
use turnwise::platform::Native;
use turnwise_calibrate::{Nearest, Watch};
use turnwise_present::machine::{self, Machine};
use turnwise_present::quota::{PERIOD_US, Quota};

/// A lock whose threads need longer than this to stop is not measured again in that scenario.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// [`DRAIN_MAX`] of a quick run.
const DRAIN_MAX_QUICK: Duration = Duration::from_millis(500);
/// A sample under a quota lasts this many of the kernel's periods, of which each may be short of CPU time at its end.
const QUOTA_PERIODS: u32 = 3;
/// The time that all samples of a quick run may take together.
const QUICK_MS: u64 = 40_000;

/// A scenario, and the locks that are to run in it.
struct ScenarioLocks {
    scenario: &'static Scenario,
    locks: Vec<&'static LockInfo>,
}

/// Measures, and calls `watch` before each sample with its scenario and lock.
///
/// # Errors
/// When threads cannot be started, and when a lock lets two threads in at once.
pub fn measure(args: &Options, watch: Watch<'_>) -> Result<Report> {
    let (machine, commit) = (Machine::here(), machine::commit());
    let (cases, left_out) = cases(args, &|percent| Quota::enter(percent).map(drop))?;
    let mut runner = Runner::new(args, &cases, watch);
    runner.lines = Lines::begin();
    let mut scenarios: Vec<ScenarioReport> = Vec::new();
    for case in &cases {
        let mut report = runner.scenario(case)?;
        report.compare(&args.reference(case.scenario));
        scenarios.push(report);
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
        left_out,
        verdicts: Vec::new(),
    };
    report.verdicts = report.judge();
    Ok(report)
}

/// Returns what is to run, and what cannot: `quota` tries whether this many hundredths of a CPU can be had.
fn cases(args: &Options, quota: &dyn Fn(u32) -> Result<()>) -> Result<(Vec<ScenarioLocks>, Vec<LeftOut>)> {
    let (mut cases, mut left_out) = (Vec::new(), Vec::new());
    for scenario in args.scenarios()? {
        match scenario.situation.quota.map_or(Ok(()), quota) {
            Ok(()) => cases.push(ScenarioLocks { scenario, locks: args.locks(scenario) }),
            Err(error) => left_out.push(LeftOut { scenario: scenario.name.to_owned(), why: format!("{error:#}") }),
        }
    }
    Ok((cases, left_out))
}

fn comparisons(args: &Options, cases: &[ScenarioLocks], reports: &[ScenarioReport]) -> Vec<PaperRow> {
    let row = |comparison: &papers::Comparison| {
        let index = cases.iter().position(|case| case.scenario.name == comparison.scenario)?;
        papers::row(comparison, cases[index].scenario.group, &reports[index])
    };
    args.subject.comparisons.iter().filter_map(row).collect()
}

/// What the scenarios of a run share.
struct Runner<'a> {
    method: Method,
    drain_max: Duration,
    rng: fastrand::Rng,
    lines: Lines,
    watch: Watch<'a>,
    done: usize,
    all: usize,
}

impl Method {
    /// Returns the rounds of both passes; a single thread never waits, so there is nothing to time then.
    fn rounds(&self, scenario: &Scenario) -> u32 {
        // In an open loop the threads read the clock in any case.
        let timed = scenario.contended() && scenario.situation.arrivals.is_none();
        self.samples + if timed { self.timed_samples } else { 0 }
    }

    fn of(args: &Options, cases: &[ScenarioLocks]) -> Method {
        let samples = args.samples.unwrap_or(if args.quick { 5 } else { 7 });
        let timed_samples = if args.quick { samples.min(2) } else { samples };
        let mut method = Method { samples, timed_samples, sample_ms: 150, seed: args.seed };
        if args.quick {
            // Each sample warms up for a tenth of its length, and its threads need a moment to start and to stop.
            let all = method.all(cases).max(1);
            method.sample_ms = (QUICK_MS * 10 / 11 / all as u64).clamp(5, 60) as u32;
        }
        method.sample_ms = args.sample_ms.unwrap_or(method.sample_ms);
        method
    }

    fn all(&self, cases: &[ScenarioLocks]) -> usize {
        cases.iter().map(|case| self.rounds(case.scenario) as usize * case.locks.len()).sum()
    }
}

impl Runner<'_> {
    fn new<'a>(args: &Options, cases: &[ScenarioLocks], watch: Watch<'a>) -> Runner<'a> {
        let method = Method::of(args, cases);
        let drain_max = if args.quick { DRAIN_MAX_QUICK } else { DRAIN_MAX };
        let rng = fastrand::Rng::with_seed(method.seed);
        Runner { all: method.all(cases), rng, lines: Lines::default(), method, drain_max, watch, done: 0 }
    }

    fn plan(&self, scenario: &Scenario) -> Plan {
        let mut duration = Duration::from_millis(self.method.sample_ms.into());
        let situation = scenario.situation;
        if situation.quota.is_some() {
            let periods = duration.as_micros().div_ceil(PERIOD_US.into()) as u32;
            duration = Duration::from_micros(PERIOD_US.into()) * periods.max(QUOTA_PERIODS);
        }
        let warm_up = (duration / 10).min(Duration::from_millis(20));
        Plan {
            threads: scenario.threads,
            section: scenario.section(Native::amount),
            roles: scenario.roles(Native::amount),
            situation,
            pinned: scenario.pinned(),
            warm_up,
            duration,
            timed: situation.arrivals.is_some(),
        }
    }

    fn scenario(&mut self, case: &ScenarioLocks) -> Result<ScenarioReport> {
        let (scenario, plan) = (case.scenario, self.plan(case.scenario));
        let work_ns = match plan.section {
            Section::Work { inside, outside } => Some((cost_ns(inside), cost_ns(outside))),
            _ => None,
        };
        let mut samples: Vec<Samples> = case.locks.iter().map(|&lock| Samples::none(lock, plan.roles)).collect();
        for round in 0..self.method.rounds(scenario) {
            let plan = Plan { timed: plan.timed || round >= self.method.samples, ..plan };
            self.round(scenario, &plan, &mut samples).with_context(|| format!("scenario {}", scenario.name))?;
        }
        Ok(ScenarioReport {
            name: scenario.name.to_owned(),
            help: scenario.help.to_owned(),
            threads: scenario.threads,
            inside_ns: work_ns.map(|(inside, _)| inside),
            outside_ns: work_ns.map(|(_, outside)| outside),
            reference: None,
            locks: samples.iter().map(|samples| samples.report(self.method.samples)).collect(),
        })
    }

    /// Takes one sample of every lock, in random order.
    fn round(&mut self, scenario: &Scenario, plan: &Plan, samples: &mut [Samples]) -> Result<()> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        self.rng.shuffle(&mut order);
        for index in order {
            let samples = &mut samples[index];
            let name = samples.lock.name;
            (self.watch)(&format!("{} {name}", scenario.name), self.done, self.all);
            if samples.gave_up.is_none() {
                let outcome = samples.lock.sample(plan).with_context(|| format!("lock {name}"))?;
                samples.add(outcome, self.lines.around(), plan, self.drain_max);
            }
            self.done += 1;
        }
        Ok(())
    }
}

/// What a cache line costs between two CPUs, from sample to sample: whether this is still the machine that it was. A
/// benchmark does without where it cannot be measured.
#[derive(Default)]
struct Lines {
    nearest: Option<Nearest>,
    last_ns: Option<f64>,
}

impl Lines {
    fn begin() -> Lines {
        let mut lines = Lines { nearest: Nearest::find().ok().flatten(), last_ns: None };
        lines.around();
        lines
    }

    /// Returns the mean of the cost before the last sample, measured after the one before it, and the cost now.
    fn around(&mut self) -> Option<f64> {
        let now = self.nearest.as_ref().and_then(|nearest| nearest.line_ns().ok());
        let before = std::mem::replace(&mut self.last_ns, now);
        Some(f64::midpoint(before?, now?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subject;

    fn options() -> Options {
        Options {
            subject: Subject::find("mutex").expect("it is there"),
            locks: vec!["mutex".to_owned()],
            plugged: Vec::new(),
            scenarios: vec!["quota".to_owned(), "uncontended".to_owned()],
            against: None,
            quick: true,
            samples: Some(1),
            sample_ms: Some(150),
            seed: 1,
        }
    }

    #[test]
    fn a_quota_that_cannot_be_had_leaves_its_scenarios_out_with_the_reason() {
        let (cases, left_out) = cases(&options(), &|_| Err(anyhow::anyhow!("no").context("be root"))).expect("names");
        let names: Vec<_> = cases.iter().map(|case| case.scenario.name).collect();
        assert_eq!(names, ["uncontended"]);
        assert_eq!(left_out.len(), 3);
        assert_eq!(left_out[0], LeftOut { scenario: "quota-half".to_owned(), why: "be root: no".to_owned() });
    }

    #[test]
    fn samples_under_a_quota_last_whole_periods() {
        let (cases, _) = cases(&options(), &|_| Ok(())).expect("names");
        let lengths = |sample_ms| {
            let args = Options { sample_ms: Some(sample_ms), ..options() };
            let mut watch = |_: &str, _, _| {};
            let runner = Runner::new(&args, &cases, &mut watch);
            let mut all: Vec<_> = cases.iter().map(|case| runner.plan(case.scenario).duration.as_millis()).collect();
            all.dedup();
            all
        };
        assert_eq!((lengths(150), lengths(410)), (vec![150, 300], vec![410, 500]));
    }
}
