//! `cargo xtask compatibility`: unmodified programs with threads, and the tests of Rust crates, must give the same
//! answers on our locks as without.

mod case;
mod crates;
mod report;
mod verdict;
mod way;

use crate::command::{install, outcome, skip, workspace};
use anyhow::{Context, Result};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

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
    /// The tests of Rust crates instead, with the locks of parking_lot on ours
    #[arg(long, conflicts_with_all = ["quick", "seconds", "list", "install"])]
    crates: bool,
    /// The short cases: what CI runs
    #[arg(long)]
    quick: bool,
    /// Start no new case after this many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Write docs/results/compatibility.md, or with --crates docs/results/crates.md
    #[arg(long, conflicts_with_all = ["name", "quick"])]
    write: bool,
}

/// Runs the cases; `true` if no program answered otherwise than alone.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let here = Path::new(CASES).canonicalize().with_context(|| format!("cannot find {CASES}"))?;
    if args.crates {
        let tested = crates::run(&here, &args.name)?;
        if args.write {
            report::write("crates", "--crates ", json!({ "crates": tested }))?;
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
    let turnwise = workspace()?.join("turnwise");
    let start = Instant::now();
    let mut entries = Vec::new();
    for case in cases {
        let result = match args.seconds {
            Some(limit) if start.elapsed().as_secs() >= limit => Err(skip(format!("{limit} s were over"))),
            _ => verdict::of(&case, &here, &turnwise),
        };
        let outcome = outcome(result);
        println!("{:30} {}", case.name, verdict::line(&outcome));
        entries.push(json!({ "name": case.name, "packages": case.packages, "outcome": outcome }));
    }
    let summary = report::summary(&entries);
    println!("\n{summary}");
    if args.write {
        report::write("compatibility", "", json!({ "summary": summary, "cases": entries }))?;
    }
    Ok(entries.iter().all(|entry| verdict::is_fine(&entry["outcome"])))
}
