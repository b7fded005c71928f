//! The table of cases: `xtask/compatibility/cases`; the README there explains each key.

use crate::command::{entries, named, rows_in};
use anyhow::Result;
use serde::Deserialize;
use std::path::Path;

/// A program with threads, and what to do with it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    pub(crate) packages: Vec<String>,
    #[serde(default)]
    pub(crate) setup: String,
    pub(crate) script: String,
    /// What it must print; otherwise what it prints alone.
    pub(crate) answer: Option<String>,
    #[serde(default)]
    pub(crate) quick: bool,
    #[serde(default)]
    pub(crate) noisy: bool,
}

/// Reads the tables in the folder `here`; returns the cases whose names contain any of these, or all.
pub(crate) fn chosen(here: &Path, names: &[String]) -> Result<Vec<Case>> {
    let cases = entries(here.join("cases"))?.iter().map(rows_in).collect::<Result<Vec<Vec<Case>>>>()?;
    named(cases.concat(), names, |case| &case.name, ["case", "compatibility --list"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_prepared_and_says_something() {
        let cases = chosen(Path::new("compatibility"), &[]).unwrap();
        for case in &cases {
            assert!(!case.packages.is_empty() && !case.needs.is_empty(), "{}: what does it need?", case.name);
            assert!(!case.script.trim().is_empty(), "{} does nothing", case.name);
        }
        let names: std::collections::HashSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len(), "two cases have one name");
        assert!(cases.iter().filter(|case| case.quick).count() >= 5);
    }

    #[test]
    fn cases_are_chosen_by_parts_of_their_names() {
        let of = |name: &str| chosen(Path::new("compatibility"), &[name.to_owned()]);
        assert!(of("XZ").unwrap().iter().all(|case| case.name.contains("xz")));
        let Err(error) = of("no such") else { panic!("found") };
        assert!(error.to_string().contains("--list"), "{error}");
    }
}
