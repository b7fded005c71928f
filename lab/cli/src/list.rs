//! `turnwise-lab list`: the locks, with their guarantees.

use anyhow::Result;
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
    let (ours, old) = (table(Home::Turnwise), table(Home::Lineage));
    format!(
        "Locks of the library (crate turnwise), without data, on this machine:\n{ours}\
         \nLocks of the five papers, before and after (crate turnwise-lineage), to measure:\n{old}\
         \n  next is: which waiter gets the lock next; overtaken for: how long later arrivals may go first;\n  \
         again: what happens when a thread acquires a lock that it already holds\n\n\
         Locks and scenarios of the benchmark: turnwise-lab bench --list\n"
    )
}

/// Renders the locks of a crate as lines of text, with a head. The library's types are named, too.
fn table(home: Home) -> String {
    let head = ["lock", "type", "bytes", "follows", "next is", "overtaken for", "waiters", "timed", "again"];
    let rows = LOCKS.iter().filter(|entry| entry.home == home).map(cells);
    let mut lines: Vec<_> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    if home == Home::Lineage {
        lines.iter_mut().for_each(|cells| cells[1].clear());
    }
    let mut widths = [0; 9];
    for cells in &lines {
        widths.iter_mut().zip(cells).for_each(|(width, cell)| *width = cell.len().max(*width));
    }
    let line = |cells: &[String; 9]| {
        let cells = cells.iter().zip(widths).filter(|(_, width)| *width > 0);
        let cells = cells.map(|(cell, width)| format!("  {cell:<width$}"));
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    lines.iter().map(line).collect()
}

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
        for home in [Home::Turnwise, Home::Lineage] {
            let table = table(home);
            let long: Vec<_> = table.lines().filter(|line| line.chars().count() > 120).collect();
            assert!(long.is_empty(), "{long:#?}");
        }
    }
}
