//! The published curves, as their file has them.

use super::servers::Server;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// All of `published.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    pub(super) lockhammer: Vec<Curves>,
    pub(super) oversubscription: Vec<Oversubscription>,
    pub(super) server: Vec<Server>,
}

/// One host and one section of LockHammer's data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curves {
    pub(super) machine: String,
    pub(super) hold_ns: u64,
    pub(super) outside_ns: u64,
    pub(super) threads: Vec<u32>,
    /// The figures without a lock: mostly the end of threads, which the clock waits for.
    pub(super) empty_ns: Vec<f64>,
    /// For each lock, one figure for each number of threads.
    pub(super) ns: BTreeMap<String, Vec<f64>>,
}

/// Locks with more threads than CPUs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Oversubscription {
    pub(super) machine: String,
    pub(super) threads: Vec<u32>,
    /// Locks without figures.
    pub(super) locks: Vec<String>,
    /// For each lock, one figure for each number of threads.
    #[serde(default)]
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
        ensure!(curves.empty_ns.len() == curves.threads.len(), "published.toml: {}: empty_ns", curves.machine);
    }
    for over in &published.oversubscription {
        complete(&over.machine, &over.threads, &over.us)?;
    }
    for server in &published.server {
        complete(&server.machine, &server.threads, &server.ns)?;
        ensure!(server.threads.first() == Some(&1), "published.toml: {}: the first column is not 1", server.machine);
    }
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
