//! The settings of a comparison, as repeated in its report.

use serde::Serialize;
use serde_json::Value;

/// The settings of a comparison.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Settings {
    /// The contenders: policies, policy files by path, and arms by name. The first is the baseline.
    pub(crate) policies: Vec<String>,
    /// A description of each of `policies`: its name, its policy (`null`: a policy file's rules), and the words in
    /// front of the program.
    pub(crate) arms: Vec<Value>,
    /// The maximum number of runs of each.
    pub(crate) runs: u32,
    /// The runs of each after which to check whether they suffice; the last is `runs`. One: the number is fixed.
    pub(crate) looks: Vec<u32>,
    /// The confidence of each interval, so that those of all looks hold simultaneously with 95%.
    pub(crate) confidence: f64,
    /// When to stop even if the verdict needs more runs; `null`: their number is fixed.
    pub(crate) max_time_s: Option<f64>,
    /// A negligible difference, as a share.
    pub(crate) margin: f64,
    pub(crate) warmup: u32,
    pub(crate) seed: u64,
    pub(crate) timeout_s: f64,
    /// Whether runs count whatever their exit status.
    pub(crate) any_status: bool,
    /// The name of a measurement of each.
    #[serde(skip)]
    pub(crate) unit: &'static str,
}
