//! The lock policies on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use turnwise_preload_abi::Policy;

/// The policy that `run` and `compare` use by default.
pub(crate) const DEFAULT: Policy = Policy::ADAPTIVE;

/// Parses a policy; clap lists the names and suggests the nearest. An old name is accepted.
pub(crate) fn parser() -> impl TypedValueParser<Value = Policy> {
    let names = Policy::ALL.map(|policy| {
        let old_names = Policy::OLD_NAMES.into_iter().filter(move |(_, renamed)| *renamed == policy);
        PossibleValue::new(policy.name()).help(policy.summary()).aliases(old_names.map(|(name, _)| name))
    });
    PossibleValuesParser::new(names).map(|name| Policy::by_name(&name).expect("clap admits only the names of policies"))
}
