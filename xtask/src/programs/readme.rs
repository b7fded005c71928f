//! The README's text on the programs: made of the newest report of each machine, like their pages.

use super::picture::{origin, speeds};
use super::report::{Entry, Report, geometric_mean};
use crate::results::score::between;
use crate::root;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;

/// A place in the README, and its content.
struct Block {
    begin: &'static str,
    write: fn(&[Report]) -> String,
}

const BLOCKS: [Block; 2] = [
    Block { begin: "<!-- programs: `cargo xtask programs --readme` writes these lines -->\n", write: gains },
    Block { begin: "<!-- no gain: `cargo xtask programs --readme` writes these lines -->\n", write: no_gains },
];
const END: &str = "<!-- end of what is written -->\n";
/// No line is longer.
const COLUMNS: usize = 100;

/// Returns the README with these lines as in the reports in `runs`; `None`: it has no place for them.
pub(crate) fn reported(readme: &str, runs: &Path) -> Result<Option<String>> {
    Ok(with(readme, &Report::newest(runs, None)?))
}

/// Writes them.
pub(crate) fn write(readme: &Path, runs: &Path) -> Result<()> {
    let text = root::read(readme)?;
    let reported =
        reported(&text, runs)?.with_context(|| format!("{} has no place for the programs", readme.display()))?;
    root::write(readme, reported)
}

fn with(readme: &str, reports: &[Report]) -> Option<String> {
    let mut blocks = BLOCKS.iter();
    blocks.try_fold(readme.to_owned(), |text, block| between(&text, block.begin, END, &(block.write)(reports)))
}

/// Renders a sentence on each machine: the lock-bound programs together, and the one that gained most.
fn gains(reports: &[Report]) -> String {
    let reported = reports.iter().filter_map(|report| {
        let bound: Vec<_> = speeds(report).filter(|(entry, _)| entry.bound).map(|(_, speed)| speed).collect();
        let (mean, count) = (geometric_mean(&bound)?, bound.len());
        let (most, speed) = speeds(report).max_by(|a, b| a.1[0].total_cmp(&b.1[0]))?;
        let (machine, most) = (origin(report), shown(most, speed));
        Some(filled(
            &format!(
                "- {machine}: {mean:.2} times the C library's speed, the geometric mean of the {count} lock-bound \
                 programs; most for {most}."
            ),
            "",
        ))
    });
    reported.collect()
}

/// Lists what did not gain, machine by machine: with confidence, undecided, and under the recorder.
fn no_gains(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        let _ = writeln!(text, "- {}:", origin(report));
        let list = |fits: &dyn Fn([f64; 3]) -> bool| -> Vec<String> {
            speeds(report).filter(|(_, speed)| fits(*speed)).map(|(entry, speed)| shown(entry, speed)).collect()
        };
        let slower = list(&|[_, _, high]| high < 1.0);
        let open = list(&|[_, low, high]| low <= 1.0 && high >= 1.0);
        let slower = if slower.is_empty() { "none".to_owned() } else { slower.join("; ") };
        text += &filled(&format!("- slower with confidence: {slower}."), "  ");
        let open = if open.is_empty() { "none".to_owned() } else { open.join("; ") };
        text += &filled(&format!("- no difference could be seen: {open}."), "  ");
        let recorded = report.programs.iter().filter_map(|entry| Some((entry, entry.measured()?.recorded?)));
        let recorded = recorded.min_by(|a, b| a.1[0].total_cmp(&b.1[0]));
        if let Some((entry, speed)) = recorded {
            let least = shown(entry, speed);
            text += &filled(&format!("- recorded by `turnwise profile`, the most was lost by {least}."), "  ");
        }
    }
    text
}

/// Formats "Java, one monitor 1.00 (0.63 to 1.11)".
fn shown(entry: &Entry, [speed, low, high]: [f64; 3]) -> String {
    format!("{} {speed:.2} ({low:.2} to {high:.2})", entry.name)
}

/// Fills a paragraph in lines behind `indent`; of an item, the further ones behind two columns more.
fn filled(paragraph: &str, indent: &str) -> String {
    let next = if paragraph.starts_with("- ") { format!("{indent}  ") } else { indent.to_owned() };
    textwrap::fill(paragraph, textwrap::Options::new(COLUMNS).initial_indent(indent).subsequent_indent(&next)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::RUNS;

    #[test]
    fn the_readme_says_what_the_reports_on_record_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        let reported = reported(&readme, &root.join(RUNS)).unwrap().expect("it has a place for the programs");
        assert!(reported == readme, "write it again: cargo xtask programs --readme");
    }

    #[test]
    fn a_readme_without_a_place_is_refused() {
        assert_eq!(with("# X\n", &[]), None);
    }

    #[test]
    fn items_go_on_under_their_words() {
        let text = filled(&format!("- {}", "word ".repeat(40).trim_end()), "  ");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.starts_with("  - word") && text.lines().nth(1).unwrap().starts_with("    word"), "{text}");
    }
}
