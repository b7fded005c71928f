//! The result of a trial: `tune --trial --json` prints it unchanged; its fields are described in `docs/tune.md`.

use super::Args;
use crate::compare::{Pairs, PairsReport};
use crate::setting::{Assignment, shown};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_live::Channel;
use turnwise_present::machine::Machine;

/// The version of the schema, raised when a field changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// Everything about one trial.
#[derive(Serialize)]
pub(super) struct TrialReport {
    schema: u32,
    turnwise_version: &'static str,
    /// Seconds since 1970.
    started_unix_s: u64,
    process: ProcessInfo,
    machine: Machine,
    trial: TrialInfo,
    #[serde(flatten)]
    pairs: PairsReport,
    /// Whether the user stopped it early.
    interrupted: bool,
}

#[derive(Serialize)]
struct ProcessInfo {
    pid: u32,
    name: String,
}

#[derive(Serialize)]
struct TrialInfo {
    /// The name as the user typed it.
    name: String,
    settings: String,
    /// The number of rounds requested.
    rounds: u32,
    metric_cmd: Option<String>,
}

impl TrialReport {
    pub(super) fn new(
        started: SystemTime,
        channel: &Channel,
        trial: &Assignment,
        args: &Args,
        pairs: &Pairs,
        interrupted: bool,
    ) -> TrialReport {
        TrialReport {
            schema: SCHEMA,
            turnwise_version: env!("CARGO_PKG_VERSION"),
            started_unix_s: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            process: ProcessInfo { pid: channel.pid(), name: channel.name().to_owned() },
            machine: Machine::here(),
            trial: TrialInfo {
                name: trial.name.clone(),
                settings: shown(&trial.values),
                rounds: args.rounds,
                metric_cmd: args.metric_cmd.clone(),
            },
            pairs: pairs.report(),
            interrupted,
        }
    }
}
