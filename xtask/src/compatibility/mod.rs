//! `cargo xtask compatibility`: unmodified programs with threads, and the tests of Rust crates, must give the same
//! answers on our locks as without.

mod case;
mod crates;
mod report;
mod verdict;
mod way;

use crate::command::{install, outcome, skip, workspace};
use crate::results::built;
use anyhow::{Context, Result};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;
use way::Way;

/// The cases, and files of theirs.
const CASES: &str = "xtask/compatibility";

/// Programs with threads, alone and under `turnwise run` and `profile`: the same answers, and no hang
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Cases whose names contain any of these (all, if none is named)
    name: Vec<String>,
    /// List the cases
    #[arg(long)]
    list: bool,
    /// Install the packages of the cases first, with apt
    #[arg(long)]
    install: bool,
    /// Under one of the commands alone
    #[arg(long, value_enum, value_name = "COMMAND")]
    under: Option<Way>,
    /// The tests of Rust crates instead, with the locks of parking_lot on ours
    #[arg(long, conflicts_with_all = ["quick", "under", "seconds", "list", "install"])]
    crates: bool,
    /// The short cases: what CI runs
    #[arg(long)]
    quick: bool,
    /// Build in release
    #[arg(long)]
    release: bool,
    /// An installed `turnwise` instead of one that is built
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    turnwise: Option<PathBuf>,
    /// Start no new case after this many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Write docs/results/compatibility.md, or with --crates docs/results/crates.md
    #[arg(long, conflicts_with_all = ["name", "quick", "under"])]
    write: bool,
}

/// Runs the cases; `true` if no program answered otherwise than alone.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let here = Path::new(CASES).canonicalize().with_context(|| format!("cannot find {CASES}"))?;
    if args.crates {
        let tested = crates::run(&here, &args.name)?;
        if args.write {
            report::write_crates(&tested)?;
        }
        return Ok(tested.iter().all(|tested| tested.result.is_ok()));
    }
    let mut cases = case::chosen(&here, &args.name)?;
    cases.retain(|case| case.quick || !args.quick);
    if args.list {
        for case in &cases {
            println!("{}: {}", case.name, case.packages.join(" "));
        }
        return Ok(true);
    }
    if args.install {
        install(cases.iter().flat_map(|case| &case.packages))?;
    }
    let ways = args.under.map_or_else(|| vec![Way::Run, Way::Profile], |way| vec![way]);
    let turnwise = match &args.turnwise {
        Some(file) => file.canonicalize().with_context(|| format!("cannot find {}", file.display()))?,
        None if args.release => built("turnwise-cli", "turnwise")?,
        None => workspace()?.join("turnwise"),
    };
    let start = Instant::now();
    let mut entries = Vec::new();
    for case in cases {
        let result = match args.seconds {
            Some(limit) if start.elapsed().as_secs() >= limit => Err(skip(format!("{limit} s were over"))),
            _ => verdict::of(&case, &here, &turnwise, &ways),
        };
        let outcome = outcome(result);
        println!("{:30} {}", case.name, verdict::line(&outcome));
        entries.push(json!({ "name": case.name, "packages": case.packages, "outcome": outcome }));
    }
    println!("\n{}", report::summary(&entries));
    if args.write {
        report::write(&entries)?;
    }
    Ok(entries.iter().all(|entry| verdict::is_fine(&entry["outcome"])))
}
