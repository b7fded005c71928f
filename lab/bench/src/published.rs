//! What the papers published: every figure and every claim, by its place in `published.toml`.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toml::{Table, Value};

/// The file, as it is.
const TEXT: &str = include_str!("published.toml");

static FILE: LazyLock<Table> = LazyLock::new(|| TEXT.parse().expect("the file is tested"));

/// The papers, in the order of the file.
pub const PAPERS: &[&str] = &["mutex_spinners", "rwsem_stealing", "dcache", "spin_backoff", "handoff_spin"];

/// A figure or a claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Its place in the file: `spin_backoff.rows[0].spin[2]`.
    pub key: String,
    /// The figure; `None` for a claim in words.
    pub number: Option<f64>,
    /// The text of the file.
    pub text: String,
}

/// Returns all figures and claims of a paper, in the order of their keys.
#[must_use]
pub fn claims(document: &str) -> Vec<Claim> {
    let mut all = Vec::new();
    if let Some(value) = FILE.get(document) {
        collect(document, value, &mut all);
    }
    all
}

/// Returns whether a key states what a figure is about, or how something was done. All others are figures and claims.
fn is_label(name: &str) -> bool {
    let labels = FILE.get("labels").and_then(Value::as_array).expect("the file is tested");
    labels.iter().any(|label| label.as_str() == Some(name))
}

fn collect(key: &str, value: &Value, all: &mut Vec<Claim>) {
    match value {
        Value::Table(table) => {
            let claims = table.iter().filter(|(name, _)| !is_label(name));
            claims.for_each(|(name, value)| collect(&format!("{key}.{name}"), value, all));
        }
        Value::Array(array) => {
            array.iter().enumerate().for_each(|(n, value)| collect(&format!("{key}[{n}]"), value, all));
        }
        other => all.push(Claim { key: key.to_owned(), number: number(other), text: shown(other) }),
    }
}

/// Returns a number, or one as text: `+34.2%`.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) => text.strip_suffix('%')?.parse().ok(),
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the figure or claim at a place.
///
/// # Errors
/// There is none.
pub fn claim(key: &str) -> Result<Claim> {
    let document = key.split('.').next().unwrap_or(key);
    claims(document).into_iter().find(|claim| claim.key == key).with_context(|| format!("{key}: not in published.toml"))
}

/// Returns a paper's title.
#[must_use]
pub fn title(document: &str) -> String {
    text(document, "title").unwrap_or_default()
}

/// Returns a label of a paper.
#[must_use]
pub fn text(document: &str, label: &str) -> Option<String> {
    Some(FILE.get(document)?.get(label)?.as_str()?.to_owned())
}

/// Returns a paper's part of the file.
///
/// # Errors
/// The file has another shape.
pub fn typed<T: for<'a> Deserialize<'a>>(document: &str) -> Result<T> {
    let part = FILE.get(document).with_context(|| format!("published.toml has no {document}"))?;
    part.clone().try_into().with_context(|| format!("published.toml, {document}"))
}

/// A published pair: before a paper's change and after it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Its name in [`Comparison::published`](crate::papers::Comparison::published).
    pub key: String,
    /// The paper.
    pub document: String,
    /// What was measured, where.
    pub what: String,
    /// The unit.
    pub unit: String,
    /// Before the paper's change.
    pub before: f64,
    /// After it.
    pub after: f64,
    /// Where it is written.
    pub source: String,
}

impl Pair {
    /// Returns the figure after the patch over the one before it.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let pairs = FILE.get("pair").and_then(Value::as_array).expect("the file is tested");
    pairs.iter().map(|pair| resolved(pair).expect("the file is tested")).collect()
});

/// Returns a pair whose sides are figures: the file names the places of those that stand elsewhere in it.
fn resolved(pair: &Value) -> Result<Pair> {
    let mut pair = pair.as_table().context("not a table")?.clone();
    for side in ["before", "after"] {
        if let Some(place) = pair.get(side).and_then(Value::as_str) {
            let number = claim(place)?.number.with_context(|| format!("{place}: not a number"))?;
            pair.insert(side.to_owned(), Value::Float(number));
        }
    }
    Ok(pair.try_into()?)
}

/// Returns all published pairs.
#[must_use]
pub fn pairs() -> &'static [Pair] {
    &PAIRS
}

/// Returns the published pair of this key.
#[must_use]
pub fn pair(key: &str) -> Option<&'static Pair> {
    pairs().iter().find(|pair| pair.key == key)
}

/// `mutex_spinners`.
#[derive(Clone, Debug, Deserialize)]
pub struct MutexSpinners {
    /// Throughput.
    pub rows: Vec<JobsRow>,
    /// What the second patch did to each workload.
    pub workloads: Vec<WorkloadRow>,
}

/// Jobs per minute.
#[derive(Clone, Debug, Deserialize)]
pub struct JobsRow {
    /// From and to.
    pub users: String,
    /// Nodes that the run may use.
    pub nodes: u32,
    /// Without patches, with the first, with both.
    pub jpm: [f64; 3],
}

/// A workload's changes.
#[derive(Clone, Debug, Deserialize)]
pub struct WorkloadRow {
    /// Its name.
    pub name: String,
    /// At 10-100, 200-1000 and 1100-2000 users, per cent.
    pub change: [f64; 3],
}

/// `dcache`.
#[derive(Clone, Debug, Deserialize)]
pub struct Dcache {
    /// The spin lock's share of the time, by command.
    pub raw_spin_lock_percent: Vec<CommandRow>,
    /// The callers in `reaim`, before: per cent, by function.
    pub baseline_split_of_reaim: BTreeMap<String, f64>,
}

/// A command's share of the time in the spin lock.
#[derive(Clone, Debug, Deserialize)]
pub struct CommandRow {
    /// Its name.
    pub command: String,
    /// Before and after.
    pub percent: [f64; 2],
}

/// `spin_backoff`.
#[derive(Clone, Debug, Deserialize)]
pub struct SpinBackoff {
    /// One for each number of CPUs.
    pub rows: Vec<SecondsRow>,
}

/// Seconds: wall, system, user.
#[derive(Clone, Debug, Deserialize)]
pub struct SecondsRow {
    /// CPUs.
    pub cpus: u32,
    /// Spinning.
    pub spin: [f64; 3],
    /// Backing off.
    pub backoff: [f64; 3],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_papers_and_their_shapes() {
        let names: Vec<&str> = PAPERS.to_vec();
        assert_eq!(FILE.len(), names.len() + 2, "the documents, the labels, and the pairs");
        for name in names {
            assert!(!title(name).is_empty() && !claims(name).is_empty(), "{name}");
        }
        assert_eq!(typed::<MutexSpinners>("mutex_spinners").expect("its shape").rows.len(), 8);
        let cpu = |n| claim(&format!("rwsem_stealing.cpu_percent[{n}]")).expect("it is there").number;
        assert_eq!([cpu(0), cpu(1)], [Some(369.0), Some(537.0)]);
        assert_eq!(typed::<Dcache>("dcache").expect("its shape").raw_spin_lock_percent[3].command, "total");
        assert_eq!(typed::<SpinBackoff>("spin_backoff").expect("its shape").rows[3].spin[1], 3681.9);
    }

    #[test]
    fn every_figure_has_its_place_and_labels_have_none() {
        assert_eq!(claims("spin_backoff").len(), 4 * 6 + 1);
        assert_eq!(claim("spin_backoff.rows[0].spin[2]").expect("it is there").number, Some(6.97));
        assert_eq!(claim("mutex_spinners.rows[0].change_1_to_2").expect("it is there").number, Some(34.2));
        assert_eq!(claim("mutex_spinners.profile[3].percent[0]").expect("it is there").number, None);
        assert!(claim("spin_backoff.rows[0].cpus").is_err() && claim("nothing").is_err());
    }

    #[test]
    fn a_pair_names_its_figures_by_their_places() {
        let sides = |key| pair(key).map(|pair| (pair.before, pair.after));
        assert_eq!(sides("osv-4"), Some((1800.0, 153.0)));
        assert_eq!(sides("rwsem-throughput"), Some((1.0, 2.0)));
        assert_eq!(sides("nothing"), None);
    }
}
