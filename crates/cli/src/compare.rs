//! `turnwise compare`: the same program under several lock policies, interleaved, and what can be said of the difference.

use crate::machine::Machine;
use crate::measure::{End, Outcome, Runner};
use crate::metric::{self, Better, Combine, Metric, Missing};
use crate::policy::{self, Policy};
use crate::preload::{self, Library, Watch};
use crate::program::check_interposable;
use crate::report::{self, CommandInfo, MetricInfo, Report, Run, SCHEMA, Settings};
use crate::target::{SAMPLE_HELP, SAMPLE_METRIC, Target};
use crate::{CHECK_FAILED, Failure, INTERRUPTED, USAGE_OR_IO, table};
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::NamedTempFile;

/// Compare lock policies under a program that nobody rebuilds
///
/// Runs the program again and again, in rounds of one run per policy, in random order within a round. Prints median,
/// spread, and the ratio to the first policy with its 95% bootstrap confidence interval. The verdict is on
/// the first --metric, or on wall time.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = LONG_HELP.as_str())]
pub(crate) struct Args {
    /// Policies to compare, repeated or with commas; the first is the baseline; one alone is compared with libc
    #[arg(long = "lock", value_name = "POLICY", value_delimiter = ',', value_parser = policy::parser(),
          default_values = ["libc", policy::DEFAULT])]
    locks: Vec<&'static Policy>,
    /// Runs per policy
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = parse_runs)]
    runs: u32,
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

static LONG_HELP: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{SAMPLE_HELP}\n\nExamples:\n  turnwise compare\n  turnwise compare -- ./server-benchmark --threads 8\n  \
         turnwise compare --lock libc,adaptive,mcs --metric 'time: ([0-9.]+)' -- kccachetest order -th 4 -rnd 500000\n  \
         turnwise compare --runs 15 --json=result.json --metric 'ops/s: (?<throughput>[0-9.]+)' -- ./bench\n  \
         turnwise compare -- @sample -t 16 -r 0.5"
    )
});

fn parse_runs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(runs) if runs >= 2 => Ok(runs),
        Ok(_) => Err("one run has no spread: at least 2 are needed, and 6 for a verdict".to_owned()),
        Err(error) => Err(error.to_string()),
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
    let policies = policies(&args.locks)?;
    let target = Target::find(&args.command)?;
    let metrics = metrics(args, &target)?;
    let library = library(&policies, &target)?;
    let json = args.json.as_ref().map(|file| Destination::open(file.as_deref())).transpose()?;
    let stop = stop_flag()?;
    let watch = library.as_ref().and_then(Watch::new);
    let runner = Runner { target: &target, library: library.as_ref(), watch, timeout: args.timeout, stop: &stop };
    let session = Session { args, policies, metrics, runner };
    let report = session.measure()?;
    match json {
        Some(Destination::Stdout) => crate::print(&(serde_json::to_string_pretty(&report)? + "\n"))?,
        Some(destination) => {
            destination.write(&report)?;
            crate::print(&table::text(&report))?;
        }
        None => crate::print(&table::text(&report))?,
    }
    Ok(if report.interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

fn policies(named: &[&'static Policy]) -> Result<Vec<&'static Policy>> {
    let mut policies = named.to_vec();
    if let [only] = named {
        if only.name == policy::libc().name {
            bail!("--lock {} alone has nothing to be compared with; name a second policy", only.name);
        }
        policies.insert(0, policy::libc());
    }
    for (index, policy) in policies.iter().enumerate() {
        if policies[..index].iter().any(|earlier| earlier.name == policy.name) {
            bail!("--lock names {} twice; name each policy once", policy.name);
        }
    }
    Ok(policies)
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

fn library(policies: &[&Policy], target: &Target) -> Result<Option<Library>> {
    if policies.iter().all(|policy| policy.setting.is_none()) {
        return Ok(None);
    }
    check_interposable(&target.path)?;
    Library::install().map(Some)
}

/// Set by SIGINT and SIGTERM; a second one ends turnwise at once.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Where the JSON goes; opened before anything is measured.
enum Destination {
    Stdout,
    File(NamedTempFile, PathBuf),
}

impl Destination {
    fn open(file: Option<&Path>) -> Result<Destination> {
        let Some(file) = file else { return Ok(Destination::Stdout) };
        let complaint = || format!("cannot write --json={}", file.display());
        if file.is_dir() {
            bail!("{}: it is a directory; name a file", complaint());
        }
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        let draft = tempfile::Builder::new().permissions(mode).tempfile_in(directory).with_context(complaint)?;
        Ok(Destination::File(draft, file.to_path_buf()))
    }

    fn write(self, report: &Report) -> Result<()> {
        let Destination::File(mut draft, file) = self else { return Ok(()) };
        draft.write_all((serde_json::to_string_pretty(report)? + "\n").as_bytes())?;
        draft.persist(&file).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(())
    }
}

struct Session<'a> {
    args: &'a Args,
    policies: Vec<&'static Policy>,
    metrics: Vec<Metric>,
    runner: Runner<'a>,
}

impl Session<'_> {
    /// Makes all runs, or as many as the user has patience for.
    fn measure(&self) -> Result<Report> {
        let started = SystemTime::now();
        let machine = Machine::look();
        let mut rng = fastrand::Rng::with_seed(self.args.seed);
        let mut runs = Vec::new();
        let bar = self.progress_bar();
        let warmups = (0..self.args.warmup).map(|round| (round, true));
        for (round, warmup) in warmups.chain((0..self.args.runs).map(|round| (round, false))) {
            let mut order = self.policies.clone();
            rng.shuffle(&mut order);
            for (position, policy) in (0..).zip(order) {
                bar.set_message(policy.name);
                let outcome = self.runner.run(policy)?;
                self.show(&bar, policy, &outcome);
                if self.runner.stop.load(Ordering::Relaxed) {
                    bar.finish_and_clear();
                    return self.report(started, machine, runs);
                }
                let place = Place { policy, round, position, warmup };
                runs.push(self.record(&place, outcome)?);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        self.report(started, machine, runs)
    }

    /// On standard error, and only if that is a terminal.
    fn progress_bar(&self) -> ProgressBar {
        let total = u64::from(self.args.runs + self.args.warmup) * self.policies.len() as u64;
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left  {msg}");
        ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    fn show(&self, bar: &ProgressBar, policy: &Policy, outcome: &Outcome) {
        if self.args.show_output {
            bar.suspend(|| eprintln!("--- {}\n{}", policy.name, outcome.output.trim_end()));
        }
    }

    fn record(&self, place: &Place, outcome: Outcome) -> Result<Run> {
        self.check(place, &outcome)?;
        let (mut printed, mut matches) = (BTreeMap::new(), BTreeMap::new());
        for metric in self.metrics.iter().filter(|metric| metric.pattern().is_some()) {
            let found = metric.value(&outcome.usage, &outcome.output);
            let (value, count) = found.map_err(|missing| explain(place, metric, &missing, &outcome.output))?;
            printed.insert(metric.name.clone(), value);
            matches.insert(metric.name.clone(), count);
        }
        let Place { policy, round, position, warmup } = *place;
        let End::Ended(status) = outcome.end else { bail!("a run that was killed cannot be recorded") };
        Ok(Run {
            policy: policy.name,
            round,
            position,
            warmup,
            exit_status: status.code().unwrap_or(-1),
            library_loaded: outcome.library_loaded,
            usage: outcome.usage,
            printed,
            matches,
        })
    }

    /// Whether the run counts: it ended well, and under the policy it was meant to.
    fn check(&self, place: &Place, outcome: &Outcome) -> Result<()> {
        let interposed = place.policy.setting.is_some();
        if let Some(complaint) = preload::complaint(&outcome.output).filter(|_| interposed) {
            bail!("{place}: the loader did not take the preload library, so the locks were libc's:\n  {complaint}");
        }
        if !matches!(outcome.end, End::Ended(status) if status.success()) {
            return Err(self.failure(place, outcome));
        }
        if outcome.library_loaded == Some(false) {
            bail!(
                "{place}: the program never loaded the preload library, so the locks were libc's; does it clear LD_PRELOAD?"
            );
        }
        Ok(())
    }

    fn failure(&self, place: &Place, outcome: &Outcome) -> anyhow::Error {
        let what = outcome.end.describe(self.args.timeout);
        let output = excerpt("last", outcome.output.lines().rev().take(10).collect::<Vec<_>>().into_iter().rev());
        let shown = self.runner.target.shown();
        if place.policy.setting.is_none() {
            let advice = format!("try it by itself: {shown}");
            return Failure::new(USAGE_OR_IO, format!("{place}: the program {what}\n{output}\n{advice}"));
        }
        let advice = format!(
            "if it ends well by itself ({shown}), the locks broke it: please report it; --lock leaves policies out"
        );
        Failure::new(CHECK_FAILED, format!("{place}: the program {what}\n{output}\n{advice}"))
    }

    fn report(&self, started: SystemTime, machine: Machine, runs: Vec<Run>) -> Result<Report> {
        let interrupted = self.runner.stop.load(Ordering::Relaxed);
        let settings = Settings {
            policies: self.policies.iter().map(|policy| policy.name).collect(),
            runs: self.args.runs,
            warmup: self.args.warmup,
            seed: self.args.seed,
            timeout_s: self.args.timeout.as_secs_f64(),
        };
        let rounds = report::complete_rounds(&runs, self.policies.len()).len();
        if rounds == 0 {
            return Err(Failure::new(
                INTERRUPTED,
                "interrupted before one round was complete; nothing to report".into(),
            ));
        }
        let summaries = report::summarise(&self.metrics, &settings, &runs);
        let verdicts = report::judge(&self.metrics[0], settings.policies[0], &summaries);
        let target = self.runner.target;
        Ok(Report {
            schema: SCHEMA,
            turnwise_version: env!("CARGO_PKG_VERSION"),
            started_unix_s: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            command: CommandInfo {
                arguments: target.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
                path: target.path.to_string_lossy().into_owned(),
                is_sample: target.is_sample,
            },
            notes: self.notes(&machine, &runs, rounds, interrupted),
            machine,
            metrics: self
                .metrics
                .iter()
                .enumerate()
                .map(|(index, metric)| MetricInfo::new(metric, index == 0))
                .collect(),
            settings,
            summaries,
            verdicts,
            runs,
            interrupted,
        })
    }

    fn notes(&self, machine: &Machine, runs: &[Run], rounds: usize, interrupted: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if interrupted {
            notes.push(format!("interrupted: {rounds} of {} rounds are complete, only these count", self.args.runs));
        }
        if machine.load_1min > machine.cpus as f64 / 2.0 {
            notes.push(format!("other programs were running at the start (load {:.1})", machine.load_1min));
        }
        for metric in &self.metrics {
            let mut counts = runs.iter().filter_map(|run| run.matches.get(&metric.name));
            let Some((_, combine)) = metric.pattern() else { continue };
            let Some(first) = counts.next() else { continue };
            if counts.any(|count| count != first) {
                notes.push(format!("{} does not match equally often in all runs ({combine:?})", metric.name));
            } else if *first > 1 {
                notes.push(format!("{} is the {combine:?} of {first} matches in each run", metric.name).to_lowercase());
            }
        }
        notes
    }
}

/// Which run.
struct Place {
    policy: &'static Policy,
    round: u32,
    position: u32,
    warmup: bool,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.warmup { "warm-up" } else { "run" };
        write!(f, "under {}, {kind} {}", self.policy.name, self.round + 1)
    }
}

fn explain(place: &Place, metric: &Metric, missing: &Missing, output: &str) -> anyhow::Error {
    let pattern = metric.pattern().map_or(metric.name.as_str(), |(pattern, _)| pattern);
    let what = match missing {
        Missing::NoMatch => "matches nothing that the program printed".to_owned(),
        Missing::NotANumber(text) => format!("caught {text:?}, which is no number; use a group such as ([0-9.]+)"),
    };
    anyhow::anyhow!("{place}: --metric {pattern:?} {what}\n{}", excerpt("first", output.lines().take(10)))
}

fn excerpt<'a>(which: &str, lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<_> = lines.map(|line| format!("  {line}")).collect();
    if lines.is_empty() { "it printed nothing".to_owned() } else { format!("its {which} lines:\n{}", lines.join("\n")) }
}
