//! A paper's tables, claims, listings and curves: `report.jinja` in its folder states in TOML which figure of
//! ours stands beside which published one, how far it may be off, and what is said of it. What the paper published is
//! `published` there, what its runs showed is `ours`.
//!
//! | in a template | what |
//! |---|---|
//! | `change(a, b)`, `mean(v)` | the change from a to b, per cent; the mean over the seeds |
//! | `value(v)`, `seeds(v)` | lines of a row: our mean with its standard error, and with the range of the seeds |
//! | `gain(a, b)` | the same lines, of the change from the mean of a to that of b |
//! | `within(bound, published, ours)` | whether a bound holds |
//! | `judge(bound, published, v)`, `judge(bound, published, a, b)` | the same of a mean, or of a gain, with its noise |
//! | `verdicts\|all` | whether all hold |
//! | `verdict(size, direction)` | the verdict on a claim, of two verdicts, or of truth values |
//! | `x\|digits`, `x\|time`, `x\|fixed(1)`, `x\|signed(0)` | a number; nanoseconds; with one decimal; with a sign |

use crate::Paper;
use crate::mean::{Mean, change, gain, mean};
use crate::report::{Bound, Claim, Fitted, Listing, PaperReport, Plot, Table, Verdict};
use anyhow::{Context as _, Result};
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, escape_formatter};
use serde::{Deserialize, Serialize};
use turnwise_bench::published;
use turnwise_present::stats::Spread;
use turnwise_present::template::{self, Environment, Serde};

/// What a template states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    published_on: Option<String>,
    workload: Option<String>,
    /// Besides those of the text.
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    fitted: Vec<Fitted>,
    tables: Vec<Table>,
    claims: Vec<Claim>,
    listings: Vec<Listing>,
    #[serde(default)]
    plots: Vec<Plot>,
}

/// What a template knows.
#[derive(Serialize)]
struct Values<T> {
    published: toml::Table,
    ours: T,
}

impl PaperReport {
    /// Adds what the paper's template states of these figures.
    ///
    /// # Errors
    /// The template is wrong, or a row's key is not in `published.toml`.
    pub(crate) fn state(self, ours: impl Serialize) -> Result<PaperReport> {
        let name = format!("{}/report.jinja", self.name);
        let values = Values { published: published::typed(&self.name)?, ours };
        let text = template::render(&environment(), &name, Paper::named(&self.name)?.report, values)?;
        let stated: Stated = toml::from_str(&text).with_context(|| format!("{name}: {text}"))?;
        let Stated { published_on, workload, notes, fitted, mut tables, claims, listings, plots } = stated;
        for row in tables.iter_mut().flat_map(|table| &mut table.rows) {
            row.complete()?;
        }
        let (published_on, workload) = (published_on.unwrap_or(self.published_on), workload.unwrap_or(self.workload));
        let notes = notes.into_iter().chain(self.notes).collect();
        Ok(PaperReport { published_on, workload, notes, fitted, tables, claims, listings, plots, ..self })
    }
}

/// Returns what the templates of all papers have.
fn environment() -> Environment<'static> {
    let mut env = template::environment();
    env.set_formatter(|out, state, value| match value.kind() {
        ValueKind::Bool | ValueKind::Number => Ok(out.write_str(&toml(value.clone()))?),
        ValueKind::Seq => Ok(out.write_str(&serde_json::to_string(value).unwrap_or_default())?),
        _ => escape_formatter(out, state, value),
    });
    env.add_function("change", change);
    env.add_function("mean", |values: Vec<f64>| mean(values).0);
    env.add_function("value", |values: Vec<f64>| lines(mean(values)));
    env.add_function("gain", |before: Vec<f64>, after: Vec<f64>| lines(gain(&before, &after)));
    env.add_function("seeds", |values: Vec<f64>| {
        let spread = Spread::of(&values).filter(|_| values.len() > 1);
        lines(mean(values))
            + &spread.map_or_else(String::new, |s| format!("\nrange = [{}, {}]", toml(s.min), toml(s.max)))
    });
    env.add_function("within", |Serde(bound): Serde<Bound>, published: f64, ours: f64| bound.holds(published, ours));
    env.add_function("judge", |Serde(bound): Serde<Bound>, said: f64, values: Vec<f64>, after: Option<Vec<f64>>| {
        Serde(bound.judge(said, after.map_or_else(|| mean(values.iter().copied()), |after| gain(&values, &after))))
    });
    env.add_filter("all", |of: Vec<Value>| -> Result<_, Error> {
        let verdicts: Vec<Verdict> = of.into_iter().map(truth).collect::<Result<_, _>>()?;
        Ok(Serde(verdicts.into_iter().max().unwrap_or(Verdict::Holds)))
    });
    env.add_function("verdict", |size: Value, direction: Value| -> Result<_, Error> {
        Ok(Serde(match (truth(size)?, truth(direction)?) {
            (Verdict::Holds, _) => Verdict::Holds,
            (_, Verdict::Holds) => Verdict::Direction,
            (size, direction) => size.min(direction),
        }))
    });
    env
}

/// Returns a verdict, or that of a truth value.
fn truth(value: Value) -> Result<Verdict, Error> {
    Ok(match value.kind() {
        ValueKind::Bool if value.is_true() => Verdict::Holds,
        ValueKind::Bool => Verdict::Fails,
        _ => Verdict::deserialize(value)?,
    })
}

/// Returns the lines of a row with this figure.
fn lines((ours, error): Mean) -> String {
    let error = error.map_or_else(String::new, |error| format!("\nstandard_error = {}", toml(error)));
    format!("ours = {}{error}", toml(ours))
}

/// Returns a number or a truth value as TOML has it.
fn toml(value: impl Into<Value>) -> String {
    value.into().to_string().to_lowercase()
}
