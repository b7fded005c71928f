//! `cargo xtask faults`: programs on our locks while something goes wrong (`proof/faults`).

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The page with the table.
const PAGE: &str = "docs/results/faults.md";
/// What the victims run on, and the driver itself.
const PACKAGES: [&str; 5] =
    ["turnwise-preload", "turnwise-recorder", "turnwise-cli", "turnwise-lab", "turnwise-faults"];

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
    if !cargo(&build(args.release))? {
        return Ok(false);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let driver = target.join(if args.release { "release" } else { "debug" }).join("turnwise-faults");
    let mut driver = Command::new(std::path::absolute(driver).context("cannot find the current folder")?);
    driver.args(["--seconds", &args.seconds.to_string()]);
    driver.args(args.wide.then_some("--wide"));
    driver.args(args.seed.map(|seed| format!("--seed={seed}")));
    driver.args(args.write.then(|| format!("--page={PAGE}")));
    driver.args(&args.faults);
    let status = driver.status().with_context(|| format!("cannot run {}", driver.get_program().display()))?;
    Ok(status.success())
}

/// Returns how cargo builds it. In dev the whole workspace: a selection of packages has other features than what `cargo
/// test --workspace` has built, so that in CI nearly all was built again. A release of all would take longer still.
fn build(release: bool) -> Vec<&'static str> {
    if release {
        let packages = PACKAGES.iter().flat_map(|&package| ["-p", package]);
        ["build", "--quiet", "--release"].into_iter().chain(packages).collect()
    } else {
        vec!["build", "--quiet", "--workspace"]
    }
}

fn cargo(arguments: &[&str]) -> Result<bool> {
    let status = Command::new("cargo").args(arguments).status().context("cannot run cargo")?;
    Ok(status.success())
}
