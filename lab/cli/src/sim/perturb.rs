//! Unlikely schedules on the command line: `none`, `stalls`, `pct:500:200us`.

use anyhow::{Context, Result, bail, ensure};
use std::fmt;
use std::str::FromStr;
use turnwise_present::figures::duration;
use turnwise_sim::Perturb;

/// How often a thread stalls by default, of a million operations.
const PER_MILLION: u32 = 1000;
/// The longest stall by default: longer than a wait in a queue, shorter than a time slice.
const MAX_NS: u64 = 50_000;
/// No stall is longer.
const LONGEST_NS: u64 = 1_000_000_000;

/// A schedule that the machine alone would seldom make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Schedule(pub(crate) Perturb);

impl FromStr for Schedule {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Schedule> {
        let (kind, numbers) = text.split_once(':').map_or((text, None), |(kind, numbers)| (kind, Some(numbers)));
        let (per_million, max_ns) = numbers.map_or(Ok((PER_MILLION, MAX_NS)), amounts)?;
        Ok(Schedule(match kind {
            "none" if numbers.is_none() => Perturb::None,
            "stalls" => Perturb::Stalls { per_million, max_ns },
            "pct" => Perturb::Pct { per_million, max_ns },
            _ => bail!("write none, stalls or pct; or stalls:N:TIME, pct:N:TIME"),
        }))
    }
}

/// Parses `1000:50us`: how often, how long.
fn amounts(text: &str) -> Result<(u32, u64)> {
    let (often, long) = text.split_once(':').with_context(|| format!("{text:?} is not N:TIME, as 1000:50us"))?;
    let per_million = often.parse().ok().filter(|n| (1..=1_000_000).contains(n));
    let per_million = per_million.with_context(|| format!("expected a number from 1 to 1000000, got {often:?}"))?;
    let time =
        humantime::parse_duration(long).with_context(|| format!("expected a duration such as 50us, got {long:?}"))?;
    let max_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    ensure!((1..=LONGEST_NS).contains(&max_ns), "{long}: a stall takes at least 1ns and at most 1s");
    Ok((per_million, max_ns))
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Perturb::None => f.write_str("none"),
            Perturb::Stalls { per_million, max_ns } => write!(f, "stalls:{per_million}:{}", duration(max_ns)),
            Perturb::Pct { per_million, max_ns } => write!(f, "pct:{per_million}:{}", duration(max_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_amounts() {
        for (text, shown) in
            [("none", "none"), ("stalls", "stalls:1000:50us"), ("pct:7:2ms", "pct:7:2ms"), ("pct", "pct:1000:50us")]
        {
            let schedule: Schedule = text.parse().unwrap();
            assert_eq!(schedule.to_string(), shown);
            assert_eq!(shown.parse::<Schedule>().unwrap(), schedule);
        }
        for text in ["", "some", "none:1:1us", "pct:", "pct:0:1us", "pct:1:1", "pct:1:2s", "stalls:2000000:1us"] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
