//! The flags of `turnwise compare`.

use super::looks;
use crate::arm::Arm;
use crate::metric::Combine;
use crate::policy;
use crate::target::{SAMPLE_HELP, long_help};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use turnwise_preload_abi::Policy;

/// Compare lock policies under an unmodified program
///
/// Runs the program repeatedly, in rounds of one run per policy, in random order within a round, until it can
/// distinguish the policies, or gives up. Prints median, spread, and the ratio to the first policy with its 95%
/// bootstrap confidence interval. The verdict is on the first --metric, or on wall time.
#[derive(clap::Args)]
#[command(after_help = SAMPLE_HELP, after_long_help = long_help(EXAMPLES))]
pub(crate) struct Args {
    /// Policies to compare, repeated or comma-separated; the first is the baseline, or libc if there is only one
    #[arg(long = "lock", value_name = "POLICY", value_delimiter = ',', value_parser = policy::parser(),
          default_values = [Policy::Libc.name(), policy::DEFAULT.name()])]
    pub(super) locks: Vec<Policy>,
    /// A policy file to compare as well (docs/policy-files.md); may be repeated
    #[arg(long = "policy", value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// An arm that runs the program behind a command, with POLICY [default: libc]; may be repeated
    ///
    /// Words are split as a shell would. The command must start what follows it, as taskset, numactl, env and
    /// `turnwise profile --` do. 'again:' alone is libc a second time: any difference is then noise.
    #[arg(long = "arm", value_name = "NAME: [--lock POLICY] [COMMAND ...]", value_parser = Arm::parse)]
    pub(super) arms: Vec<Arm>,
    /// Profile the program first, and compare libc with what the profile advises
    #[arg(long, conflicts_with_all = ["locks", "files"])]
    pub(super) advise: bool,
    /// Exact number of runs per policy [default: as many as the verdict needs]
    ///
    /// Without it, the interval is computed after 8, 12, 18, 27 and 40 runs of each, and allows for repeated
    /// looks. It ends once every policy is distinguished from the first, or within --margin of it, or at --max-runs or
    /// --max-time.
    #[arg(long, value_name = "N", value_parser = parse_runs, conflicts_with_all = ["max_runs", "max_time"])]
    pub(super) runs: Option<u32>,
    /// Maximum number of runs per policy
    #[arg(long, value_name = "N", default_value_t = looks::MOST, value_parser = parse_max_runs)]
    pub(super) max_runs: u32,
    /// Maximum time in seconds; the first 8 runs per policy are made regardless
    #[arg(long, value_name = "S", default_value = "600", value_parser = parse_time)]
    pub(super) max_time: Duration,
    /// Ignore differences up to this many percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_margin)]
    pub(super) margin: f64,
    /// Warm-up runs per policy, which are not counted
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) warmup: u32,
    /// Regular expression for a figure in the program's output: its first group is the number; a named group names it
    #[arg(long = "metric", value_name = "REGEX")]
    pub(super) metrics: Vec<String>,
    /// How to combine several matches of a metric in one run
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Combine::Sum)]
    pub(super) metric_combine: Combine,
    /// Higher is better for all --metric (the default unless the pattern mentions time)
    #[arg(long, conflicts_with = "lower_is_better")]
    pub(super) higher_is_better: bool,
    /// Lower is better for all --metric (the default if the pattern mentions time)
    #[arg(long)]
    pub(super) lower_is_better: bool,
    /// Kill a run after this many seconds
    #[arg(long, value_name = "S", default_value = "300", value_parser = parse_time)]
    pub(super) timeout: Duration,
    /// Count runs that exit with a non-zero status
    #[arg(long)]
    pub(super) any_status: bool,
    /// Also write everything as one JSON document; - prints it instead of the text
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Show the output of the program on standard error
    #[arg(long)]
    pub(super) show_output: bool,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// The program and its arguments; it gets no input
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    pub(super) command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  turnwise compare
  turnwise compare -- ./server-benchmark --threads 8
  turnwise compare --metric 'time: ([0-9.]+)' -- kccachetest order -th 4 -rnd 500000
  turnwise compare --lock libc,adaptive,queued --runs 15 --json result.json -- ./bench
  turnwise compare --advise -- ./server-benchmark
  turnwise compare --max-runs 100 --max-time 3600 --margin 2 -- ./bench
  turnwise compare --policy server.toml -- ./server-benchmark
  turnwise compare --arm 'one CPU: taskset -c 0' --arm 'ours, one CPU: --lock adaptive taskset -c 0' -- ./bench
  turnwise compare --arm 'other: env LD_PRELOAD=/usr/lib/libother.so' -- ./bench
  turnwise compare --metric 'ops/s: (?<throughput>[0-9.]+)' -- ./bench
  turnwise compare -- @sample -t 16 -r 0.5";

fn parse_runs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(runs) if runs >= 2 => Ok(runs),
        Ok(1) => Err("one run has no spread: use at least 2, and 6 for a verdict".to_owned()),
        _ => Err("expected a whole number, 2 or more; a verdict needs 6".to_owned()),
    }
}

fn parse_max_runs(text: &str) -> Result<u32, String> {
    let first = looks::FIRST;
    match text.parse() {
        Ok(runs) if runs >= first => Ok(runs),
        Ok(_) => Err(format!("the first look is after {first} runs; for fewer, use --runs")),
        Err(_) => Err(format!("expected a whole number, {first} or more")),
    }
}

fn parse_margin(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).parse() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err("expected a percentage, above 0 and up to 100".to_owned()),
    }
}

/// Reads a time with its unit, in seconds if there is none.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("min", 60.0), ("h", 3600.0)];
    let start = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(start);
    let wrong = || format!("expected a time above zero, as 10s, 500ms or 2m, and not `{text}`");
    let seconds = match unit {
        "" => 1.0,
        unit => units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1,
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let ms = |text: &str| parse_time(text).map(|time| time.as_millis());
        let times = ["10", "10s", "0.5", "500ms", "2m", "1min", "1h"].map(|text| ms(text).unwrap());
        assert_eq!(times, [10_000, 10_000, 500, 500, 120_000, 60_000, 3_600_000]);
        for wrong in ["", "s", "-1", "0", "0ms", "10 parsecs", "1e999", "nan", "inf"] {
            assert!(parse_time(wrong).unwrap_err().contains("500ms"), "{wrong}");
        }
    }
}
