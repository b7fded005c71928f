//! `turnwise list`: the available choices, and what the machine offers.

use crate::metric;
use crate::policy;
use crate::target::{SAMPLE_METRIC, SAMPLE_NAME};
use anyhow::Result;
use std::process::ExitCode;
use turnwise_preload_abi::Policy;
use turnwise_present::ending::print;
use turnwise_present::machine::Machine;
use turnwise_profile::template::{Serde, Words, context};

/// List lock policies and metrics, and what this machine offers
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  turnwise list
  turnwise list | grep queued")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<ExitCode> {
    let policies = Policy::ALL.map(|policy| context! { name => policy.name(), summary => policy.summary() });
    let values = context! {
        policies => policies.to_vec(),
        default => policy::DEFAULT.name(),
        metrics => metric::charged_help().map(|(name, help)| vec![name, help]).collect::<Vec<_>>(),
        sample => vec![SAMPLE_NAME, SAMPLE_METRIC],
        machine => Serde(Machine::here()),
    };
    print(&Words::of(include_str!("list.jinja")).render(values))?;
    Ok(ExitCode::SUCCESS)
}
