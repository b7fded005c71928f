//! The published curves, as their file has them.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// All of `published.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    pub(super) lockhammer: Vec<Curves>,
    pub(super) oversubscription: Oversubscription,
}

/// One host and one section of LockHammer's data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curves {
    pub(super) machine: String,
    pub(super) hold_ns: u64,
    pub(super) outside_ns: u64,
    /// What a round takes that has no lock.
    pub(super) loop_ns: u64,
    pub(super) threads: Vec<u32>,
    /// For each lock, one figure for each number of threads.
    pub(super) ns: BTreeMap<String, Vec<f64>>,
}

/// Locks with more threads than CPUs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Oversubscription {
    pub(super) machine: String,
    pub(super) threads: Vec<u32>,
    /// For each lock, one figure for each number of threads.
    pub(super) us: BTreeMap<String, Vec<f64>>,
}

/// Reads the file that is built in.
///
/// # Errors
/// The file is wrong.
pub(super) fn read() -> Result<Published> {
    let published: Published = toml::from_str(include_str!("published.toml")).context("published.toml")?;
    for curves in &published.lockhammer {
        complete(&curves.machine, &curves.threads, &curves.ns)?;
    }
    let over = &published.oversubscription;
    complete(&over.machine, &over.threads, &over.us)?;
    Ok(published)
}

fn complete(machine: &str, threads: &[u32], rows: &BTreeMap<String, Vec<f64>>) -> Result<()> {
    for (lock, figures) in rows {
        ensure!(
            figures.len() == threads.len() && figures.iter().all(|figure| *figure > 0.0),
            "published.toml: {machine}: {lock}: {} figures, of which none may be 0, for {} numbers of threads",
            figures.len(),
            threads.len(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_figure_for_each_point() {
        let published = read().expect("it is built in");
        let from_8 = |c: &Curves| c.threads.iter().filter(|n| **n >= 8).count() * c.ns.len();
        assert_eq!(published.lockhammer.iter().map(from_8).sum::<usize>(), 289);
        let short = BTreeMap::from([("mcs".to_owned(), vec![1.0])]);
        let error = complete("here", &[1, 2], &short).expect_err("one is missing").to_string();
        assert!(error.contains("here: mcs: 1 figures") && error.contains("for 2 numbers"), "{error}");
    }
}
