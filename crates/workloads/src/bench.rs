//! The command `bench`: every lock in every scenario, in interleaved rounds.

use crate::locks::{LOCKS, LockInfo};
use crate::machine::{self, Machine};
use crate::report::{Method, Report, Samples, ScenarioReport};
use crate::run::{Plan, Section};
use crate::scenario::{Group, SCENARIOS, Scenario};
use crate::text::{self, Style};
use crate::work::cost_ns;
use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// A lock whose threads need longer than this to stop is not asked again in that scenario.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// The same in a quick run.
const DRAIN_MAX_QUICK: Duration = Duration::from_millis(500);

/// Compare mutexes on this machine.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Locks to run; default: ours and the peers that each scenario is about
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',', value_parser = lock_names())]
    pub lock: Vec<String>,
    /// Scenarios or groups of scenarios to run
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',', value_parser = scenario_names(),
        default_value = "mutex")]
    pub scenario: Vec<String>,
    /// Compare speeds with this lock, and run it, too; default: the fastest peer that sleeps
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LOCKS.iter().map(|l| l.name)))]
    pub against: Option<String>,
    /// Fewer and shorter samples: all default scenarios within a minute
    #[arg(long)]
    pub quick: bool,
    /// Samples of each lock in each scenario; default: 7, quick: 5
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub samples: Option<u32>,
    /// Length of a sample in milliseconds; default: 150, quick: 60
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub sample_ms: Option<u32>,
    /// Seed of the order of locks within the rounds
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write the report as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the report as Markdown, too
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// List the locks and scenarios, and run nothing
    #[arg(long)]
    pub list: bool,
}

impl Method {
    /// Rounds of both passes; nobody waits alone, so there is nothing to time then.
    fn rounds(&self, scenario: &Scenario) -> u32 {
        self.samples + if scenario.contended() { self.timed_samples } else { 0 }
    }
}

fn lock_names() -> PossibleValuesParser {
    let all = PossibleValue::new("all").help("every lock");
    LOCKS.iter().map(|l| PossibleValue::new(l.name).help(l.help)).chain([all]).collect::<Vec<_>>().into()
}

fn scenario_names() -> PossibleValuesParser {
    let groups = [
        PossibleValue::new(Group::Mutex.name()).help("all scenarios that compare mutexes"),
        PossibleValue::new(Group::OnCpu.name()).help("all scenarios that show what the on_cpu layer brings"),
        PossibleValue::new("all").help("everything"),
    ];
    SCENARIOS.iter().map(|s| PossibleValue::new(s.name).help(s.help)).chain(groups).collect::<Vec<_>>().into()
}

impl BenchArgs {
    fn method(&self) -> Method {
        let (samples, sample_ms) = if self.quick { (5, 60) } else { (7, 150) };
        let samples = self.samples.unwrap_or(samples);
        Method {
            samples,
            timed_samples: if self.quick { samples.min(2) } else { samples },
            sample_ms: self.sample_ms.unwrap_or(sample_ms),
            seed: self.seed,
        }
    }

    fn scenarios(&self) -> Vec<&'static Scenario> {
        let asked = |s: &&Scenario| self.scenario.iter().any(|n| n == s.name || n == s.group.name() || n == "all");
        SCENARIOS.iter().filter(asked).collect()
    }

    fn locks(&self, scenario: &Scenario) -> Vec<&'static LockInfo> {
        let default: Vec<String> = scenario.group.locks().iter().map(|&name| name.to_owned()).collect();
        let names = if self.lock.is_empty() { &default } else { &self.lock };
        let asked = |l: &&LockInfo| names.iter().chain(&self.against).any(|n| n == l.name || n == "all");
        LOCKS.iter().filter(asked).collect()
    }
}

/// Runs the benchmark and prints the report.
///
/// # Errors
/// When a file cannot be written (found out before anything is measured), when threads cannot be started, and when a
/// lock lets two threads in at once.
pub fn run(args: BenchArgs) -> Result<ExitCode> {
    if args.list {
        print!("{}", list());
        return Ok(ExitCode::SUCCESS);
    }
    for path in args.json.iter().chain(&args.markdown) {
        writable(path)?;
    }
    let report = measure(&args)?;
    print!("{}", text::render(&report, Style::Plain));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&report).context("the report has no JSON form")?;
        fs::write(path, json + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.markdown {
        let text = text::render(&report, Style::Markdown);
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Leaves what is there as it is, for the case that the run does not end.
fn writable(path: &Path) -> Result<()> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.map(drop).with_context(|| format!("cannot write {}: name a file in a folder that exists", path.display()))
}

fn list() -> String {
    let locks = LOCKS.iter().map(|l| format!("  {:<18} {}\n", l.name, l.help));
    let scenarios = SCENARIOS.iter().map(|s| format!("  {:<18} {:<8} {}\n", s.name, s.group.name(), s.help));
    format!("locks\n{}\nscenarios (name, group)\n{}", locks.collect::<String>(), scenarios.collect::<String>())
}

/// Measures, and prints nothing but a progress bar.
///
/// # Errors
/// As [`run`].
pub fn measure(args: &BenchArgs) -> Result<Report> {
    let machine = Machine::here();
    let mut runner = Runner::new(args)?;
    let mut scenarios = Vec::new();
    for scenario in args.scenarios() {
        let mut report =
            runner.scenario(scenario, &args.locks(scenario)).with_context(|| format!("scenario {}", scenario.name))?;
        report.compare(args.against.as_deref().or(scenario.group.reference()));
        scenarios.push(report);
    }
    runner.bar.finish_and_clear();
    Ok(Report {
        format: "turnwise-bench/1".to_owned(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        commit: machine::commit(),
        machine,
        method: runner.method,
        scenarios,
    })
}

/// What the scenarios of a run share.
struct Runner {
    method: Method,
    drain_max: Duration,
    rng: fastrand::Rng,
    bar: ProgressBar,
}

impl Runner {
    fn new(args: &BenchArgs) -> Result<Runner> {
        let method = args.method();
        let samples = |s: &Scenario| u64::from(method.rounds(s)) * args.locks(s).len() as u64;
        let bar = ProgressBar::new(args.scenarios().into_iter().map(samples).sum());
        bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} samples, {eta} left: {msg}")?);
        let drain_max = if args.quick { DRAIN_MAX_QUICK } else { DRAIN_MAX };
        Ok(Runner { rng: fastrand::Rng::with_seed(method.seed), method, drain_max, bar })
    }

    fn plan(&self, scenario: &Scenario) -> Plan {
        let duration = Duration::from_millis(self.method.sample_ms.into());
        let warm_up = (duration / 10).min(Duration::from_millis(20));
        Plan { threads: scenario.threads, section: scenario.section(), warm_up, duration, timed: false }
    }

    fn scenario(&mut self, scenario: &Scenario, locks: &[&'static LockInfo]) -> Result<ScenarioReport> {
        let plan = self.plan(scenario);
        let (inside_ns, outside_ns) = match plan.section {
            Section::Work { inside, outside } => (Some(cost_ns(inside)), Some(cost_ns(outside))),
            _ => (None, None),
        };
        let mut samples: Vec<Samples> = locks.iter().map(|&lock| Samples::none(lock)).collect();
        for round in 0..self.method.rounds(scenario) {
            self.round(scenario, &Plan { timed: round >= self.method.samples, ..plan }, &mut samples)?;
        }
        Ok(ScenarioReport {
            name: scenario.name.to_owned(),
            help: scenario.help.to_owned(),
            threads: scenario.threads,
            inside_ns,
            outside_ns,
            reference: None,
            locks: samples.iter().map(|s| s.report(self.method.samples)).collect(),
        })
    }

    /// One sample of every lock, in random order.
    fn round(&mut self, scenario: &Scenario, plan: &Plan, samples: &mut [Samples]) -> Result<()> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        self.rng.shuffle(&mut order);
        for index in order {
            let samples = &mut samples[index];
            let name = samples.lock.name;
            self.bar.set_message(format!("{} {name}", scenario.name));
            if samples.gave_up.is_none() {
                let outcome = (samples.lock.sample)(plan).with_context(|| format!("lock {name}"))?;
                samples.add(outcome, plan, self.drain_max);
            }
            self.bar.inc(1);
        }
        Ok(())
    }
}
