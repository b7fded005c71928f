//! The command line of `turnwise-lab reproduce`.

use crate::sim::Part;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use turnwise_reproduce::PAPERS;

/// Print every figure that the papers published next to what their workloads give in simulation
///
/// Runs the workloads of the papers on the locks before and after each change, on simulated machines like
/// those that they were measured on. First comes what the papers claim and whether it holds, with what may explain the
/// misses, then every row, the facts and what was fitted: constants of workloads, never latencies, and fewer than there
/// are rows. Today's locks have tables of their own. The same command gives the same figures on every host.
///
/// --bands tells what the papers' own text leaves open: it draws every number that they do not give within the range
/// of its sources, many times, and shows for each row the band of the draws, whether the published figure lies in it,
/// and which numbers decide.
///
/// A claim that does not hold is reported, but is not an error. Exit status: 0 fine, 2 bad usage or I/O.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Papers to reproduce [default: all]
    #[arg(value_name = "PAPER", value_parser = PossibleValuesParser::new(PAPERS.iter().map(|d| d.name)))]
    pub(crate) documents: Vec<String>,
    /// Shorter runs and fewer of them: minutes become seconds; the report says what it left out
    #[arg(long)]
    pub(crate) quick: bool,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Simulations to run in parallel [default: the CPUs of the host]; the figures do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Also draw what the papers leave open, in short runs: tens of minutes
    #[arg(long)]
    pub(crate) bands: bool,
    /// Draws of each paper
    #[arg(long, value_name = "N", requires = "bands", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=4096))]
    pub(crate) samples: u32,
    /// Only draw, and only the k-th of n parts: for a cluster. --draws puts them together
    #[arg(long, value_name = "K/N", requires_all = ["bands", "json"], conflicts_with_all = ["html", "markdown"])]
    pub(crate) partition: Option<Part>,
    /// Put the bands of these parts beside the report, and draw nothing
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "bands")]
    pub(crate) draws: Vec<PathBuf>,
    /// Show a report that --json wrote, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["documents", "quick", "seed", "jobs", "bands"])]
    pub(crate) from: Option<PathBuf>,
    /// Also write the report as JSON; - prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also write the report as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the report as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  turnwise-lab reproduce
  turnwise-lab reproduce spin_backoff handoff_spin --quick
  turnwise-lab reproduce --json report.json --markdown report.md
  turnwise-lab reproduce handoff_spin --bands
  turnwise-lab reproduce rwsem_stealing --json rwsem.json --html rwsem.html";

impl Args {
    /// Returns the command line that repeats this, without the paths of this host.
    pub(crate) fn command(&self) -> String {
        let mut words = vec!["turnwise-lab reproduce".to_owned()];
        words.extend(self.documents.iter().cloned());
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words.extend(self.bands.then(|| "--bands".to_owned()));
        words.extend((self.bands && self.samples != 64).then(|| format!("--samples {}", self.samples)));
        words.extend((self.seed != 1).then(|| format!("--seed {}", self.seed)));
        words.join(" ")
    }
}
