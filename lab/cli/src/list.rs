//! `turnwise-lab list`: the locks, with their guarantees.

use crate::document::{self, Style};
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use turnwise_catalogue::{Entry, Home, LOCKS};
use turnwise_present::ending::print;

/// List the locks of the library and of the five papers, with sizes and guarantees
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  turnwise-lab list
  turnwise-lab list | grep queued")]
pub(crate) struct Args {}

/// Prints the lists.
///
/// # Errors
/// Standard output cannot be written to.
pub(crate) fn run(_: &Args) -> Result<ExitCode> {
    print(&locks())?;
    Ok(ExitCode::SUCCESS)
}

fn locks() -> String {
    let ours = |entry: &Entry| entry.home == Home::Turnwise;
    let rows: Vec<_> = LOCKS.iter().map(|entry| (ours(entry), cells(entry))).collect();
    document::shown(
        &document::filled("list.jinja", include_str!("list.jinja"), json!({ "rows": rows })),
        Style::Wrapped,
    )
}

/// Returns the cells of a row. The template leaves out the types of the papers' locks.
fn cells(entry: &Entry) -> [String; 9] {
    let Entry { name, type_name, source, order, overtaken, waiters, again, .. } = entry;
    let (bytes, timed) = (entry.bytes.to_string(), if entry.timed { "yes" } else { "no" });
    [*name, type_name, &bytes, source, order, overtaken, waiters, timed, again].map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_a_terminal() {
        let table = locks();
        let long: Vec<_> = table.lines().filter(|line| line.chars().count() > 120).collect();
        assert!(long.is_empty(), "{long:#?}");
        // A row that does not fit continues in lines whose first cell is empty.
        let broken: Vec<_> = table.lines().filter(|line| line.starts_with("   ")).collect();
        assert!(broken.is_empty(), "{broken:#?}");
    }
}
