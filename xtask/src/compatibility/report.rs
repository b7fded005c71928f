//! The page of the field test.

use super::case::Case;
use super::crates::Tested;
use super::verdict::Outcome;
use super::way::Way;
use crate::command::made_here;
use crate::root::write as put_file;
use anyhow::Result;

/// The page.
pub(super) const PAGE: &str = "docs/results/compatibility.md";

/// The titles of its halves.
const PROGRAMS: &str = "## Programs";
const CRATES: &str = "## Rust crates";

const INTRODUCTION: &str = "\
Debian's programs and libraries, as they are, each with a self-check or a known answer ([the
cases](../../xtask/compatibility/README.md)): alone, under `turnwise run` (on our locks) and under
`turnwise profile` (recorded). All must end with the same exit status and the same answer, say nothing
on standard error that they do not say alone, and end at all. **Alone**: seconds for the case, set-up
left out. **Run**, **profile**: its time against that, from a single run beside whatever else the machine
did, start of the tool and report included, so that it tells a hang from a slow program, and nothing more.
**Acquisitions**: of pthread locks, in the one process that the profile is of; 0 where the threads of the
program have other locks.";

const CRATES_INTRODUCTION: &str = "\
Tests of crates that use parking_lot 0.12, by the same command line with its own locks and with Turnwise's: its raw
mutex, its raw readers-writer lock and its condition variable are replaced by
[ours](../../xtask/compatibility/parking_lot), everything else is that crate's. Every test that passes with the one
must pass with the other.";

/// Summarises all cases in a sentence.
pub(super) fn summary(entries: &[(Case, Outcome)]) -> String {
    let count = |fits: fn(&Outcome) -> bool| entries.iter().filter(|(_, outcome)| fits(outcome)).count();
    let (all, skipped) = (entries.len(), count(|outcome| matches!(outcome, Outcome::Skipped(_))));
    let wrong = count(|outcome| !outcome.is_fine());
    format!("{} cases ran, {wrong} of them not as they should; {skipped} were skipped.", all - skipped)
}

/// Writes the half of the page that is about programs.
pub(super) fn write(entries: &[(Case, Outcome)]) -> Result<()> {
    let rows: Vec<_> = entries.iter().map(|(case, outcome)| row(case, outcome)).collect();
    let head = "| case | packages | alone, s | run | profile | acquisitions | result |\n|---|---|---|---|---|---|---|";
    let made = made_here("cargo xtask compatibility --write");
    let half = format!("{made}\n\n{INTRODUCTION}\n\n{}\n\n{head}\n{}", summary(entries), rows.join("\n"));
    put(&half, PROGRAMS)
}

/// Writes the half of the page that is about crates.
pub(super) fn write_crates(tested: &[Tested]) -> Result<()> {
    let row = |Tested { of, result }: &Tested| {
        let skipped: Vec<_> = of.skip.iter().map(|skip| format!("`{}`: {}", skip.test, skip.reason)).collect();
        let result = match result {
            Ok(passed) => format!("{passed} pass"),
            Err(why) => format!("FAILED: {}", cell(&format!("{why:#}"))),
        };
        format!("| {} {} | {result} | {} |", of.name, of.version, skipped.join("; "))
    };
    let rows: Vec<_> = tested.iter().map(row).collect();
    let head = "| crate | tests | left out |\n|---|---|---|";
    let made = made_here("cargo xtask compatibility --crates --write");
    put(&format!("{made}\n\n{CRATES_INTRODUCTION}\n\n{head}\n{}", rows.join("\n")), CRATES)
}

/// Puts a half into the page, behind its title; the other stays.
fn put(half: &str, title: &str) -> Result<()> {
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    put_file(PAGE, with_half(&page, half, title))
}

fn with_half(page: &str, half: &str, title: &str) -> String {
    let kept = |title: &str| {
        let (_, rest) = page.split_once(&format!("\n{title}\n"))?;
        Some(rest.split("\n## ").next().unwrap_or_default().trim().to_owned())
    };
    let halves = [PROGRAMS, CRATES].map(|one| (one, if one == title { Some(half.to_owned()) } else { kept(one) }));
    let halves = halves.into_iter().filter_map(|(title, half)| Some(format!("{title}\n\n{}\n", half?)));
    format!("# Compatibility\n\n{}", halves.collect::<Vec<_>>().join("\n"))
}

fn row(case: &Case, outcome: &Outcome) -> String {
    let name = &case.name;
    match outcome {
        Outcome::Skipped(why) => format!("| {name} | {} | | | | | SKIPPED: {why} |", case.packages.join(", ")),
        Outcome::Failed(why) => format!("| {name} | {} | | | | | FAILED: {} |", case.packages.join(", "), cell(why)),
        Outcome::Compared { alone_s, under, versions } => {
            let ratio = |way| under.iter().find(|under| under.way == way).map(|under| format!("{:.2}", under.ratio));
            let [run, profile] = [Way::Run, Way::Profile].map(|way| ratio(way).unwrap_or_default());
            let recorded = under.iter().find_map(|under| under.acquisitions);
            let recorded = recorded.map_or_else(String::new, |number| number.to_string());
            let different = under.iter().filter_map(|under| under.difference.as_ref().map(|what| (under.way, what)));
            let words: Vec<_> =
                different.map(|(way, found)| format!("{} DIFFERS: {}", way.name(), found.what)).collect();
            let result = if words.is_empty() { "same".to_owned() } else { cell(&words.join("; ")) };
            format!("| {name} | {versions} | {alone_s:.2} | {run} | {profile} | {recorded} | {result} |")
        }
    }
}

/// Returns text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_half_of_the_page_leaves_the_other() {
        let both = with_half(&with_half("", "| a |", PROGRAMS), "| b |", CRATES);
        assert_eq!(both, "# Compatibility\n\n## Programs\n\n| a |\n\n## Rust crates\n\n| b |\n");
        assert_eq!(with_half(&both, "| b |", CRATES), both);
        assert!(with_half(&both, "| c |", PROGRAMS).contains("| c |\n\n## Rust crates\n\n| b |"));
    }

    #[test]
    fn a_cell_stays_one() {
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }
}
