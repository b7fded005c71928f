//! What was asked of a comparison, as its report repeats it.

use crate::variant::Variant;
use serde::Serialize;
use turnwise_preload_abi::Policy;

/// How a comparison is made.
#[derive(Clone, Serialize)]
pub(crate) struct Settings {
    /// Policies, policy files by their paths, and arms by their names. The first is the baseline.
    pub(crate) policies: Vec<String>,
    /// What each of `policies` is.
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
    /// What a measurement of each is called.
    #[serde(skip)]
    pub(crate) unit: &'static str,
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
    pub(crate) fn new(variant: &Variant) -> ArmInfo {
        let (name, prefix) = (variant.name.clone(), variant.prefix().to_vec());
        ArmInfo { name, lock: variant.lock().map(Policy::name), prefix }
    }
}
