//! The result of a comparison: every run, the summaries, the verdicts. `compare --json` prints it unchanged; its fields
//! are described in `docs/compare.md`.

use super::notes::notes;
use super::runs::{Row, Run, complete_rounds, summarise};
use super::settings::Settings;
use super::verdict::{Verdict, judge};
use crate::metric::Metric;
use crate::target::Target;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_present::machine::Machine;
use turnwise_present::others::Others;

/// The version of the schema, raised when a field changes its meaning or is removed.
const SCHEMA: u32 = 2;

/// Everything about one comparison.
#[derive(Default, Serialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) turnwise_version: &'static str,
    /// Seconds since 1970.
    pub(crate) started_unix_s: u64,
    /// The words, the file, and the command as one could enter it into a shell.
    pub(crate) command: Value,
    pub(crate) machine: Machine,
    /// The CPU use of others during the runs; `null`: the system does not report it.
    pub(crate) others: Option<Others>,
    pub(crate) settings: Settings,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) runs: Vec<Run>,
    pub(crate) summaries: Vec<Row>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) notes: Vec<String>,
    /// Whether the user stopped it early.
    pub(crate) interrupted: bool,
    /// With `--advise`: a profile's advice, and its outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<Value>,
}

impl Report {
    /// Returns a report without runs, here and now: also of a profile's advice without a runnable experiment.
    pub(crate) fn without_runs(settings: &Settings, target: &Target, metrics: &[Metric]) -> Report {
        Report {
            schema: SCHEMA,
            turnwise_version: env!("CARGO_PKG_VERSION"),
            started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            command: json!({
                "arguments": target.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
                "shown": target.shown(),
                "path": target.path.to_string_lossy(),
                "is_sample": target.is_sample,
            }),
            machine: Machine::here(),
            settings: settings.clone(),
            metrics: metrics
                .iter()
                .enumerate()
                .map(|(index, metric)| Metric { decides: index == 0, ..metric.clone() })
                .collect(),
            ..Report::default()
        }
    }

    /// Evaluates the runs. `out_of_time`: the time ran out before there was a verdict.
    pub(crate) fn with(self, metrics: &[Metric], runs: Vec<Run>, out_of_time: bool) -> Report {
        let settings = &self.settings;
        let rounds = complete_rounds(&runs, settings.policies.len()).len();
        let mut notes = notes(metrics, self.others, &settings.policies, &runs);
        if self.interrupted {
            let most = if settings.max_time_s.is_some() { "at most " } else { "" };
            notes.insert(0, format!("interrupted: only the {rounds} complete rounds of {most}{} count", settings.runs));
        }
        if out_of_time {
            let most = settings.runs;
            notes.insert(0, format!("--max-time ended the comparison after {rounds} rounds of at most {most}"));
        }
        let summaries = summarise(metrics, settings, &runs);
        let verdicts = judge(&metrics[0], settings, &summaries);
        Report { runs, summaries, verdicts, notes, ..self }
    }
}
