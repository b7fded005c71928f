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

/// Reads the tables in the folder `here`, in the order of their names.
pub(crate) fn load(here: &Path) -> Result<Vec<Case>> {
    Ok(entries(here.join("cases"))?.iter().map(rows_in).collect::<Result<Vec<_>>>()?.concat())
}

/// Returns the cases whose names contain any of these; all, if there are none.
pub(crate) fn chosen(cases: Vec<Case>, names: &[String]) -> Result<Vec<Case>> {
    named(cases, names, |case| &case.name, ["case", "compatibility --list"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_prepared_and_says_something() {
        let cases = load(Path::new("compatibility")).unwrap();
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
        let all = || load(Path::new("compatibility")).unwrap();
        assert!(chosen(all(), &["XZ".to_owned()]).unwrap().iter().all(|case| case.name.contains("xz")));
        let Err(error) = chosen(all(), &["no such".to_owned()]) else { panic!("found") };
        assert!(error.to_string().contains("--list"), "{error}");
    }
}
