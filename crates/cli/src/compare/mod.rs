//! `turnwise compare`: the same program under several lock policies, interleaved, and the conclusions.

mod advise;
mod args;
mod looks;
mod next;
mod notes;
mod pairs;
mod report;
mod runs;
mod session;
mod settings;
mod stats;
mod table;
mod verdict;

pub(crate) use args::{Args, parse_time};
pub(crate) use pairs::{PairsReport, Round};

use crate::measure::{Bounds, Runner};
use crate::metric::{self, Better, Combine, Metric};
use crate::preload::run_probe::RunProbe;
use crate::preload::{Library, Watch};
use crate::profile;
use crate::stop;
use crate::target::{SAMPLE_METRIC, Target};
use crate::variant::Variant;
use anyhow::{Context, Result, bail};
use report::Report;
use serde_json::json;
use session::Session;
use settings::Settings;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use turnwise_preload_abi::Policy;
use turnwise_present::ending::{INTERRUPTED, print};
use turnwise_present::json;
use turnwise_present::output_file::OutputFile;
use turnwise_profile::advice::{self, Advice, advise};
use turnwise_profile::model::Profile;

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.advise && !args.arms.is_empty() {
        bail!("--advise compares only libc with what the profile advises; leave out --advise or --arm");
    }
    let policies = policies(&args.locks, !(args.files.is_empty() && args.arms.is_empty()))?;
    let target = Target::find(&args.command)?;
    let metrics = metrics(args, &target)?;
    if args.advise {
        return advised(args, &target, metrics);
    }
    let mut variants: Vec<Variant> = policies.into_iter().map(Variant::policy).collect();
    for path in &args.files {
        variants.push(variant(path, &variants, &target)?);
    }
    for arm in &args.arms {
        if variants.iter().any(|other| other.name == arm.name) {
            bail!("--arm '{}': this name is taken; give each arm a name of its own", arm.name);
        }
        variants.push(Variant::arm(arm)?);
    }
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let stop = stop::flag(true)?;
    let next = next::of_variants(&variants, &target);
    let report = compare(args, variants, &target, metrics, &stop)?;
    finish(&report, json, &next::text(&report, &next, &target))
}

fn finish(report: &Report, json: Option<OutputFile>, conclusion: &str) -> Result<ExitCode> {
    json::publish(report, &(table::text(report) + conclusion), json)?;
    Ok(if report.interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Profiles, tries the profile's advice, and reports which of it was proved.
fn advised(args: &Args, target: &Target, metrics: Vec<Metric>) -> Result<ExitCode> {
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let stop = stop::flag(true)?;
    let is_for_people = !json.as_ref().is_some_and(OutputFile::is_stdout);
    let (profile, advice) = profiled(args, target, &Bounds { timeout: args.timeout, stop: &stop })?;
    if is_for_people {
        print(&(advice::text(&advice, &profile) + "\n"))?;
    }
    let (variants, trials) = advise::variants(&advice, &profile, target)?;
    let mut report = match trials.as_slice() {
        [] => Report::without_runs(&settings(args, &variants), target, &metrics),
        _ => compare(args, variants, target, metrics, &stop)?,
    };
    let conclusion = advise::conclusion(&advice, &trials, &report, target) + &next::after_advice(&report, target);
    report.advice = Some(advise::results(&advice, &trials, &report, &profile));
    if trials.is_empty() && is_for_people {
        return json::publish(&report, &conclusion, json).map(|()| ExitCode::SUCCESS);
    }
    finish(&report, json, &format!("\n{conclusion}"))
}

/// The runs that are profiled before reporting that there is nothing to try: one in six runs of some programs does not
/// contend.
const PROFILED: u32 = 3;

/// Returns the profile of the first run with something to try, or otherwise of the one that waited most.
fn profiled(args: &Args, target: &Target, bounds: &Bounds) -> Result<(Profile, Advice)> {
    let waited = |profile: &Profile| profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum::<u64>();
    let mut most: Option<(Profile, Advice)> = None;
    for _ in 0..PROFILED {
        let profile = profile::of_one_run(target, bounds, args.any_status, |output| {
            if args.show_output {
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

/// Returns the profile's memory to the system: each measured run begins as a copy of this process, and its peak memory
/// would be ours.
fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers are involved.
    unsafe {
        libc::malloc_trim(0)
    };
}

fn settings(args: &Args, variants: &[Variant]) -> Settings {
    let arm = |variant: &Variant| {
        let lock = variant.lock().map(Policy::name);
        json!({ "name": variant.name, "lock": lock, "prefix": variant.prefix() })
    };
    let looks = args.runs.map_or_else(|| looks::looks(args.max_runs), |runs| vec![runs]);
    Settings {
        policies: variants.iter().map(|variant| variant.name.clone()).collect(),
        arms: variants.iter().map(arm).collect(),
        runs: looks.last().copied().unwrap_or_default(),
        confidence: looks::confidence(looks.len()),
        looks,
        max_time_s: args.runs.is_none().then_some(args.max_time.as_secs_f64()),
        margin: args.margin / 100.0,
        warmup: args.warmup,
        seed: args.seed,
        timeout_s: args.timeout.as_secs_f64(),
        any_status: args.any_status,
        unit: "runs",
    }
}

/// Compares contenders under a program, until `stop`; the first is the baseline, and the first metric decides.
fn compare(
    args: &Args,
    variants: Vec<Variant>,
    target: &Target,
    metrics: Vec<Metric>,
    stop: &AtomicBool,
) -> Result<Report> {
    let library = Library::needed(&variants, target)?;
    let watch = library.as_ref().and_then(Watch::new);
    let probe = library.as_ref().and_then(|library| RunProbe::new(&library.path));
    let runner = Runner { target, library: library.as_ref(), watch, probe, timeout: args.timeout, stop };
    let settings = settings(args, &variants);
    Session { settings, variants, metrics, runner, show_output: args.show_output }.measure()
}

fn policies(named: &[Policy], with_files: bool) -> Result<Vec<Policy>> {
    let mut policies = named.to_vec();
    if let ([only], false) = (named, with_files) {
        if *only == Policy::Libc {
            bail!("--lock {} alone has no baseline to compare with; name a second policy", only);
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

/// Reads a policy file, which must have another name than the contenders so far.
fn variant(path: &Path, others: &[Variant], target: &Target) -> Result<Variant> {
    let variant = Variant::read(path, None, target)?;
    if others.iter().any(|other| other.name == variant.name) {
        bail!("{} is there twice; to compare with a policy of that name, write ./{}", variant.name, variant.name);
    }
    Ok(variant)
}

/// Returns the metrics; the one that decides comes first.
fn metrics(args: &Args, target: &Target) -> Result<Vec<Metric>> {
    let shown = match (args.higher_is_better, args.lower_is_better) {
        (true, _) => Some(Better::Higher),
        (_, true) => Some(Better::Lower),
        _ => None,
    };
    let mut metrics: Vec<Metric> = Vec::new();
    for pattern in &args.metrics {
        let metric = Metric::printed(pattern, args.metric_combine, shown)?;
        if metrics.iter().any(|earlier| earlier.name == metric.name) {
            bail!("two metrics are called {}; name them apart with (?<name>…)", metric.name);
        }
        metrics.push(metric);
    }
    if metrics.is_empty() && shown.is_some() {
        bail!("--higher-is-better and --lower-is-better are about --metric; name one");
    }
    if metrics.is_empty() && target.is_sample {
        metrics.push(Metric::printed(SAMPLE_METRIC, Combine::Sum, None)?);
    }
    metrics.extend(metric::charged());
    Ok(metrics)
}
