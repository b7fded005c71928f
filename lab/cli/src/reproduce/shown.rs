//! The report as a document, `report.jinja`, with its pictures on a page.

use crate::document::{self, Style};
use crate::picture::chart;
use serde::Serialize;
use std::collections::HashMap;
use turnwise_present::template::{Environment, Serde};
use turnwise_reproduce::report::{Miss, PaperReport, Reproduction, Row};

const TITLE: &str = "The papers, reproduced";
/// A remark of at most this length, and of one row alone, stands in its row.
const SHORT: usize = 30;

/// What the template shows.
#[derive(Serialize)]
struct Values<'a> {
    report: &'a Reproduction,
    /// Each with its number.
    papers: Vec<(usize, Shown<'a>)>,
    form: &'static str,
}

/// A paper.
#[derive(Serialize)]
struct Shown<'a> {
    paper: &'a PaperReport,
    misses: Vec<Miss<'a>>,
    /// Those of its rows, then its own, each with its number.
    notes: Vec<(usize, &'a str)>,
}

/// Returns the report for a terminal.
pub(crate) fn text(report: &Reproduction) -> String {
    document::shown(&written(report, "text"), Style::Wrapped)
}

/// Returns the report as a page of the documentation.
pub(crate) fn markdown(report: &Reproduction) -> String {
    format!("# {TITLE}\n\n{}", document::shown(&written(report, "markdown"), Style::Markdown))
}

/// Returns the report as a page without a script.
pub(crate) fn page(report: &Reproduction) -> String {
    let plots = report.documents.iter().flat_map(|paper| &paper.plots);
    let pictures: Vec<String> = plots.map(|plot| chart::figure(plot, ["published", "simulated"])).collect();
    document::page(TITLE, &written(report, "page"), &pictures)
}

fn written(report: &Reproduction, form: &'static str) -> String {
    let papers = report.documents.iter().map(Shown::of).enumerate().collect();
    let values = Values { report, papers, form };
    document::rendered(&environment(), "reproduce/report.jinja", include_str!("report.jinja"), values)
}

/// Returns what the templates know of rows.
fn environment() -> Environment<'static> {
    let mut env = document::environment();
    env.add_filter("error", |Serde(row): Serde<Row>, points: bool| row.error_text(points));
    env
}

impl<'a> Shown<'a> {
    fn of(paper: &'a PaperReport) -> Shown<'a> {
        Shown { paper, misses: paper.misses(), notes: notes(paper) }
    }
}

/// Returns the notes that do not stand in a row: a row has room for `N3`, not for a sentence.
fn notes(paper: &PaperReport) -> Vec<(usize, &str)> {
    let said = |row| {
        let Row { unjudged, remark, fitted, .. }: &Row = row;
        [unjudged.as_deref().filter(|_| !fitted), remark.as_deref()].into_iter().flatten()
    };
    let of_rows: Vec<&str> = paper.rows().filter(|row| row.published.is_some()).flat_map(said).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    of_rows.iter().for_each(|text| *uses.entry(text).or_default() += 1);
    let long = of_rows.into_iter().filter(|text| uses[text] > 1 || text.chars().count() > SHORT);
    let mut notes: Vec<&str> = Vec::new();
    for text in long.chain(paper.notes.iter().map(String::as_str)) {
        notes.extend((!notes.contains(&text)).then_some(text));
    }
    (1..).zip(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_present::machine::Machine;
    use turnwise_reproduce::report::{Claim, FORMAT, Score, Table, Verdict};
    use turnwise_reproduce::{PAPERS, explanations};
    use turnwise_simbench::report::SimMachine;

    /// Returns a paper that misses all of its claims and of its rows, of which it has as many as the real one.
    fn document(name: &str, tables: usize, rows: usize, claims: usize) -> PaperReport {
        let whys = explanations::of(name).expect("it is built in");
        let missed = |_| {
            let label = "1100-2000 users, 8 nodes, patch 1 to patches 1 and 2".to_owned();
            let (published, ours) = (Some(34.0), Some(90.0));
            Row { label, said: "34".to_owned(), published, ours, ..Row::default() }
        };
        let table = |_| Table {
            title: "What the patches change".to_owned(),
            unit: "%".to_owned(),
            today: None,
            changes: true,
            rows: (0..rows).map(missed).collect(),
        };
        let claim = |number: usize| Claim {
            what: format!("spinning while the owner runs speeds 4 threads up: {}", whys[number % whys.len()].claims[0]),
            published: "+4%, +4%, +4%".to_owned(),
            ours: "+16%, +25%, +30%".to_owned(),
            verdict: Verdict::Fails,
            draws: None,
        };
        PaperReport {
            name: name.to_owned(),
            title: "mutex: queue mutex spinners with an MCS lock (Linux, April 2013)".to_owned(),
            published_on: String::new(),
            machine: SimMachine::of(&turnwise_sim::spec::load("westmere-ex-80").expect("it comes with the simulator")),
            workload: String::new(),
            claims: (0..claims).map(claim).collect(),
            facts: Vec::new(),
            fitted: Vec::new(),
            chosen: Vec::new(),
            open: Vec::new(),
            tables: (0..tables).map(table).collect(),
            listings: Vec::new(),
            plots: Vec::new(),
            whys,
            notes: Vec::new(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn the_answer_fits_150_lines_whatever_is_missed() {
        let shapes = [(5, 20, 8), (1, 4, 3), (2, 5, 3), (2, 20, 4), (1, 4, 5)];
        let shaped = |(document, (tables, rows, claims)): (&turnwise_reproduce::Paper, _)| {
            self::document(document.name, tables, rows, claims)
        };
        let documents: Vec<PaperReport> = PAPERS.iter().zip(shapes).map(shaped).collect();
        let report = Reproduction {
            format: FORMAT.to_owned(),
            command: "turnwise-lab reproduce".to_owned(),
            commit: Some("0123456789ab".to_owned()),
            seed: 1,
            quick: false,
            host: Machine::here(),
            samples: 0,
            score: Score::of(&documents),
            documents,
        };
        for form in [text(&report), markdown(&report)] {
            let (answer, _) = form.split_once("Appendix: every row").expect("an appendix");
            let lines = answer.lines().count();
            assert!(lines <= 150, "{lines} lines:\n{answer}");
            let on_one_line = answer.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(on_one_line.matches("To settle it:").count(), 13, "{answer}");
        }
    }
}
