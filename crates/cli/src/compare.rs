//! `turnwise compare`: the same program under several lock policies, interleaved, and what can be said of it.

use crate::arm::Arm;
use crate::contender::Contender;
use crate::json::Destination;
use crate::measure::{Bounds, Runner};
use crate::metric::{self, Better, Combine, Metric};
use crate::policy;
use crate::policy_file::PolicyFile;
use crate::preload::{Library, Watch};
use crate::program::check_interposable;
use crate::report::{ArmInfo, Report, Settings};
use crate::session::Session;
use crate::signs::Signs;
use crate::target::{SAMPLE_HELP, SAMPLE_METRIC, Target};
use crate::{advise, looks, profile, table};
use anyhow::{Context, Result, anyhow, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use turnwise_preload_abi::Policy;
use turnwise_present::ending::INTERRUPTED;
use turnwise_present::ending::print;
use turnwise_profile::advice::{self, Advice, advise};
use turnwise_profile::model::Profile;

/// Compare lock policies under a program that nobody rebuilds
///
/// Runs the program again and again, in rounds of one run per policy, in random order within a round, until it can tell
/// the policies apart, or gives up. Prints median, spread, and the ratio to the first policy with its 95% bootstrap
/// confidence interval. The verdict is on the first --metric, or on wall time.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = LONG_HELP.as_str())]
pub(crate) struct Args {
    /// Policies to compare, repeated or with commas; the first is the baseline; one alone is compared with libc
    #[arg(long = "lock", value_name = "POLICY", value_delimiter = ',', value_parser = policy::parser(),
          default_values = [Policy::Libc.name(), policy::DEFAULT.name()])]
    locks: Vec<Policy>,
    /// A policy file to compare, too (docs/policy-files.md); repeat it for several
    #[arg(long = "policy", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The program once more, behind a command, with POLICY (libc unless told); repeat it for several
    ///
    /// Words are split as a shell would. The command must start what follows it, as taskset, numactl, env and
    /// `turnwise profile --` do. 'again:' alone is libc a second time: what differs then is chance.
    #[arg(long = "arm", value_name = "NAME: [--lock POLICY] [COMMAND ...]", value_parser = Arm::parse)]
    arms: Vec<Arm>,
    /// Profile the program first, and compare libc with what the profile advises
    #[arg(long, conflicts_with_all = ["locks", "files"])]
    advise: bool,
    /// Runs per policy, neither more nor fewer; without it, as many as the verdict needs
    ///
    /// Without it, the interval is looked at after 8, 12, 18, 27 and 40 runs of each, and allows for so many looks. It
    /// ends once every policy is told from the first, or is no more than --margin away, or at --max-runs or --max-time.
    #[arg(long, value_name = "N", value_parser = parse_runs, conflicts_with_all = ["max_runs", "max_time"])]
    runs: Option<u32>,
    /// Runs per policy at most, while there is no verdict
    #[arg(long, value_name = "N", default_value_t = looks::MOST, value_parser = parse_max_runs)]
    max_runs: u32,
    /// Seconds at most, while there is no verdict; 8 runs per policy are made however long they take
    #[arg(long, value_name = "S", default_value = "600", value_parser = parse_timeout)]
    max_time: Duration,
    /// A difference that does not matter, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_margin)]
    margin: f64,
    /// Runs per policy before those that count
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: u32,
    /// Figure in the program's output: its first group is the number; a named group names it
    #[arg(long = "metric", value_name = "REGEX")]
    metrics: Vec<String>,
    /// If a metric matches several times in a run
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Combine::Sum)]
    metric_combine: Combine,
    /// Higher is better for all --metric (assumed, unless the pattern speaks of time)
    #[arg(long, conflicts_with = "lower_is_better")]
    higher_is_better: bool,
    /// Lower is better for all --metric (assumed if the pattern speaks of time)
    #[arg(long)]
    lower_is_better: bool,
    /// Kill a run that takes longer, seconds
    #[arg(long, value_name = "S", default_value = "300", value_parser = parse_timeout)]
    timeout: Duration,
    /// Take a run for good whatever its exit status; else only 0 is
    #[arg(long)]
    any_status: bool,
    /// Print everything as one JSON document instead, or write it to FILE as well
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    json: Option<Option<PathBuf>>,
    /// Show what the program prints, on standard error
    #[arg(long)]
    show_output: bool,
    /// Seed of the order of runs and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The program and its arguments; it gets no input
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

static LONG_HELP: LazyLock<String> = LazyLock::new(|| format!("{SAMPLE_HELP}\n\n{EXAMPLES}"));

const EXAMPLES: &str = "\
Examples:
  turnwise compare
  turnwise compare -- ./server-benchmark --threads 8
  turnwise compare --metric 'time: ([0-9.]+)' -- kccachetest order -th 4 -rnd 500000
  turnwise compare --lock libc,adaptive,queued --runs 15 --json=result.json -- ./bench
  turnwise compare --advise -- ./server-benchmark
  turnwise compare --max-runs 100 --max-time 3600 --margin 2 -- ./bench
  turnwise compare --policy server.toml -- ./server-benchmark
  turnwise compare --arm 'one CPU: taskset -c 0' --arm 'ours, one CPU: --lock adaptive taskset -c 0' -- ./bench
  turnwise compare --arm 'other: env LD_PRELOAD=/usr/lib/libother.so' -- ./bench
  turnwise compare --metric 'ops/s: (?<throughput>[0-9.]+)' -- ./bench
  turnwise compare -- @sample -t 16 -r 0.5";

fn parse_runs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(runs) if runs >= 2 => Ok(runs),
        Ok(1) => Err("one run has no spread: at least 2 are needed, and 6 for a verdict".to_owned()),
        _ => Err("a whole number is expected, 2 or more; 6 are needed for a verdict".to_owned()),
    }
}

fn parse_max_runs(text: &str) -> Result<u32, String> {
    let first = looks::FIRST;
    match text.parse() {
        Ok(runs) if runs >= first => Ok(runs),
        Ok(_) => Err(format!("the first look is after {first} runs; for fewer, use --runs")),
        Err(_) => Err(format!("a whole number is expected, {first} or more")),
    }
}

fn parse_margin(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).parse() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err("a number of percent is expected, above 0 and up to 100".to_owned()),
    }
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() => Ok(timeout),
        _ => Err("not a time above zero".to_owned()),
    }
}

/// Compares.
///
/// # Errors
/// Bad usage, a program that cannot be interposed or that fails, a metric that is not there.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.advise && !args.arms.is_empty() {
        bail!("--advise compares libc with what the profile advises, and nothing else; leave out --advise or --arm");
    }
    let policies = policies(&args.locks, !(args.files.is_empty() && args.arms.is_empty()))?;
    let target = Target::find(&args.command).map_err(|error| match (&args.json, args.command.first()) {
        (Some(None), Some(first)) => {
            anyhow!("{error:#}; if it is the file for the JSON, type --json={}", first.display())
        }
        _ => error,
    })?;
    let metrics = metrics(args, &target)?;
    if args.advise {
        return advised(args, &target, metrics);
    }
    let mut contenders: Vec<Contender> = policies.into_iter().map(Contender::policy).collect();
    for path in &args.files {
        contenders.push(contender(path, &contenders, &target)?);
    }
    for arm in &args.arms {
        if contenders.iter().any(|other| other.name == arm.name) {
            bail!("--arm '{}': something else is called so, too; give each arm a name of its own", arm.name);
        }
        contenders.push(Contender::arm(arm)?);
    }
    let json = args.json.as_ref().map(|file| Destination::open(file.as_deref())).transpose()?;
    let report = compare(contenders, &target, metrics, &How::of(args))?;
    finish(&report, json, "")
}

/// Shows a report, and what is to be said after it.
fn finish(report: &Report, json: Option<Destination>, conclusion: &str) -> Result<ExitCode> {
    if !matches!(json, Some(Destination::Stdout)) {
        print(&(table::text(report) + conclusion))?;
    }
    if let Some(destination) = json {
        destination.write(report)?;
    }
    Ok(if report.interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Profiles, tries what the profile advises, and says what of it was proved.
fn advised(args: &Args, target: &Target, metrics: Vec<Metric>) -> Result<ExitCode> {
    let (json, how, stop) =
        (args.json.as_ref().map(|file| Destination::open(file.as_deref())).transpose()?, How::of(args), stop_flag()?);
    let is_for_people = !matches!(json, Some(Destination::Stdout));
    let bounds = Bounds { timeout: how.timeout, stop: &stop };
    let (profile, advice) = profiled(target, &bounds, &how)?;
    if is_for_people {
        print(&(advice::text(&advice, &profile) + "\n"))?;
    }
    let (contenders, trials) = advise::contenders(&advice, &profile, target)?;
    let settings = how.settings(&contenders);
    let mut report = match trials.as_slice() {
        [] => Report::without_runs(&settings, target, &metrics),
        _ => compare_until(contenders, target, metrics, &how, &stop)?,
    };
    let conclusion = advise::conclusion(&advice, &trials, &report, target);
    report.advice = Some(advise::results(&advice, &trials, &report, &profile));
    if trials.is_empty() && is_for_people {
        print(&conclusion)?;
        return json.map_or(Ok(()), |file| file.write(&report)).map(|()| ExitCode::SUCCESS);
    }
    finish(&report, json, &format!("\n{conclusion}"))
}

/// Runs that are profiled before it is said that there is nothing to try: one run in six of some programs does not
/// contend.
pub(crate) const PROFILED: u32 = 3;

/// The profile of the first run in which there is something to try, or else of the one that waited most.
fn profiled(target: &Target, bounds: &Bounds, how: &How) -> Result<(Profile, Advice)> {
    let waited = |profile: &Profile| profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum::<u64>();
    let mut most: Option<(Profile, Advice)> = None;
    for _ in 0..PROFILED {
        let profile = profile::of_one_run(target, bounds, how.any_status, |output| {
            if how.show_output {
                eprintln!("--- profiled\n{}", output.trim_end());
            }
        })?;
        let advice = advise(&profile);
        let is_to_be_tried = advice.findings.iter().any(|finding| finding.experiment.is_some());
        if is_to_be_tried || most.as_ref().is_none_or(|(known, _)| waited(&profile) > waited(known)) {
            most = Some((profile, advice));
        }
        if is_to_be_tried {
            break;
        }
    }
    give_back_memory();
    most.context("no run was profiled")
}

/// What the profile needed goes back to the system: each measured run begins as a copy of this process, and its largest
/// memory would be ours.
fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers are involved.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// How to compare.
pub(crate) struct How {
    /// Runs of each contender after which to look whether that is enough.
    pub(crate) looks: Vec<u32>,
    /// For how long to go on after the first look; `None`: the number of runs is fixed.
    pub(crate) max_time: Option<Duration>,
    /// A difference that does not matter, as a share.
    pub(crate) margin: f64,
    /// Runs of each before those that count.
    pub(crate) warmup: u32,
    /// Of the order of runs and of the bootstrap.
    pub(crate) seed: u64,
    /// Of one run.
    pub(crate) timeout: Duration,
    /// Whether a run counts whatever its exit status.
    pub(crate) any_status: bool,
    /// Whether to show what the program prints.
    pub(crate) show_output: bool,
}

impl How {
    fn of(args: &Args) -> How {
        How {
            looks: args.runs.map_or_else(|| looks::looks(args.max_runs), |runs| vec![runs]),
            max_time: args.runs.is_none().then_some(args.max_time),
            margin: args.margin / 100.0,
            warmup: args.warmup,
            seed: args.seed,
            timeout: args.timeout,
            any_status: args.any_status,
            show_output: args.show_output,
        }
    }

    fn settings(&self, contenders: &[Contender]) -> Settings {
        Settings {
            policies: contenders.iter().map(|contender| contender.name.clone()).collect(),
            arms: contenders.iter().map(ArmInfo::new).collect(),
            runs: self.looks.last().copied().unwrap_or_default(),
            looks: self.looks.clone(),
            confidence: looks::confidence(self.looks.len()),
            max_time_s: self.max_time.map(|time| time.as_secs_f64()),
            margin: self.margin,
            warmup: self.warmup,
            seed: self.seed,
            timeout_s: self.timeout.as_secs_f64(),
            any_status: self.any_status,
        }
    }
}

/// Compares contenders under a program; the first is the baseline, and the first metric decides.
///
/// # Errors
/// The program cannot be interposed, or fails, or does not print a metric.
pub(crate) fn compare(contenders: Vec<Contender>, target: &Target, metrics: Vec<Metric>, how: &How) -> Result<Report> {
    let stop = stop_flag()?;
    compare_until(contenders, target, metrics, how, &stop)
}

/// The same; `stop` ends it early.
fn compare_until(
    contenders: Vec<Contender>,
    target: &Target,
    metrics: Vec<Metric>,
    how: &How,
    stop: &AtomicBool,
) -> Result<Report> {
    let library = library(&contenders, target)?;
    let watch = library.as_ref().and_then(Watch::new);
    let signs = library.as_ref().and_then(|library| Signs::new(library.path()));
    let runner = Runner { target, library: library.as_ref(), watch, signs, timeout: how.timeout, stop };
    let settings = how.settings(&contenders);
    Session { settings, contenders, metrics, runner, show_output: how.show_output }.measure()
}

fn policies(named: &[Policy], with_files: bool) -> Result<Vec<Policy>> {
    let mut policies = named.to_vec();
    if let ([only], false) = (named, with_files) {
        if *only == Policy::Libc {
            bail!("--lock {} alone has nothing to be compared with; name a second policy", only);
        }
        policies.insert(0, Policy::Libc);
    }
    for (index, policy) in policies.iter().enumerate() {
        if policies[..index].contains(policy) {
            bail!("--lock names {} twice; name each policy once", policy);
        }
    }
    Ok(policies)
}

/// A policy file; what looks wrong in it goes to standard error.
fn contender(path: &Path, others: &[Contender], target: &Target) -> Result<Contender> {
    let file = PolicyFile::read(path)?;
    if others.iter().any(|other| other.name == file.origin) {
        bail!("{} is there twice; to compare with a policy of that name, write ./{}", file.origin, file.origin);
    }
    let (contender, warnings) = Contender::file(&file, target)?;
    if !warnings.is_empty() {
        eprintln!("{warnings}");
    }
    Ok(contender)
}

/// The metric that decides comes first.
fn metrics(args: &Args, target: &Target) -> Result<Vec<Metric>> {
    let told = match (args.higher_is_better, args.lower_is_better) {
        (true, _) => Some(Better::Higher),
        (_, true) => Some(Better::Lower),
        _ => None,
    };
    let mut metrics: Vec<Metric> = Vec::new();
    for pattern in &args.metrics {
        let metric = Metric::printed(pattern, args.metric_combine, told)?;
        if metrics.iter().any(|earlier| earlier.name == metric.name) {
            bail!("two metrics are called {}; name them apart with (?<name>…)", metric.name);
        }
        metrics.push(metric);
    }
    if metrics.is_empty() && told.is_some() {
        bail!("--higher-is-better and --lower-is-better are about --metric; name one");
    }
    if metrics.is_empty() && target.is_sample {
        metrics.push(Metric::printed(SAMPLE_METRIC, Combine::Sum, None)?);
    }
    metrics.extend(metric::charged());
    Ok(metrics)
}

fn library(contenders: &[Contender], target: &Target) -> Result<Option<Library>> {
    if !contenders.iter().any(Contender::is_interposed) {
        return Ok(None);
    }
    check_interposable(&target.path)?;
    Library::install().map(Some)
}

/// Set by SIGINT, SIGTERM and SIGHUP; a second one ends turnwise at once.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
