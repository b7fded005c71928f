//! A paper's tables, claims, listings and curves: `report.jinja` in its folder states in TOML which figure of
//! ours stands beside which published one, how far it may be off, and what is said of it. What the paper published is
//! `published` there, what its runs showed is `ours`. The text apart from figures is in `words.toml`.
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

use crate::explanations::Explanation;
use crate::mean::{Mean, change, gain, mean};
use crate::numbers::Numbers;
use crate::report::{Bound, Claim, Fitted, Listing, PaperReport, Plot, Table, Verdict};
use crate::{Context, Paper};
use anyhow::{Context as _, Result, ensure};
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, escape_formatter};
use serde::{Deserialize, Serialize};
use toml::map::Entry;
use turnwise_bench::published;
use turnwise_present::stats::Spread;
use turnwise_present::template::{self, Environment, Serde};
use turnwise_sim::spec::Machine;
use turnwise_simbench::report::SimMachine;

/// What is said of a paper: `words.toml` and what the template states, together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    /// Otherwise it is published.
    published_on: Option<String>,
    /// What the threads do; otherwise it is published.
    workload: Option<String>,
    chosen: Vec<String>,
    facts: Vec<String>,
    left_out: Vec<String>,
    notes: Vec<String>,
    #[serde(rename = "why")]
    whys: Vec<Explanation>,
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
struct Values {
    published: toml::Table,
    ours: Value,
}

impl PaperReport {
    /// Returns the report of a paper: its words, with these numbers of the model, and what its template states of these
    /// figures.
    ///
    /// # Errors
    /// The words or the template are wrong, or a row's key is not in `published.toml`.
    pub(crate) fn of(
        context: &Context<'_>,
        paper: &Paper,
        machine: &Machine,
        numbers: &Numbers<'_>,
        ours: Value,
    ) -> Result<PaperReport> {
        let name = paper.name;
        let words = numbers.fill(paper.words);
        let missing = words.lines().find(|line| line.contains(['{', '}']));
        ensure!(missing.is_none(), "{name}/words.toml: a number is missing: {}", missing.unwrap_or_default());
        let file = format!("{name}/report.jinja");
        let values = Values { published: published::typed(name)?, ours };
        let stated = template::render(&environment(), &file, paper.report, values)?;
        let said = together([&stated, &words]).with_context(|| format!("{file}, with words.toml: {stated}"))?;
        let Said { published_on, workload, chosen, facts, left_out, mut notes, whys, fitted, mut tables, .. } = said;
        for row in tables.iter_mut().flat_map(|table| &mut table.rows) {
            row.complete()?;
        }
        notes.push(format!("docs/reproduction/{name}.md has the results of other runs, and what the model lacks."));
        let label = |label| published::text(name, label);
        Ok(PaperReport {
            name: name.to_owned(),
            title: published::title(name),
            published_on: published_on.or_else(|| label("machine")).unwrap_or_default(),
            machine: SimMachine::of(machine),
            workload: workload.or_else(|| label("workload")).unwrap_or_default(),
            claims: said.claims,
            facts,
            fitted,
            chosen,
            open: numbers.open(machine),
            tables,
            listings: said.listings,
            plots: said.plots,
            whys,
            notes,
            left_out: context.choose(left_out, Vec::new()),
        })
    }
}

/// Puts what two texts say together: lists one after the other; of other things the first counts.
fn together([first, second]: [&str; 2]) -> Result<Said> {
    let mut all: toml::Table = toml::from_str(first)?;
    for (key, value) in toml::from_str::<toml::Table>(second)? {
        match (all.entry(key), value) {
            (Entry::Occupied(mut known), toml::Value::Array(more)) => {
                known.get_mut().as_array_mut().into_iter().for_each(|known| known.extend(more.iter().cloned()));
            }
            (Entry::Occupied(_), _) => {}
            (Entry::Vacant(none), value) => _ = none.insert(value),
        }
    }
    Ok(all.try_into()?)
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
