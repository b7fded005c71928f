//! The command line of `turnwise-lab aim7`.

use crate::sim::args::parsed;
use crate::sim::setup::MachineParser;
use anyhow::{Context, Result};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use turnwise_aim7::{Ramp, SETS, Set};
use turnwise_vfs::journal;

/// Run AIM7's mixes of jobs: many users, each a list of jobs in random order
///
/// Users are threads. Their files are on Turnwise's in-memory file system, their processes on small models of the
/// kernel objects that processes contend on, all of it built of the locks of --locks. Prints jobs a minute (JPM), how
/// evenly users finish (JTI), CPU time and context switches for each number of users.
///
/// Exit status: 0 fine, 2 bad usage, a wrong workfile or I/O, 3 a simulated run got stuck.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The mix of jobs: a name (see `--list`) or a file of your own
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(crate) workfile: Option<String>,
    /// Numbers of users: 10..2000 goes by tens to 100 and then by hundreds; also 1,4-8,10-90:10
    #[arg(long, short, value_name = "RANGES", default_value = "10", value_parser = parsed::<Ramp>)]
    pub(crate) users: Ramp,
    /// Sets of locks, repeated or comma-separated (see `--list`)
    #[arg(long, value_name = "SET", value_delimiter = ',', default_value = "today", value_parser = set_parser())]
    pub(crate) locks: Vec<String>,
    /// Run in the simulator, on this machine: a name (see `turnwise-lab sim --list`) or a machine file
    #[arg(long, value_name = "NAME|FILE", value_parser = MachineParser)]
    pub(crate) machine: Option<String>,
    /// Use the first N nodes of the simulated machine, as numactl would [default: all]
    #[arg(long, value_name = "N", requires = "machine")]
    pub(crate) nodes: Option<u32>,
    /// Divide the work of each job by n, and scale JPM back [default: 1; simulated: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) scale: Option<u32>,
    /// What a job computes for itself, the same for every job [default: 1ms; simulated: 3ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) compute: Option<Duration>,
    /// Directories that files go into
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) directories: u32,
    /// File systems that the directories are spread over; at most one per directory
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) file_systems: u32,
    /// Whether file systems have a journal, and after how many handles a transaction is committed: off or a number
    #[arg(long, value_name = "OFF|N", default_value = "off", value_parser = parsed::<Journal>)]
    pub(crate) journal: Journal,
    /// Look up the path of every file that a program maps, as `perf record` does
    #[arg(long)]
    pub(crate) profiler: bool,
    /// Simulated time to measure
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = time, requires = "machine")]
    pub(crate) duration: Duration,
    /// Simulated warm-up time before it
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = time, requires = "machine")]
    pub(crate) warm_up: Duration,
    /// Simulate every user from its first job to its last, instead of a window
    #[arg(long, requires = "machine", conflicts_with_all = ["duration", "warm_up"])]
    pub(crate) whole: bool,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << 53))]
    pub(crate) seed: u64,
    /// Also write the report as JSON; - prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// List workfiles, jobs and sets of locks, and exit
    #[arg(long)]
    pub(crate) list: bool,
}

const EXAMPLES: &str = "\
Examples:
  turnwise-lab aim7 --workfile new_fserver --users 10..100
  turnwise-lab aim7 -w my.workfile -u 4,8 --locks linux-3.7,today
  turnwise-lab aim7 -w fserver -u 1500 --machine westmere-ex-80 --locks linux-3.7,linux-3.7-patch-2 \\
      --journal 1000 --directories 16";

/// Whether the file systems have a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Journal(Option<u32>);

impl FromStr for Journal {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Journal> {
        if text == "off" {
            return Ok(Journal(None));
        }
        let handles = text.parse().ok().filter(|&handles: &u32| handles > 0);
        handles
            .map(|handles| Journal(Some(handles)))
            .with_context(|| format!("expected off or a number above 0, got {text:?}"))
    }
}

impl Journal {
    pub(crate) fn config(self) -> Option<journal::Config> {
        self.0.map(|handles_per_commit| journal::Config { handles_per_commit, ..journal::Config::default() })
    }
}

impl Args {
    /// Returns the sets of locks, each once.
    pub(crate) fn sets(&self) -> Result<Vec<&'static Set>> {
        let mut sets: Vec<&'static Set> = Vec::new();
        for name in &self.locks {
            let set = Set::find(name).with_context(|| format!("no set of locks {name}"))?;
            if !sets.iter().any(|known| std::ptr::eq(*known, set)) {
                sets.push(set);
            }
        }
        Ok(sets)
    }
}

fn set_parser() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(SETS.iter().map(|set| PossibleValue::new(set.name).help(set.help)))
}

/// No time is longer: a job's computing has to be a number of nanoseconds in 32 bits.
const LONGEST: Duration = Duration::from_secs(4);

fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| format!("{error}; write for example 500us or 20ms"))?;
    if time > LONGEST { Err("more than 4 s".to_owned()) } else { Ok(time) }
}
