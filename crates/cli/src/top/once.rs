//! `turnwise top --once`: one look as a table.

use super::columns::{Context, columns, fitting};
use crate::live::{Names, Process, Row, View};
use crate::setting::shown;
use std::fmt::Write;
use turnwise_live::{Lost, Rule};
use turnwise_present::figures::{count, time};
use turnwise_present::table::{self, CellAlignment, ContentArrangement};
use turnwise_profile::text::{shared, shortened};

/// The width of the table; figures are kept, and names are shortened to the remaining room.
const WIDTH: u16 = 100;

/// Returns the look as text. `found` locks had waits, of which `rows` are shown.
pub(super) fn text(view: &View, names: &mut Names, rows: &[Row], found: usize) -> String {
    let mut text: String = view.processes.iter().map(|process| summary(view, process) + "\n").collect();
    if rows.is_empty() {
        text += "No thread waited for a lock.\n";
        return text;
    }
    let _ = writeln!(text, "\n{}", locks(view, names, rows));
    text.extend(view.processes.iter().map(settings));
    if found > rows.len() {
        let _ = writeln!(text, "{} more locks; --limit shows more", count((found - rows.len()) as u64));
    }
    text
}

/// Formats a process in one line.
pub(super) fn summary(view: &View, process: &Process) -> String {
    let threads = || view.threads.iter().filter(|thread| thread.process == process.id);
    let (all, waiting) = (threads().count(), threads().filter(|thread| thread.waits_for_lock()).count());
    let span = match process.span_ns {
        _ if !process.alive => "it has ended: all since it began".to_owned(),
        None => "all since it began".to_owned(),
        Some(span) => format!("over {}", time(span as f64)),
    };
    let text = format!("{} {}: {waiting} of {all} threads wait; {span}", shortened(&process.name, 40), process.id.pid);
    text + &not_counted(process.lost)
}

/// Formats the settings for the locks of a process, a line each.
fn settings(process: &Process) -> String {
    let line = |rule: &Rule| format!("* set in {}: {}: {}\n", process.id.pid, rule.label, shown(&rule.values));
    process.rules.iter().map(line).collect()
}

/// Describes what found no room, if anything.
fn not_counted(lost: Lost) -> String {
    let waits = lost.waits.saturating_add(lost.nested);
    let parts = [(waits, "waits"), (lost.threads, "threads")].into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, what)| format!("{} {what}", count(number))).collect();
    if parts.is_empty() { String::new() } else { format!("; not counted: {}", parts.join(", ")) }
}

fn locks(view: &View, names: &mut Names, rows: &[Row]) -> table::Table {
    let mut table = table::ruled();
    table.set_content_arrangement(ContentArrangement::Disabled);
    let columns: Vec<_> = columns(WIDTH, view.processes.len() > 1).collect();
    table.set_header(columns.iter().map(|column| column.title));
    let fixed: u16 = columns.iter().filter(|column| !column.grows).map(|column| column.width + 2).sum();
    let mut context = Context { view, names };
    let cells: Vec<Vec<String>> =
        rows.iter().map(|row| columns.iter().map(|column| (column.cell)(row, &mut context)).collect()).collect();
    let longest = |place: usize| cells.iter().map(|row| row[place].chars().count() + 2).max().unwrap_or(0);
    let growing: Vec<usize> = (0..columns.len()).filter(|place| columns[*place].grows).collect();
    let wanted: Vec<usize> = growing.iter().map(|place| longest(*place).max(columns[*place].title.len() + 2)).collect();
    let rooms = shared(&wanted, usize::from(WIDTH.saturating_sub(fixed)));
    let room = |place: usize| growing.iter().position(|of| *of == place).map(|name| rooms[name].saturating_sub(2));
    for row in cells {
        let cells = row.into_iter().enumerate();
        table.add_row(cells.map(|(place, cell)| room(place).map_or_else(|| cell.clone(), |room| fitting(&cell, room))));
    }
    for (place, column) in columns.iter().enumerate() {
        if let (false, Some(column)) = (column.grows, table.column_mut(place)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::made_up::{BEGIN, server, snapshot};
    use crate::live::{Model, Wanted, rows};

    #[test]
    fn the_table_has_a_line_for_each_lock_and_says_what_it_leaves_out() {
        let (_, view, mut names) = server();
        let (some, found) = rows(&view, &mut names, &Wanted::default(), 1);
        let text = text(&view, &mut names, &some, found);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "server 4000001: 2 of 3 threads wait; over 1.00 s");
        assert!(lines[2].contains("lock") && lines[2].contains("holder"), "{text}");
        let cache: Vec<&str> = lines[4].split_whitespace().collect();
        let expected = "cache mutex 100% 0.08 50.0 k 1.99 us 3.00 ms 2 - worker-13 13";
        assert_eq!(cache.join(" "), expected, "{text}");
        assert_eq!(lines.last(), Some(&"1 more locks; --limit shows more"));
        assert!(lines.iter().all(|line| line.chars().count() <= usize::from(WIDTH)), "{text}");
    }

    #[test]
    fn what_is_not_counted_is_said() {
        let mut quiet = snapshot(BEGIN, Vec::new(), Vec::new());
        quiet.alive = false;
        (quiet.lost.waits, quiet.lost.threads, quiet.name) = (1_200, 1, "evil\u{1b}[2J".to_owned());
        let view = Model::default().step(&[quiet]);
        let text = text(&view, &mut Names::default(), &[], 0);
        let expected = "evil [2J 4000001: 0 of 0 threads wait; it has ended: all since it began; not counted: \
                        1,200 waits, 1 threads\nNo thread waited for a lock.\n";
        assert_eq!(text, expected);
    }
}
