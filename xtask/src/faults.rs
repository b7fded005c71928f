//! `cargo xtask faults`: programs on our locks while something goes wrong (`proof/faults`).

use crate::command::{Run, workspace};
use crate::root::{cargo, target};
use anyhow::Result;
use std::process::Command;

/// The page with the table.
const PAGE: &str = "docs/results/faults.md";
/// Builds what the victims run on, and the driver itself. A release of the whole workspace would take longer.
const RELEASE: &str = "build --quiet --release -p turnwise-preload -p turnwise-recorder -p turnwise-cli \
                       -p turnwise-lab -p turnwise-faults";

/// Inject faults into programs on our locks: nothing may be lost, and nothing may hang
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Time for all faults together, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Every lock and policy, instead of the most used
    #[arg(long)]
    wide: bool,
    /// Build in release
    #[arg(long)]
    release: bool,
    /// Random seed; a run prints its own
    #[arg(long)]
    seed: Option<u64>,
    /// Write docs/results/faults.md
    #[arg(long)]
    write: bool,
    /// Faults (all, if none is named)
    faults: Vec<String>,
}

/// Builds what it needs and runs it; returns `true` if nothing was lost, and nothing hung.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let built = match args.release {
        true if !cargo(RELEASE).succeeds()? => return Ok(false),
        true => std::path::absolute(target().join("release"))?,
        false => workspace()?,
    };
    let mut driver = Command::new(built.join("turnwise-faults"));
    driver.args(["--seconds", &args.seconds.to_string()]);
    driver.args(args.wide.then_some("--wide"));
    driver.args(args.seed.map(|seed| format!("--seed={seed}")));
    driver.args(args.write.then(|| format!("--page={PAGE}")));
    driver.args(&args.faults);
    driver.succeeds()
}
