//! `cargo xtask compatibility --crates`: tests of third-party crates, with the locks of parking_lot on ours:
//! `xtask/compatibility/crate.sh`.

use crate::command::{both, cmd, last_lines, named, rows_in};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// For building and running one crate's tests, on its own locks and on ours.
const LIMIT: Duration = Duration::from_secs(3600);

/// A crate with tests.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Crate {
    name: String,
    version: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    skip: Vec<Skipped>,
}

/// A test that is left out.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Skipped {
    test: String,
    reason: String,
}

/// The result of a crate's tests.
#[derive(Serialize)]
pub(super) struct Tested {
    #[serde(flatten)]
    of: Crate,
    /// Tests that pass with both, or what is wrong.
    pub(super) result: Result<usize, String>,
}

/// Runs the tests of the crates whose names contain any of these.
pub(super) fn run(here: &Path, names: &[String]) -> Result<Vec<Tested>> {
    let mut tested = Vec::new();
    for of in named(load(here)?, names, |of| &of.name, ["crate", "compatibility --crates"])? {
        let result = compare(&of, here).map_err(|why| format!("{why:#}"));
        let named = format!("{} {}", of.name, of.version);
        match &result {
            Ok(passed) => println!("{named:30} {passed} tests pass with both"),
            Err(why) => println!("{named:30} FAILED: {why}"),
        }
        tested.push(Tested { of, result });
    }
    Ok(tested)
}

fn load(here: &Path) -> Result<Vec<Crate>> {
    rows_in(here.join("crates.toml"))
}

/// Returns how many tests of a crate pass with parking_lot's locks and with ours, or why not.
fn compare(of: &Crate, here: &Path) -> Result<usize> {
    let skipped: String = of.skip.iter().map(|skipped| format!(" --skip {}", skipped.test)).collect();
    let mut script = cmd("sh");
    script.arg(here.join("crate.sh")).args([&of.name, &of.version, &of.arguments.join(" "), &skipped]);
    let (status, printed) = both(&mut script, Some(LIMIT))?;
    ensure!(status.success(), "{}", last_lines(&printed));
    // The last line; what cargo says of its downloads comes before.
    let number = printed.lines().last().and_then(|line| line.trim().parse().ok());
    number.with_context(|| format!("crate.sh prints no number of tests: {printed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_says_why_tests_are_left_out() {
        let crates = load(Path::new("compatibility")).unwrap();
        assert!(crates.len() >= 10 && crates.iter().any(|of| of.name == "parking_lot"));
        assert!(crates.iter().flat_map(|of| &of.skip).all(|skip| !skip.reason.is_empty()));
    }
}
