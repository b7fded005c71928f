//! The report as a page of the documentation.

use super::outline::{self, Block, TITLE};
use super::{dumbbell, view};
use turnwise_reproduce::report::{Listing, Reproduction};

/// Returns the page.
pub(crate) fn page(report: &Reproduction) -> String {
    let mut text =
        format!("# {TITLE}\n\nWritten by {}; do not edit. [How it works](../reproduce.md).\n", view::origin(report));
    outline::outline(report).iter().for_each(|block| text += &shown(block));
    text
}

fn shown(block: &Block<'_>) -> String {
    match block {
        // The page has one title; parts of level 1 have their papers below them.
        Block::Heading(_, title) => format!("\n## {}\n", escaped(title)),
        Block::Score(line) => format!("\n**{}.**\n", escaped(line)),
        Block::Text(text) => format!("\n{}\n", escaped(text)),
        Block::List(_, items) if items.is_empty() => String::new(),
        Block::List(title, items) => {
            let title = if title.is_empty() { "\n".to_owned() } else { format!("\n### {title}\n\n") };
            items.iter().fold(title, |text, item| text + "- " + &escaped(item) + "\n")
        }
        Block::Table(listing) => format!("\n### {}\n\n{}", escaped(&listing.title), rows(listing)),
        Block::Folded(listing) => {
            let (title, rows) = (escaped(&listing.title), rows(listing));
            format!("\n<details><summary>{title}</summary>\n\n{rows}\n</details>\n")
        }
        Block::Dots(panels) => {
            let lines: Vec<String> = dumbbell::lines(panels).iter().map(|line| line.trim_end().to_owned()).collect();
            format!("\n```text\n{}\n```\n", lines.join("\n"))
        }
        Block::Curves(_) => String::new(),
    }
}

fn rows(listing: &Listing) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = row(&listing.columns);
    text += &format!("|{}\n", "---|".repeat(listing.columns.len()));
    listing.rows.iter().for_each(|cells| text += &row(cells));
    text
}

/// Escapes text so that none of it is taken for Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace("__", "\\_\\_")
}
