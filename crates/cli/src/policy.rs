//! The lock policies on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use turnwise_preload_abi::Policy;

/// The policy that `run` and `compare` use by default.
pub(crate) const DEFAULT: Policy = Policy::ADAPTIVE;

/// Parses a policy; clap lists the names and suggests the nearest. An old name is accepted, with a warning.
pub(crate) fn parser() -> impl TypedValueParser<Value = Policy> {
    let names = Policy::ALL.map(|policy| {
        let old_names = Policy::OLD_NAMES.into_iter().filter(move |(_, renamed)| *renamed == policy);
        PossibleValue::new(policy.name()).help(policy.summary()).aliases(old_names.map(|(name, _)| name))
    });
    PossibleValuesParser::new(names).map(|name| {
        let policy = Policy::by_name(&name).expect("clap admits only the names of policies");
        if let Some(what) = renamed(&name, policy) {
            eprintln!("turnwise: {what}");
        }
        policy
    })
}

/// Returns the warning for a policy given by an old name.
pub(crate) fn renamed(given: &str, policy: Policy) -> Option<String> {
    let why = "`turnwise-lab sim` and `turnwise-lab bench` have another lock of the old name";
    (given != policy.name()).then(|| format!("the policy `{given}` is now called `{policy}`; {why}"))
}
