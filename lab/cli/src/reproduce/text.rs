//! The report for a terminal.

use super::view;
use std::fmt::Write;
use turnwise_present::table::{self, Cell, CellAlignment};
use turnwise_reproduce::report::{DocumentReport, Listing, Reproduction};

/// Longer lines and cells are wrapped.
const WIDTH: u16 = 120;

/// All of it.
pub(crate) fn text(report: &Reproduction) -> String {
    let mut text = filled(&view::origin(report).replace('`', ""), "", "  ") + "\n";
    let _ = write!(text, "\n{}", drawn(&view::claims(report)));
    for document in &report.documents {
        text += &section(document);
    }
    if report.documents.len() > 1 {
        let _ = write!(text, "\n{}", drawn(&view::summary(report)));
    }
    text
}

fn section(document: &DocumentReport) -> String {
    let mut text = format!("\n{}\n{}\n", document.name, "=".repeat(document.name.len()));
    let about = [
        document.title.clone(),
        format!("published on: {}", document.published_on),
        format!("simulated: {} ({})", document.machine.name, document.machine.title),
        format!("workload: {}", document.workload),
    ];
    about.iter().for_each(|line| text += &(filled(line, "", "  ") + "\n"));
    text += &items("facts", document.facts.iter().cloned());
    match document.fitted.as_slice() {
        [] => text += "fitted: nothing\n",
        all => text += &items("fitted", all.iter().map(view::fitted)),
    }
    text += &items("chosen", document.chosen.iter().cloned());
    for table in &document.tables {
        let _ = write!(text, "\n{}", drawn(&view::table(table)));
        if let Some(today) = view::today(table) {
            let _ = writeln!(text, "{}", filled(&today, "", "  "));
        }
    }
    for listing in &document.listings {
        let _ = write!(text, "\n{}", drawn(listing));
    }
    let _ = writeln!(text, "\n{}", view::score(document));
    text += &items("bars", document.bars.iter().map(view::bar));
    text += &items("notes", document.notes.iter().cloned());
    text += &items("left out (--quick)", document.left_out.iter().cloned());
    text
}

fn items(title: &str, items: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for item in items {
        if text.is_empty() {
            let _ = writeln!(text, "{title}:");
        }
        let _ = writeln!(text, "{}", filled(&item, "  - ", "    "));
    }
    text
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
    format!("{}\n{}\n", listing.title, lines.join("\n"))
}
