//! `cargo xtask faults`: programs on our locks while something goes wrong (`proof/faults`).

use crate::command::{Run, workspace};
use crate::root::{cargo, target};
use anyhow::Result;
use std::process::Command;

/// Builds what the victims run on, and the driver itself. A release of the whole workspace would take longer.
const RELEASE: &str = "build --quiet --release -p turnwise-preload -p turnwise-recorder -p turnwise-cli \
                       -p turnwise-lab -p turnwise-faults";

/// Inject faults into programs on our locks: nothing may be lost, and nothing may hang
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `--release`: build in release; `--write`: write docs/results/faults.md; and flags of the driver, such as
    /// `--seconds 600 --wide` (`-- --help` lists them)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// Builds what it needs and runs it; returns `true` if nothing was lost, and nothing hung.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let has = |flag: &str| args.flags.iter().any(|given| given == flag);
    let built = match has("--release") {
        true if !cargo(RELEASE).succeeds()? => return Ok(false),
        true => std::path::absolute(target().join("release"))?,
        false => workspace()?,
    };
    let mut driver = Command::new(built.join("turnwise-faults"));
    driver.args(has("--write").then_some("--page=docs/results/faults.md"));
    driver.args(args.flags.iter().filter(|flag| !["--release", "--write"].contains(&flag.as_str()))).succeeds()
}
