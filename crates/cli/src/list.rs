//! `turnwise list`: the available choices, and what the machine offers.

use crate::metric;
use crate::policy;
use crate::target::{SAMPLE_METRIC, SAMPLE_NAME};
use anyhow::Result;
use std::fmt::Write;
use std::process::ExitCode;
use turnwise_preload_abi::Policy;
use turnwise_present::ending::print;
use turnwise_present::machine::Machine;

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
    let machine = Machine::here();
    text += "\nLocks of the library and of the five papers: turnwise-lab list\n";
    text += "\nThis machine:\n";
    for (name, value) in [
        ("CPUs", Some(format!("{} x {}", machine.cpus, machine.cpu_name()))),
        ("architecture", Some(machine.arch)),
        ("memory", machine.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)))),
        ("kernel", machine.kernel.map(|release| format!("Linux {release}"))),
        ("C library", machine.libc),
        ("owner-runs test", Some(describe_layer(&machine.on_cpu_layer))),
        ("load, last minute", machine.load_average.map(|load| format!("{load:.2}"))),
    ] {
        writeln!(text, "  {name:<22}{}", value.as_deref().unwrap_or("unknown"))?;
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn describe_layer(layer: &str) -> String {
    match layer {
        "none" => {
            "none: the C library registers no restartable sequences, so spins last as long as they may".to_owned()
        }
        layer => format!("{layer}: same-CPU test and published spinners, through restartable sequences"),
    }
}
