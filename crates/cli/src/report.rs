//! The result of a comparison: every run, the summaries, the verdicts. `compare --json` prints it as it is; its
//! fields are described in `crates/cli/README.md`.

use crate::advise::Advised;
use crate::contender::Contender;
use crate::machine::Machine;
use crate::measure::Usage;
use crate::metric::{Better, Combine, Metric, Unit};
use crate::notes::notes;
use crate::stats::{Ratio, Summary, ratio_of_medians};
use crate::target::Target;
use crate::verdict::{Verdict, judge};
use fastrand::Rng;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_preload_abi::Policy;
use turnwise_present::ending::{Failure, INTERRUPTED};
use turnwise_present::others::Others;

/// Raised when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// Everything about one comparison.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) turnwise_version: &'static str,
    /// Seconds since 1970.
    pub(crate) started_unix_s: u64,
    pub(crate) command: CommandInfo,
    pub(crate) machine: Machine,
    /// What others took of the CPUs during the runs; `null`: the system does not tell.
    pub(crate) others: Option<Others>,
    pub(crate) settings: Settings,
    pub(crate) metrics: Vec<MetricInfo>,
    pub(crate) runs: Vec<Run>,
    pub(crate) summaries: Vec<Row>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) notes: Vec<String>,
    /// Whether the user stopped it early.
    pub(crate) interrupted: bool,
    /// With `--advise`: what a profile advised, and what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<Advised>,
}

/// When and where runs were made.
pub(crate) struct Circumstances {
    pub(crate) started: SystemTime,
    pub(crate) machine: Machine,
    pub(crate) others: Option<Others>,
    pub(crate) interrupted: bool,
    /// Whether the time for it was over before the verdict was there.
    pub(crate) out_of_time: bool,
}

impl Report {
    /// Works out what the runs say.
    ///
    /// # Errors
    /// There is no complete round.
    pub(crate) fn new(
        circumstances: Circumstances,
        settings: &Settings,
        target: &Target,
        metrics: &[Metric],
        runs: Vec<Run>,
    ) -> anyhow::Result<Report> {
        let rounds = complete_rounds(&runs, settings.policies.len()).len();
        if rounds == 0 {
            let message = "interrupted before one round was complete; there is nothing to report";
            return Err(Failure::error(INTERRUPTED, message.to_owned()));
        }
        let summaries = summarise(metrics, settings, &runs);
        let mut notes = notes(metrics, circumstances.others, &settings.policies, &runs);
        if circumstances.interrupted {
            let most = if settings.max_time_s.is_some() { "at most " } else { "" };
            notes.insert(0, format!("interrupted: only the {rounds} complete rounds of {most}{} count", settings.runs));
        }
        if circumstances.out_of_time {
            notes.insert(0, format!("--max-time ended it after {rounds} rounds of at most {}", settings.runs));
        }
        let verdicts = judge(&metrics[0], settings, &summaries);
        let empty = Report::empty(circumstances, settings, target, metrics);
        Ok(Report { runs, summaries, verdicts, notes, ..empty })
    }

    /// A profile advised nothing that could be run.
    pub(crate) fn without_runs(settings: &Settings, target: &Target, metrics: &[Metric]) -> Report {
        let (started, machine) = (SystemTime::now(), Machine::look());
        let circumstances = Circumstances { started, machine, others: None, interrupted: false, out_of_time: false };
        Report::empty(circumstances, settings, target, metrics)
    }

    fn empty(circumstances: Circumstances, settings: &Settings, target: &Target, metrics: &[Metric]) -> Report {
        let Circumstances { started, machine, others, interrupted, .. } = circumstances;
        Report {
            schema: SCHEMA,
            turnwise_version: env!("CARGO_PKG_VERSION"),
            started_unix_s: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            command: CommandInfo::new(target),
            machine,
            others,
            settings: settings.clone(),
            metrics: metrics.iter().enumerate().map(|(index, metric)| MetricInfo::new(metric, index == 0)).collect(),
            runs: Vec::new(),
            summaries: Vec::new(),
            verdicts: Vec::new(),
            notes: Vec::new(),
            interrupted,
            advice: None,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct CommandInfo {
    pub(crate) arguments: Vec<String>,
    /// As one could type it into a shell.
    pub(crate) shown: String,
    pub(crate) path: String,
    pub(crate) is_sample: bool,
}

impl CommandInfo {
    fn new(target: &Target) -> CommandInfo {
        CommandInfo {
            arguments: target.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            shown: target.shown(),
            path: target.path.to_string_lossy().into_owned(),
            is_sample: target.is_sample,
        }
    }
}

#[derive(Clone, Serialize)]
pub(crate) struct Settings {
    /// Policies, policy files by their paths, and arms by their names. The first is the baseline.
    pub(crate) policies: Vec<String>,
    /// The same, with what each is.
    pub(crate) arms: Vec<ArmInfo>,
    /// Runs of each, at most.
    pub(crate) runs: u32,
    /// Runs of each after which to look whether that is enough; the last is `runs`. One: their number is fixed.
    pub(crate) looks: Vec<u32>,
    /// Of each interval, so that those of all looks hold at once with 95%.
    pub(crate) confidence: f64,
    /// When to stop though the verdict needs more runs; `null`: their number is fixed.
    pub(crate) max_time_s: Option<f64>,
    /// A difference that does not matter, as a share.
    pub(crate) margin: f64,
    pub(crate) warmup: u32,
    pub(crate) seed: u64,
    pub(crate) timeout_s: f64,
    /// Whether runs count whatever their exit status.
    pub(crate) any_status: bool,
}

/// What a program is compared under.
#[derive(Clone, Serialize)]
pub(crate) struct ArmInfo {
    pub(crate) name: String,
    /// `null`: a policy file's rules.
    pub(crate) lock: Option<&'static str>,
    /// The words in front of the program.
    pub(crate) prefix: Vec<String>,
}

impl ArmInfo {
    /// Describes a contender.
    pub(crate) fn new(contender: &Contender) -> ArmInfo {
        let (name, prefix) = (contender.name.clone(), contender.prefix().to_vec());
        ArmInfo { name, lock: contender.lock().map(Policy::name), prefix }
    }
}

#[derive(Serialize)]
pub(crate) struct MetricInfo {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    /// Whether the verdict is on it.
    pub(crate) decides: bool,
    pub(crate) pattern: Option<String>,
    pub(crate) combine: Option<Combine>,
}

impl MetricInfo {
    fn new(metric: &Metric, decides: bool) -> MetricInfo {
        let (pattern, combine) = metric.pattern().map(|(pattern, combine)| (pattern.to_owned(), combine)).unzip();
        MetricInfo { name: metric.name.clone(), unit: metric.unit, better: metric.better, decides, pattern, combine }
    }
}

/// One run.
#[derive(Serialize)]
pub(crate) struct Run {
    pub(crate) policy: String,
    /// Counted from 0, warm-ups apart.
    pub(crate) round: u32,
    /// Place within the round, from 0.
    pub(crate) position: u32,
    pub(crate) warmup: bool,
    pub(crate) exit_status: i32,
    /// Whether the loader opened our library; `null`: not asked for, or it cannot be told.
    pub(crate) library_loaded: Option<bool>,
    /// Whether a program made or took a pthread lock while the library was there; `null` as above.
    pub(crate) locks_used: Option<bool>,
    /// Whether a thread did not get one of our locks at once; `null` as above.
    pub(crate) locks_contended: Option<bool>,
    #[serde(flatten)]
    pub(crate) usage: Usage,
    /// The metrics that the program printed.
    pub(crate) printed: BTreeMap<String, f64>,
    /// Of how many matches each is made.
    pub(crate) matches: BTreeMap<String, usize>,
}

/// One metric under one policy, over the complete rounds.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) policy: String,
    #[serde(flatten)]
    pub(crate) summary: Summary,
    /// To the baseline's median; `null` for the baseline, and where a value is zero.
    pub(crate) to_baseline: Option<Ratio>,
}

/// The rounds in which every policy ran.
pub(crate) fn complete_rounds(runs: &[Run], policies: usize) -> Vec<u32> {
    let mut counts = BTreeMap::new();
    for run in runs.iter().filter(|run| !run.warmup) {
        *counts.entry(run.round).or_insert(0) += 1;
    }
    counts.into_iter().filter(|(_, count)| *count == policies).map(|(round, _)| round).collect()
}

/// Summarises `metrics` over the complete rounds of `runs`.
pub(crate) fn summarise(metrics: &[Metric], settings: &Settings, runs: &[Run]) -> Vec<Row> {
    let rounds = complete_rounds(runs, settings.policies.len());
    let mut rng = Rng::with_seed(settings.seed);
    let mut rows = Vec::new();
    for metric in metrics {
        let values = |policy: &str| -> Vec<f64> {
            let of = |round: &u32| runs.iter().find(|run| !run.warmup && run.round == *round && run.policy == policy);
            rounds.iter().filter_map(of).filter_map(|run| value(metric, run)).collect()
        };
        let baseline = values(&settings.policies[0]);
        for (index, policy) in settings.policies.iter().enumerate() {
            let ours = values(policy);
            let Some(summary) = Summary::of(&ours) else { continue };
            let pairs: Vec<_> = ours.into_iter().zip(baseline.iter().copied()).collect();
            let to_baseline = (index > 0).then(|| ratio_of_medians(&pairs, settings.confidence, &mut rng)).flatten();
            rows.push(Row { metric: metric.name.clone(), policy: policy.clone(), summary, to_baseline });
        }
    }
    rows
}

fn value(metric: &Metric, run: &Run) -> Option<f64> {
    match metric.pattern() {
        Some(_) => run.printed.get(&metric.name).copied(),
        None => metric.value(&run.usage, "").ok().map(|(value, _)| value),
    }
}
