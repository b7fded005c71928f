//! The report as a page of the documentation.

use super::view;
use std::fmt::Write;
use turnwise_reproduce::report::{DocumentReport, Listing, Reproduction};

/// The page.
pub(crate) fn page(report: &Reproduction) -> String {
    let mut text = format!(
        "# The case studies, reproduced\n\n\
         Written by {}; do not edit. [How it works](../reproduce.md).\n\n\
         Facts go in, predictions come out. What was fitted are constants of workloads, on the rows named; latencies \
         never. Error: (ours - published) / published, or the difference in points. `today` is the same workload with \
         the locks of this project.\n",
        view::origin(report)
    );
    if report.quick {
        text += "\n**Short version (`--quick`)**: each case study says what it left out.\n";
    }
    let _ = write!(text, "\n{}", table(&view::claims(report), "##"));
    let _ = write!(text, "\n{}", table(&view::summary(report), "##"));
    for document in &report.documents {
        text += &section(document);
    }
    text
}

fn section(document: &DocumentReport) -> String {
    let mut text = format!("\n## {}\n\n{}.\n\n", document.name, document.title);
    let machine = &document.machine;
    let _ = writeln!(text, "- **Published on**: {}", escaped(&document.published_on));
    let _ = writeln!(text, "- **Simulated**: `{}`, {}", machine.name, escaped(&machine.title));
    let _ = writeln!(text, "- **Workload**: {}", escaped(&document.workload));
    let provisional: Vec<String> = machine.provisional.iter().map(|key| format!("`{key}`")).collect();
    let _ = writeln!(text, "- **Recalled or guessed numbers of the machine**: {}", provisional.join(", "));
    let fitted: Vec<String> = document.fitted.iter().map(view::fitted).collect();
    let fitted = if fitted.is_empty() { "nothing".to_owned() } else { fitted.join("; ") };
    let _ = writeln!(text, "- **Fitted**: {fitted}");
    let _ = writeln!(text, "- **Chosen**: {}", escaped(&document.chosen.join("; ")));
    let _ = writeln!(text, "- **Score**: {}", view::score(document));
    text += &items("Facts", document.facts.iter().cloned());
    for published in &document.tables {
        let _ = write!(text, "\n{}", table(&view::table(published), "###"));
        if let Some(today) = view::today(published) {
            let _ = writeln!(text, "\n{today}.");
        }
    }
    text += &items("Bars", document.bars.iter().map(view::bar));
    text += &items("Notes", document.notes.iter().cloned());
    for listing in &document.listings {
        let _ = write!(text, "\n{}", table(listing, "###"));
    }
    text += &items("Left out", document.left_out.iter().cloned());
    text
}

fn items(title: &str, items: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for item in items {
        if text.is_empty() {
            let _ = writeln!(text, "\n### {title}\n");
        }
        let _ = writeln!(text, "- {}", escaped(&item));
    }
    text
}

fn table(listing: &Listing, level: &str) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = format!("{level} {}\n\n{}", listing.title, row(&listing.columns));
    text += &format!("|{}\n", "---|".repeat(listing.columns.len()));
    listing.rows.iter().for_each(|cells| text += &row(cells));
    text
}

/// Nothing of it is taken for Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace("__", "\\_\\_")
}
