//! Pages and pictures as Jinja templates, which are in `templates`: what stands there beside which figure of a report.
//!
//! | in a template | what |
//! |---|---|
//! | `x\|fixed(2)`, `x\|ratio`, `x\|time` | a number with two decimals; with three digits; nanoseconds |
//! | `x\|figure("seconds")`, `x\|speed` | a figure with its unit; a ratio with three decimals |
//! | `v\|geometric_mean` | of a list |
//! | `text\|escaped`, `text\|filled("", "  ")` | not markup; in lines that fit, behind these indents |
//! | `ratios(v, left, right, lines)`, `x\|at(axis)` | an axis of ratios; where a value lies on it |
//! | `fail(why)` | an error |

use anyhow::{Context, Result};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde::{Deserialize, Serialize};
use turnwise_present::chart::Axis as Scale;
use turnwise_present::figures::{three, time};
use turnwise_present::stats::geometric_mean;

/// No line that is filled is longer.
const COLUMNS: usize = 100;

/// Renders a template; `name` is for complaints.
pub(crate) fn render(name: &str, template: &str, values: impl Serialize) -> Result<String> {
    let template = [include_str!("templates/common.jinja"), template].concat();
    environment().render_named_str(name, &template, Serde(values)).with_context(|| format!("cannot write {name}"))
}

fn environment() -> Environment<'static> {
    let mut env = turnwise_present::template::environment();
    // Reports leave out what is not known.
    env.set_undefined_behavior(UndefinedBehavior::Chainable);
    env.add_filter("ratio", |value: Value| shown(value, ratio));
    env.add_filter("time", |value: Value| shown(value, time));
    env.add_filter("figure", |value: Value, unit: String| shown(value, |value| figure(value, &unit)));
    env.add_filter("geometric_mean", |values: Vec<f64>| geometric_mean(values.into_iter()));
    env.add_filter("escaped", |text: String| text.replace('&', "&amp;").replace('<', "&lt;"));
    env.add_filter("speed", |value: Value| shown(value, speed));
    env.add_filter("filled", filled);
    env.add_filter("at", |value: f64, Serde(axis): Serde<Axis>| axis.at(value));
    env.add_function("ratios", |values: Vec<f64>, left: f64, right: f64, lines: Option<Vec<f64>>| {
        Serde(Axis::of(&values, left, right, lines))
    });
    env.add_function("fail", |why: String| Err::<(), _>(Error::new(ErrorKind::InvalidOperation, why)));
    env
}

fn shown(value: Value, show: impl Fn(f64) -> String) -> String {
    f64::try_from(value).map_or_else(|_| String::new(), show)
}

/// Formats three digits, also of values far below 1.
fn ratio(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.01 { three(value) } else { format!("{value:.1e}") }
}

/// Formats a ratio, with three places where they are significant.
pub(crate) fn speed(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 9.9995 => format!("{ratio:.3}"),
        ratio if ratio < 999.5 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.1e}"),
    }
}

/// Formats a figure of a program or a cell with its unit.
fn figure(value: f64, unit: &str) -> String {
    match (unit, value) {
        ("seconds", value) => format!("{value:.3} s"),
        ("per_second", value) if value >= 1e6 => format!("{:.2} M/s", value / 1e6),
        ("per_second", value) if value >= 1e3 => format!("{:.1} k/s", value / 1e3),
        ("per_second", value) => format!("{value:.1} /s"),
        (_, ns) if ns < 999.5 => format!("{ns:.*} ns", if ns < 99.95 { 2 } else { 1 }),
        (_, ns) if ns < 999.5e3 => format!("{:.2} us", ns / 1e3),
        (_, ns) => format!("{:.2} ms", ns / 1e6),
    }
}

/// Fills a paragraph in lines behind `first`, the further ones behind `others`.
fn filled(paragraph: &str, first: &str, others: &str) -> String {
    let options = textwrap::Options::new(COLUMNS).initial_indent(first).subsequent_indent(others);
    textwrap::fill(paragraph, options.word_splitter(textwrap::WordSplitter::NoHyphenation))
}

/// An axis of ratios: 1 has a line of its own.
#[derive(Serialize, Deserialize)]
struct Axis {
    left: f64,
    right: f64,
    low: f64,
    high: f64,
    log: bool,
    lines: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    x: f64,
    is_one: bool,
    /// Empty: there is no room for it.
    label: String,
}

impl Axis {
    /// Returns an axis with room for all `values`, which are above zero, and for 1. Far ones are cut off: no reader
    /// compares beyond a factor of 100. `lines`: at these, instead of round numbers.
    fn of(values: &[f64], left: f64, right: f64, lines: Option<Vec<f64>>) -> Axis {
        const FAR: f64 = 100.0;
        /// From this factor on ratios are easier to compare than differences.
        const SPREAD: f64 = 3.0;
        let (low, high) =
            values.iter().fold((1.0_f64, 1.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
        let (low, high) = ((low * 0.9).max(1.0 / FAR), (high * 1.1).min(FAR));
        let mut axis = Axis { left, right, low, high, log: high > SPREAD * low, lines: Vec::new() };
        let step = if high - low > 1.0 { 0.5 } else { 0.1 };
        let lines = lines.unwrap_or_else(|| match axis.log {
            true => vec![0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0],
            false => (0..60).map(|n| f64::from(n) * step).collect(),
        });
        axis.lines = axis.labelled(lines.into_iter().filter(|line| (low..=high).contains(line)));
        axis
    }

    /// Returns lines with as many labels as have room; that at 1 comes before the others.
    fn labelled(&self, values: impl Iterator<Item = f64>) -> Vec<Line> {
        /// Labels are at most this wide.
        const LABEL: f64 = 30.0;
        let (one, mut free_from) = (self.at(1.0), f64::NEG_INFINITY);
        let line = |value: f64| {
            let (x, is_one) = (self.at(value), (value - 1.0).abs() < 1e-9);
            let label = match is_one {
                true => "equal".to_owned(),
                false if x < free_from || (x - one).abs() < LABEL => String::new(),
                false => format!("{}x", (value * 100.0).round() / 100.0),
            };
            free_from = if label.is_empty() { free_from } else { x + LABEL };
            Line { x, is_one, label }
        };
        values.map(line).collect()
    }

    /// Returns where a value lies; at an end, if it is beyond.
    fn at(&self, value: f64) -> f64 {
        let Axis { left, right, low, high, log, .. } = *self;
        left + (right - left) * Scale { low, high, log }.at(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_logarithmic_where_ratios_spread() {
        let near = Axis::of(&[0.9, 1.2], 0.0, 100.0, None);
        assert!(!near.log && near.lines.len() == 5);
        let far = Axis::of(&[0.001, 1.0, 4.0], 0.0, 100.0, None);
        assert!(far.log && far.low == 0.01 && far.lines.last().map(|line| line.x) == Some(far.at(2.0)));
        assert_eq!((far.at(0.0001), far.at(1e6)), (0.0, 100.0));
    }

    #[test]
    fn labels_leave_room_for_each_other() {
        let axis = Axis::of(&[0.01, 5.0], 0.0, 240.0, None);
        assert_eq!(axis.lines.len(), 9);
        let places: Vec<f64> = axis.lines.iter().filter(|line| !line.label.is_empty()).map(|line| line.x).collect();
        assert!(places.len() > 3 && places.windows(2).all(|pair| pair[1] - pair[0] >= 30.0), "{places:?}");
        assert!(axis.lines.iter().any(|line| line.label == "equal"));
    }

    #[test]
    fn items_go_on_under_their_words() {
        let text = filled(&format!("- {}", "word ".repeat(40).trim_end()), "  ", "    ");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.starts_with("  - word") && text.lines().nth(1).unwrap().starts_with("    word"), "{text}");
    }

    #[test]
    fn figures_have_units() {
        let shown = [2.5e6, 2.5e3, 2.5].map(|value| figure(value, "per_second"));
        assert_eq!(
            (figure(0.25, "seconds").as_str(), shown),
            ("0.250 s", ["2.50 M/s", "2.5 k/s", "2.5 /s"].map(str::to_owned))
        );
    }

    #[test]
    fn what_is_not_known_is_empty() {
        let page = |template: &str| render("a page", template, serde_json::json!({ "known": 2.0 })).unwrap();
        assert_eq!(page("{{known|ratio}}|{{known.not|ratio}}|{{unknown.not|time}}|"), "2.00|||");
        assert!(render("a page", "{{fail('no such')}}", ()).is_err());
    }
}
