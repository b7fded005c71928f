//! `turnwise list`: what there is to choose from, and what the machine offers.

use crate::machine::Machine;
use crate::metric;
use crate::policy;
use crate::target::{SAMPLE_METRIC, SAMPLE_NAME};
use anyhow::Result;
use std::fmt::Write;
use std::process::ExitCode;
use turnwise_preload_abi::Policy;
use turnwise_present::ending::print;

/// List lock policies and metrics, and what this machine offers
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  turnwise list
  turnwise list | grep queued")]
pub(crate) struct Args {}

/// Prints the lists.
pub(crate) fn run(_: &Args) -> Result<ExitCode> {
    let mut text = String::from("Lock policies (--lock):\n");
    for policy in Policy::ALL {
        let mark = if policy == policy::DEFAULT { " (default)" } else { "" };
        writeln!(text, "  {:<22}{}{mark}", policy, policy.summary())?;
    }
    text += "\nMetrics of every run:\n";
    for (name, help) in metric::charged_help() {
        writeln!(text, "  {name:<22}{help}")?;
    }
    writeln!(text, "\nMetrics from the program's output: --metric 'REGEX', the first group is the number")?;
    writeln!(text, "  {SAMPLE_NAME:<22}{SAMPLE_METRIC}")?;
    let machine = Machine::look();
    text += "\nLocks of the library and of the five case studies: turnwise-lab list\n";
    text += "\nThis machine:\n";
    for (name, value) in [
        ("CPUs", format!("{} x {}", machine.cpus, machine.cpu_model)),
        ("architecture", machine.architecture),
        ("memory", format!("{:.1} GiB", machine.memory_bytes as f64 / f64::from(1 << 30))),
        ("kernel", format!("Linux {}", machine.kernel)),
        ("C library", machine.libc),
        ("owner-runs test", describe_layer(&machine.on_cpu_layer)),
        ("load, last minute", format!("{:.2}", machine.load_1min)),
    ] {
        writeln!(text, "  {name:<22}{value}")?;
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn describe_layer(layer: &str) -> String {
    match layer {
        "none" => "none: the C library registers no restartable sequences, so spins are short".to_owned(),
        layer => format!("{layer}: same-CPU test and published spinners, through restartable sequences"),
    }
}
