//! `cargo xtask ablate`: the effect of each waiting parameter. One at a time is switched off, halved and doubled, and
//! programs and cells run with it and with the shipped numbers, interleaved, by the same library and laboratory.

mod record;
mod variant;

use crate::command::Run;
use crate::perf::busy::Busy;
use crate::perf::measure;
use crate::perf::version::{Overrides, Version, compiler};
use crate::perf::{DEFAULTS, Plan, chosen};
use crate::programs;
use crate::results::built;
use crate::results::record::command_line;
use crate::root::{cargo, write};
use anyhow::{Context, Result, ensure};
use record::Record;
use std::path::{Path, PathBuf};
use turnwise_present::machine;
use variant::Variant;

/// The page with the table.
const PAGE: &str = "docs/results/ablation.md";
/// Where the library is built that no release has.
const FOLDER: &str = "target/ablate";

/// Switch off each number of the waiting policy, one at a time, over programs and cells
///
/// Builds the preload library with feature `ablate`, which no release has, and `turnwise-lab`. Each variant, a number
/// switched off, halved or doubled, runs in pairs with the numbers that ship, as `cargo xtask perf` runs two versions;
/// its speeds and intervals are computed likewise, and hold together for each variant. Prints the page.
///
/// Exit status: 0, 1 if something failed under a variant, 2 for errors.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Variants: as `--list` has them, or all of a number
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Programs of `cargo xtask programs`, by any part of their names [default: all that are installed]
    #[arg(long, value_name = "NAME", num_args = 1..)]
    programs: Vec<String>,
    /// Cells of `turnwise-lab bench`, as for `cargo xtask perf`; without --programs none but these
    #[arg(long, value_name = "CELL", num_args = 1.., value_delimiter = ',')]
    cells: Vec<String>,
    /// Pairs of runs of each program and cell
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Keep the figures here; what FILE has of the same commit and machine stays, pairs of runs add up, and the table
    /// is of all
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write docs/results/ablation.md
    #[arg(long)]
    write: bool,
    /// List the variants
    #[arg(long)]
    list: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask ablate --only batch_lines --programs Kyoto Tokyo
  cargo xtask ablate --only yield_after_ns=1 --cells mutex:8x50/100 --rounds 20
  cargo xtask ablate --only poll_ns --json figures.json --write";

/// Measures; returns `true` if nothing failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    if args.list {
        print!("{}", variant::list());
        return Ok(true);
    }
    let variants = variant::chosen(&args.only)?;
    let (cells, programs) = args.chosen();
    // Building takes minutes: typing errors are refused before.
    programs::table::chosen(Path::new("xtask/programs"), &programs)?;
    let commit = machine::commit().context("git does not say which commit this is")?;
    let mut record = Record::new(commit, compiler()?, command_line());
    if let Some(file) = &args.json {
        record = record.or_continued(file)?;
    }
    let (library, lab) = (library()?, built("turnwise-lab", "turnwise-lab")?);
    let version = |variant: Option<&Variant>| {
        let (set, variables) = variant.map_or_else(Default::default, |v| (v.set.clone(), v.variables.clone()));
        let name = variant.map_or("the numbers that ship", |variant| &variant.name);
        Version::overridden(name, &lab, Overrides { library: library.clone(), set, variables })
    };
    let plan = Plan::of(&cells, &programs, [args.rounds; 2], &[version(None), version(None)])?;
    record.leave_out(plan.left_out);
    for (index, variant) in variants.iter().enumerate() {
        eprintln!("==> {} ({} of {})", variant.name, index + 1, variants.len());
        let versions = [[version(None), version(Some(variant))]];
        let outcome = measure::measure(&plan.jobs, &versions, None, &mut Busy::start(0)?)?;
        eprintln!("    {}", record.add(variant, outcome));
        args.json.as_ref().map_or(Ok(()), |file| record.save(file))?;
    }
    let page = record.page()?;
    print!("{page}");
    if args.write {
        write(PAGE, page)?;
    }
    Ok(record.failed.is_empty())
}

static ALL: [String; 1] = [String::new()];

impl Args {
    fn chosen(&self) -> (Vec<&str>, Vec<&str>) {
        // Every name contains the empty one.
        chosen([&self.cells, &self.programs], [&DEFAULTS.ablated, &ALL]).into()
    }
}

/// Builds the preload library with settable numbers, as `crates/cli/build.rs` builds that of a release.
fn library() -> Result<PathBuf> {
    let mut build = cargo("build --profile dist --locked --package turnwise-preload --features ablate --target-dir");
    let built = build.arg(FOLDER).env("CARGO_PROFILE_DIST_PANIC", "abort").succeeds()?;
    ensure!(built, "the preload library cannot be built");
    let library = Path::new(FOLDER).join("dist/libturnwise_preload.so");
    library.canonicalize().with_context(|| format!("cannot find {}", library.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn counts(line: &[&str]) -> (usize, usize) {
        let args = Line::parse_from([&["ablate"], line].concat()).args;
        let (cells, programs) = args.chosen();
        (cells.len(), programs.len())
    }

    #[test]
    fn who_names_something_gets_that_alone() {
        assert_eq!(counts(&[]), (DEFAULTS.ablated.len(), 1));
        assert_eq!(counts(&["--cells", "mutex,rwlock"]), (2, 0));
        assert_eq!(counts(&["--programs", "Tokyo", "SQLite"]), (0, 2));
        assert_eq!(counts(&["--cells", "mutex", "--programs", "Tokyo"]), (1, 1));
    }
}
