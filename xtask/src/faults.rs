//! `cargo xtask faults`: programs on our locks while something goes wrong (`proof/faults`).

use anyhow::{Context, Result};
use std::process::Command;

/// The page with the table.
const PAGE: &str = "docs/results/faults.md";
/// What the victims run on, and the driver itself.
const PACKAGES: [&str; 4] = ["turnwise-preload", "turnwise-recorder", "turnwise-cli", "turnwise-faults"];

/// Let things go wrong for programs on our locks: nothing may be lost, and nothing may hang
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

/// Builds what it needs and runs it; `true` if nothing was lost, and nothing hung.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let release: &[&str] = if args.release { &["--release"] } else { &[] };
    let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
    let built = cargo(["build", "--quiet"].into_iter().chain(release.iter().copied()).chain(packages))?;
    if !built {
        return Ok(false);
    }
    let mut line: Vec<String> = ["run", "--quiet", "-p", "turnwise-faults"].map(str::to_owned).to_vec();
    line.extend(release.iter().map(|&flag| flag.to_owned()));
    line.extend(["--".to_owned(), "--seconds".to_owned(), args.seconds.to_string()]);
    line.extend(args.wide.then(|| "--wide".to_owned()));
    line.extend(args.seed.map(|seed| format!("--seed={seed}")));
    line.extend(args.write.then(|| format!("--page={PAGE}")));
    line.extend(args.faults.iter().cloned());
    cargo(line.iter().map(String::as_str))
}

fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<bool> {
    let status = Command::new("cargo").args(arguments).status().context("cannot run cargo")?;
    Ok(status.success())
}
