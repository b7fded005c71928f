//! The report for a terminal.

use super::outline::{self, Block};
use super::{dumbbell, view};
use std::fmt::Write;
use turnwise_present::table::{self, Cell, CellAlignment};
use turnwise_reproduce::report::{Listing, Reproduction};

/// Longer lines and cells are wrapped.
const WIDTH: u16 = 120;

/// All of it.
pub(crate) fn text(report: &Reproduction) -> String {
    let mut text = filled(&view::origin(report).replace('`', ""), "", "  ") + "\n";
    outline::outline(report).iter().for_each(|block| text += &shown(block));
    text
}

fn shown(block: &Block<'_>) -> String {
    match block {
        Block::Heading(1, title) => format!("\n{title}\n{}\n", "=".repeat(title.chars().count())),
        Block::Heading(_, title) => format!("\n{title}\n{}\n", "-".repeat(title.chars().count())),
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
