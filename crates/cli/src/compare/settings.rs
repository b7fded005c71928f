//! The settings of a comparison, as repeated in its report.

use crate::variant::Variant;
use serde::Serialize;
use turnwise_preload_abi::Policy;

/// The settings of a comparison.
#[derive(Clone, Serialize)]
pub(crate) struct Settings {
    /// The contenders: policies, policy files by path, and arms by name. The first is the baseline.
    pub(crate) policies: Vec<String>,
    /// A description of each of `policies`.
    pub(crate) arms: Vec<ArmInfo>,
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

/// A contender under which a program is compared.
#[derive(Clone, Serialize)]
pub(crate) struct ArmInfo {
    pub(crate) name: String,
    /// The policy; `null`: a policy file's rules.
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
