//! The report for a terminal.

use super::outline::{self, Block};
use super::{dumbbell, view};
use std::fmt::Write;
use turnwise_present::table::{self, Cell, CellAlignment};
use turnwise_reproduce::report::{Listing, Reproduction};

/// Longer lines and cells are wrapped.
const WIDTH: u16 = 120;

/// Returns all of it.
pub(crate) fn text(report: &Reproduction) -> String {
    let mut text = filled(&view::origin(report).replace('`', ""), "", "  ") + "\n";
    outline::outline(report).iter().for_each(|block| text += &shown(block));
    text
}

fn shown(block: &Block<'_>) -> String {
    match block {
        Block::Heading(1, title) => format!("\n{title}\n{}\n", "=".repeat(title.chars().count())),
        Block::Heading(_, title) => format!("\n== {title} ==\n"),
        Block::Score(line) => filled(line, "", "  ") + "\n",
        Block::Text(text) => filled(text, "", "") + "\n",
        Block::List(_, items) if items.is_empty() => String::new(),
        Block::List(title, items) => {
            let title = if title.is_empty() { String::new() } else { format!("\n{title}\n") };
            items.iter().fold(title, |text, item| text + &filled(item, "- ", "  ") + "\n")
        }
        Block::Table(listing) | Block::Folded(listing) => format!("\n{}", drawn(listing)),
        Block::Dots(panels) => dumbbell::lines(panels).iter().map(|line| format!("{}\n", line.trim_end())).collect(),
        Block::Curves(_) => String::new(),
    }
}

/// Breaks text into lines that fit.
fn filled(text: &str, first: &str, others: &str) -> String {
    textwrap::fill(text, textwrap::Options::new(WIDTH.into()).initial_indent(first).subsequent_indent(others))
}

fn drawn(listing: &Listing) -> String {
    let mut table = table::wrapped(WIDTH);
    table.set_header(&listing.columns);
    for row in &listing.rows {
        table.add_row(row.iter().enumerate().map(|(column, text)| {
            let number = column > 0 && text.chars().count() < 20 && text.contains(|c: char| c.is_ascii_digit());
            let side = if number { CellAlignment::Right } else { CellAlignment::Left };
            Cell::new(text).set_alignment(side)
        }));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let mut text = String::new();
    let _ = writeln!(text, "{}\n{}", listing.title, lines.join("\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::super::markdown;
    use super::*;
    use turnwise_present::machine::Machine;
    use turnwise_reproduce::report::{Bound, Claim, FORMAT, PaperReport, Row, Score, Table, Verdict};
    use turnwise_reproduce::{PAPERS, explanations};
    use turnwise_simbench::report::SimMachine;

    /// Returns a paper that misses all of its claims and of its rows, of which it has as many as the real one.
    fn document(name: &str, tables: usize, rows: usize, claims: usize) -> PaperReport {
        let whys = explanations::of(name).expect("it is built in");
        let missed = |number: usize| {
            let key = whys[number % whys.len()].rows[0].clone();
            let label = "1100-2000 users, 8 nodes, patch 1 to patches 1 and 2".to_owned();
            let (published, ours, bound) = (Some(34.0), Some(90.0), Some(Bound::Points(10.0)));
            Row { key, label, said: "34".to_owned(), published, ours, bound, ..Row::default() }
        };
        let table = |_| Table {
            title: "What the patches change".to_owned(),
            unit: "%".to_owned(),
            today: None,
            rows: (0..rows).map(missed).collect(),
        };
        let claim = Claim {
            what: "spinning while the owner runs speeds 4 threads up".to_owned(),
            published: "+4%, +4%, +4%".to_owned(),
            ours: "+16%, +25%, +30%".to_owned(),
            verdict: Verdict::Fails,
        };
        PaperReport {
            name: name.to_owned(),
            title: "mutex: queue mutex spinners with an MCS lock (Linux, April 2013)".to_owned(),
            published_on: String::new(),
            machine: SimMachine::of(&turnwise_sim::spec::load("westmere-ex-80").expect("it comes with the simulator")),
            workload: String::new(),
            claims: vec![claim; claims],
            facts: Vec::new(),
            fitted: Vec::new(),
            chosen: Vec::new(),
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
        let shapes = [(5, 20, 5), (1, 4, 3), (2, 5, 2), (2, 20, 2), (1, 4, 4)];
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
            score: Score::of(&documents),
            documents,
        };
        for form in [text(&report), markdown::page(&report)] {
            let (answer, _) = form.split_once(outline::APPENDIX).expect("an appendix");
            let lines = answer.lines().count();
            assert!(lines <= 150, "{lines} lines:\n{answer}");
            assert_eq!(answer.matches("To settle it:").count(), 11, "{answer}");
        }
    }
}
