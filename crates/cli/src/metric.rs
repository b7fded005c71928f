//! The compared figures: those that the kernel charges, and those that the program prints.

use crate::measure::Usage;
use anyhow::{Context, Result, bail};
use regex_lite::Regex;
use serde::Serialize;

/// How several matches in one run become one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Combine {
    /// Their sum
    Sum,
    /// The last one
    Last,
    /// Their mean
    Mean,
}

impl Combine {
    fn of(self, values: &[f64]) -> f64 {
        let sum: f64 = values.iter().sum();
        match self {
            Combine::Sum => sum,
            Combine::Last => *values.last().unwrap_or(&f64::NAN),
            Combine::Mean => sum / values.len() as f64,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    Higher,
    Lower,
}

/// The unit of a value, for the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    Seconds,
    Bytes,
    Count,
    /// The unit is whatever the program printed.
    Printed,
}

#[derive(Clone, Serialize)]
pub(crate) struct Metric {
    /// Its key in JSON and its name in the table.
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    /// Whether the verdict is on it.
    pub(crate) decides: bool,
    /// For a metric that the program prints.
    pub(crate) pattern: Option<String>,
    pub(crate) combine: Option<Combine>,
    #[serde(skip)]
    pub(crate) regex: Option<Regex>,
    /// For a metric of every run.
    #[serde(skip)]
    pub(crate) charged: Option<fn(&Usage) -> f64>,
}

/// A metric of every run: its name, its help, its unit, and its value.
type Charged = (&'static str, &'static str, Unit, fn(&Usage) -> f64);

/// The metrics in the order in which users read them; lower is better for all.
const CHARGED: [Charged; 6] = [
    ("wall_s", "wall time", Unit::Seconds, |usage| usage.wall_s),
    ("user_s", "CPU time in the program", Unit::Seconds, |usage| usage.user_s),
    ("system_s", "CPU time in the kernel", Unit::Seconds, |usage| usage.system_s),
    ("voluntary_switches", "context switches because a thread slept or waited", Unit::Count, |of| {
        of.voluntary_switches as f64
    }),
    ("involuntary_switches", "context switches because a thread's time was up", Unit::Count, |of| {
        of.involuntary_switches as f64
    }),
    ("max_rss_bytes", "largest resident set (never below turnwise's own)", Unit::Bytes, |of| of.max_rss_bytes as f64),
];

/// Returns names and meanings of the metrics that need no pattern.
pub(crate) fn charged_help() -> impl Iterator<Item = (&'static str, &'static str)> {
    CHARGED.iter().map(|(name, help, ..)| (*name, *help))
}

/// Returns the metrics of every run.
pub(crate) fn charged() -> Vec<Metric> {
    CHARGED.map(|(name, _, unit, of)| Metric { charged: Some(of), ..Metric::new(name, unit, Better::Lower) }).into()
}

/// Returns a metric's readable name: for a pattern, the words before its number (`orders per second: ([0-9.]+)`), if
/// they are plain.
pub(crate) fn title(name: &str) -> &str {
    let Some((words, _)) = name.split_once('(') else { return name };
    let words = words.trim_start_matches('^').trim_end_matches([' ', ':', '=']);
    let is_plain = !words.is_empty() && !words.contains(['\\', '[', ']', '.', '*', '+', '?', '{', '}', '|', '$', '^']);
    if is_plain { words } else { name }
}

/// The reason that a program's output gives no value; see [`Metric::value`].
#[derive(PartialEq, Debug)]
pub(crate) enum Missing {
    NoMatch,
    NotANumber(String),
}

impl Metric {
    fn new(name: &str, unit: Unit, better: Better) -> Metric {
        let (name, decides) = (name.to_owned(), false);
        Metric { name, unit, better, decides, pattern: None, combine: None, regex: None, charged: None }
    }

    /// Returns a metric that the program prints: the first group of `pattern`.
    ///
    /// The group's name names it (`(?<ops>[0-9]+)`), otherwise the pattern does. `reported` states the better
    /// direction; by default, lower is better if the pattern mentions time.
    pub(crate) fn printed(pattern: &str, combine: Combine, reported: Option<Better>) -> Result<Metric> {
        let regex =
            Regex::new(pattern).with_context(|| format!("--metric '{pattern}' is not a valid regular expression"))?;
        if regex.captures_len() < 2 {
            bail!("--metric '{pattern}' has no group around the number, as in 'ops: ([0-9.]+)'");
        }
        let name = regex.capture_names().nth(1).flatten().unwrap_or(pattern).to_owned();
        if CHARGED.iter().any(|(charged, ..)| *charged == name) {
            bail!("--metric '{pattern}': the name {name} is taken; give the group another one");
        }
        let guess = if speaks_of_time(pattern) { Better::Lower } else { Better::Higher };
        let metric = Metric::new(&name, Unit::Printed, reported.unwrap_or(guess));
        Ok(Metric { pattern: Some(pattern.to_owned()), combine: Some(combine), regex: Some(regex), ..metric })
    }

    /// Returns a metric that is measured on a continuously running program.
    pub(crate) fn measured(name: &str, better: Better) -> Metric {
        Metric { decides: true, ..Metric::new(name, Unit::Printed, better) }
    }

    /// Returns the value in one run, and the number of matches that it is combined from.
    pub(crate) fn value(&self, usage: &Usage, output: &str) -> Result<(f64, usize), Missing> {
        if let Some(of) = self.charged {
            return Ok((of(usage), 1));
        }
        let (Some(regex), Some(combine)) = (&self.regex, self.combine) else { return Err(Missing::NoMatch) };
        let groups = regex.captures_iter(output).filter_map(|found| found.get(1));
        let numbers: Result<Vec<f64>, Missing> = groups.map(|group| number(group.as_str())).collect();
        let numbers = numbers?;
        if numbers.is_empty() {
            return Err(Missing::NoMatch);
        }
        Ok((combine.of(&numbers), numbers.len()))
    }
}

/// Parses a number as programs print it; commas between digits are taken as thousands separators.
fn number(text: &str) -> Result<f64, Missing> {
    let plain = text.trim().replace(',', "");
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Missing::NotANumber(text.to_owned())),
    }
}

fn speaks_of_time(pattern: &str) -> bool {
    let words = pattern.split(|letter: char| !letter.is_ascii_alphabetic());
    words.map(str::to_ascii_lowercase).any(|word| {
        ["time", "times", "elapsed", "latency", "latencies", "duration", "wait", "delay"].contains(&word.as_str())
            || word.ends_with("time")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pattern: &str, combine: Combine) -> Metric {
        Metric::printed(pattern, combine, None).unwrap()
    }

    fn value(metric: &Metric, output: &str) -> Result<(f64, usize), Missing> {
        metric.value(&Usage::default(), output)
    }

    #[test]
    fn a_pattern_is_titled_by_its_words() {
        assert_eq!(title("orders per second: ([0-9.]+)"), "orders per second");
        assert_eq!(title("^ops = ([0-9]+)"), "ops");
        for name in ["throughput", "([0-9.]+) ops", "time.*: ([0-9]+)"] {
            assert_eq!(title(name), name);
        }
    }

    #[test]
    fn combines_matches() {
        let output = "set: time: 1.5\nget: time: 2.5\nremove: time: 1e1\n";
        let of = |combine| value(&printed(r"time: ([0-9.e]+)", combine), output).unwrap();
        assert_eq!(of(Combine::Sum), (14.0, 3));
        assert_eq!(of(Combine::Last), (10.0, 3));
        assert_eq!(of(Combine::Mean), (14.0 / 3.0, 3));
    }

    #[test]
    fn says_what_is_missing() {
        let metric = printed(r"ops: (\S+)", Combine::Sum);
        assert_eq!(value(&metric, "1,234,567 in ops: 1,234.5"), Ok((1234.5, 1)));
        assert_eq!(value(&metric, "nothing"), Err(Missing::NoMatch));
        assert_eq!(value(&metric, "ops: many"), Err(Missing::NotANumber("many".into())));
        assert_eq!(value(&metric, "ops: nan"), Err(Missing::NotANumber("nan".into())));
    }

    #[test]
    fn refuses_bad_patterns() {
        let complaint = |pattern| format!("{:#}", Metric::printed(pattern, Combine::Sum, None).err().unwrap());
        assert!(complaint("(").contains("is not a valid regular expression"));
        assert!(complaint("ops: [0-9]+").contains("no group"));
        assert!(complaint("(?<wall_s>[0-9]+)").contains("taken"));
    }

    #[test]
    fn knows_times() {
        let better = |pattern| printed(pattern, Combine::Sum).better;
        assert_eq!(better("time: ([0-9.]+)"), Better::Lower);
        assert_eq!(better("(?<runtime_ms>[0-9.]+) ms"), Better::Lower);
        assert_eq!(better("ops_per_second: ([0-9.]+)"), Better::Higher);
        assert_eq!(Metric::printed("time: (.)", Combine::Sum, Some(Better::Higher)).unwrap().better, Better::Higher);
    }

    #[test]
    fn names_come_from_the_group() {
        assert_eq!(printed("ops: (?<ops>[0-9]+)", Combine::Sum).name, "ops");
        assert_eq!(printed("ops: ([0-9]+)", Combine::Sum).name, "ops: ([0-9]+)");
    }
}
