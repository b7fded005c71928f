//! The command line of `turnwise-lab sim`.

use super::part::Part;
use super::plan::{Axes, SEEDS};
use super::range::Ranges;
use super::setup;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use turnwise_bench::setting::Setting;
use turnwise_sim::Perturb;

/// Run the locks' own code on a simulated many-core machine
///
/// Every lock with every number of CPUs is a cell: a run of its own, from its own seed, on a machine of the numbers in
/// a machine file. The same command gives the same report, byte for byte, on every host. Prints throughput, waits,
/// fairness, where the lock and its cache lines went, and which functions took the time.
///
/// Exit status: 0 fine, 2 bad usage or I/O, 3 a cell got stuck (deadlock, livelock, starvation).
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true, after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Merge(MergeArgs),
    Validate(ValidateArgs),
}

/// Validate the simulator: its predictions next to published and measured figures
///
/// Takes a few minutes. The table of metal against simulator needs a benchmark's report, and the machine that
/// `turnwise-lab calibrate` wrote on the same host.
#[derive(clap::Args)]
#[command(after_long_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// What `turnwise-lab bench mutex --json FILE` wrote on a host; repeated: a table for each
    #[arg(long, value_name = "FILE")]
    pub(crate) bench: Vec<PathBuf>,
    /// The machine file of that host; one for each --bench, in the same order [default: here]
    #[arg(long, value_name = "NAME|FILE", requires = "bench", value_parser = setup::MachineParser)]
    pub(crate) machine: Vec<String>,
    /// Only the published curves, with every point
    #[arg(long, conflicts_with = "bench")]
    pub(crate) curves: bool,
    /// Only the first and the last point of each curve, and short runs: seconds
    #[arg(long, requires = "curves")]
    pub(crate) quick: bool,
    /// Write the page to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  turnwise-lab calibrate && turnwise-lab bench mutex --lock all --json bench.json
  turnwise-lab sim validate --bench bench.json --markdown page.md
  turnwise-lab sim validate --bench a.json --machine a.toml --bench b.json --machine b.toml
  turnwise-lab sim validate --curves --quick";

/// Merge the parts of a sweep (`--partition`)
///
/// The result equals that of the undivided sweep, byte for byte.
#[derive(clap::Args)]
#[command(after_long_help = MERGE_EXAMPLES)]
pub(crate) struct MergeArgs {
    /// What the parts wrote with --json, in any order
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Also write the whole report as JSON; - prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also write the report as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// The machine: a name (see `--list`) or a machine file (with a `/`, or ending in .toml); `here` is what
    /// `turnwise-lab calibrate` measured. With --record, repeated [default: westmere-ex-80; with --record, graviton4]
    #[arg(long = "machine", value_name = "NAME|FILE", value_parser = setup::MachineParser)]
    pub(crate) machines: Vec<String>,
    /// Locks to run, repeated or comma-separated (see `--list`) [default: mutex, linux-mutex-baseline,
    /// linux-mutex-patch1-and-2, ttas, ticket, mcs; with --record, libc and adaptive]
    #[arg(long = "lock", value_name = "NAME", value_delimiter = ',', value_parser = setup::lock_parser())]
    pub(crate) locks: Vec<String>,
    /// Replay this recording, which `turnwise profile --recording FILE` kept: the program's threads, with their
    /// acquisitions in order, on each --machine with each number of --cpus and each --lock; first on --recorded-on, to
    /// report how far the simulation is off the recorded run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "threads", "nodes", "duration", "warm_up",
          "perturb", "starvation", "trace", "partition", "jobs", "list", "describe"])]
    pub(crate) record: Option<PathBuf>,
    /// The machine that the recording was made on; `here` is what `turnwise-lab calibrate` measured there
    #[arg(long, value_name = "NAME|FILE", default_value = "here", value_parser = setup::MachineParser,
          requires = "record")]
    pub(crate) recorded_on: String,
    /// What the threads do (see `--list` for the forms)
    #[arg(long, value_name = "W", default_value = setup::DEFAULT_WORKLOAD, value_parser = setup::workload)]
    pub(crate) workload: String,
    /// The first N CPUs, with one pinned thread on each unless --threads is given; default: powers of two, and all
    #[arg(long, value_name = "RANGES", value_parser = parsed::<Ranges>, conflicts_with = "nodes")]
    pub(crate) cpus: Option<Ranges>,
    /// Number of threads, which the scheduler places on --cpus or --nodes, or else on all CPUs
    #[arg(long, value_name = "RANGES", value_parser = parsed::<Ranges>)]
    pub(crate) threads: Option<Ranges>,
    /// All CPUs of the first N nodes, as numactl would
    #[arg(long, value_name = "RANGES", value_parser = parsed::<Ranges>)]
    pub(crate) nodes: Option<Ranges>,
    /// Simulated time to measure
    #[arg(id = "duration", long = "duration", value_name = "TIME", default_value = "20ms")]
    #[arg(value_parser = simulated_time)]
    pub(crate) duration_ns: u64,
    /// Simulated warm-up time before it
    #[arg(id = "warm_up", long = "warm-up", value_name = "TIME", default_value = "2ms", value_parser = simulated_time)]
    pub(crate) warm_up_ns: u64,
    /// Set a field of the waiting policy of our locks, repeated or comma-separated (see `--list`)
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = parsed::<Setting>)]
    pub(crate) set: Vec<Setting>,
    /// Random seed; each cell's own is drawn from it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..SEEDS))]
    pub(crate) seed: u64,
    /// Unlikely schedules, to hunt starvation, deadlock and livelock
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub(crate) perturb: Schedule,
    /// Report a cell as stuck if a thread waits for a lock for this long [default: never]
    #[arg(id = "starvation", long = "starvation", value_name = "TIME", value_parser = simulated_time)]
    pub(crate) starvation_ns: Option<u64>,
    /// Also write the report as JSON; - prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also write the report as a self-contained HTML page
    #[arg(long, value_name = "FILE", conflicts_with = "partition")]
    pub(crate) html: Option<PathBuf>,
    /// Write a trace of every CPU for ui.perfetto.dev; needs a single cell
    #[arg(long, value_name = "FILE", conflicts_with = "partition")]
    pub(crate) trace: Option<PathBuf>,
    /// Run the k-th of n shares of the sweep, and write it as JSON (to standard output without --json)
    #[arg(long, value_name = "k/n", value_parser = parsed::<Part>)]
    pub(crate) partition: Option<Part>,
    /// Cells to run in parallel [default: the CPUs of the host]; the report does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// List machines, locks and workloads, and exit
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the machine's numbers and the source of each, and exit
    #[arg(long)]
    pub(crate) describe: bool,
}

/// A schedule that the machine alone would seldom make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Schedule {
    /// That of the machine
    None,
    /// Stall a thread on 0.1% of operations for up to 50us
    Stalls,
    /// Stall threads, and run them at different speeds
    Pct,
}

impl Schedule {
    pub(crate) fn perturb(self) -> Perturb {
        // Longer than a wait in a queue, shorter than a time slice.
        let (per_million, max_ns) = (1000, 50_000);
        match self {
            Schedule::None => Perturb::None,
            Schedule::Stalls => Perturb::Stalls { per_million, max_ns },
            Schedule::Pct => Perturb::Pct { per_million, max_ns },
        }
    }
}

/// `1,2,4-8,10-80:10` and so on.
const EXAMPLES: &str = "\
RANGES are counts, ranges and ranges with a step: 1,2,4-8,10-80:10. TIME has a unit: 500us, 20ms, 1s.

Examples:
  turnwise-lab sim
  turnwise-lab sim --lock mutex,ttas,mcs --cpus 1,10-80:10 --html curves.html
  turnwise-lab sim --machine mesh-1024 --lock mcs --nodes 1,2,4,8 --duration 10ms
  turnwise-lab sim --machine epyc-milan-2s --lock mutex --cpus 8 --threads 4-64:4
  turnwise-lab sim --lock mutex --set spin_ns_per_cpu=20000 --cpus 16,64
  turnwise-lab sim --lock ticket --cpus 20 --duration 200us --warm-up 0s --trace ticket.json
  turnwise-lab sim --lock osv-mutex-no-spin --threads 8 --cpus 4 --perturb pct --starvation 10ms
  turnwise-lab sim --cpus 1-80 --partition 3/8 --json part3.json
  turnwise-lab sim merge part*.json --html curves.html
  turnwise profile --recording run.tw -- ./server && turnwise-lab sim --record run.tw --machine epyc-milan-2s";

const MERGE_EXAMPLES: &str = "\
Examples:
  turnwise-lab sim merge part*.json
  turnwise-lab sim merge part*.json --json whole.json --html curves.html";

/// The longest run that is accepted.
const LONGEST: Duration = Duration::from_secs(3600);

/// Parses it as the type does, with its whole error message, of which clap would show the beginning.
pub(crate) fn parsed<T: FromStr<Err = anyhow::Error>>(text: &str) -> std::result::Result<T, String> {
    text.parse().map_err(|error: anyhow::Error| format!("{error:#}"))
}

/// Returns nanoseconds.
fn simulated_time(text: &str) -> std::result::Result<u64, String> {
    let time = humantime::parse_duration(text).map_err(|error| format!("{error}; write for example 500us or 20ms"))?;
    if time > LONGEST { Err("more than an hour".to_owned()) } else { Ok(time.as_nanos() as u64) }
}

impl Flags {
    /// Returns the one machine of a sweep.
    ///
    /// # Errors
    /// More are named.
    pub(crate) fn machine(&self) -> Result<&str> {
        match self.machines.as_slice() {
            [] => Ok(setup::DEFAULT_MACHINE),
            [one] => Ok(one),
            _ => bail!(
                "--machine: a sweep has one machine, and {} are named; only --record has more",
                self.machines.len()
            ),
        }
    }

    /// Returns the locks of a sweep.
    pub(crate) fn locks(&self) -> Vec<String> {
        if self.locks.is_empty() { setup::DEFAULT_LOCKS.map(str::to_owned).to_vec() } else { self.locks.clone() }
    }

    pub(crate) fn axes(&self) -> Axes {
        Axes { cpus: self.cpus.clone(), nodes: self.nodes.clone(), threads: self.threads.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(simulated_time("20ms"), Ok(20_000_000));
        assert_eq!(simulated_time("1s 500us"), Ok(1_000_500_000));
        for text in ["20", "ms", "-1ms", "", "2h"] {
            assert!(simulated_time(text).is_err(), "{text}");
        }
    }
}
