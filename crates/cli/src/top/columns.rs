//! The columns of the list of locks, on a terminal and with --once.

use crate::live::{Names, ProcessId, Row, View};
use turnwise_present::figures::{percent, short, time};
use turnwise_profile::text::shortened;

/// The data that a cell is made from.
pub(super) struct Context<'a> {
    pub(super) view: &'a View,
    pub(super) names: &'a mut Names,
}

pub(super) struct Column {
    pub(super) title: &'static str,
    /// Its minimum width on the terminal.
    pub(super) width: u16,
    /// Whether it is a name, which takes the remaining room.
    pub(super) grows: bool,
    /// The width below which lists leave it out.
    from: u16,
    pub(super) cell: fn(&Row, &mut Context) -> String,
}

/// The text before the function by which a lock is named, if it has no other name.
const TAKEN_IN: &str = "taken in ";
/// The text for an unknown figure.
const NONE: &str = "-";

const fn figure(title: &'static str, width: u16, from: u16, cell: fn(&Row, &mut Context) -> String) -> Column {
    Column { title, width, grows: false, from, cell }
}

const fn name(title: &'static str, width: u16, from: u16, cell: fn(&Row, &mut Context) -> String) -> Column {
    Column { title, width, grows: true, from, cell }
}

const COLUMNS: &[Column] = &[
    name("lock", 15, 0, |row, _| row.title()),
    name("kind", 5, 100, |row, _| row.what.to_owned()),
    figure("share", 5, 0, |row, _| if row.is_lock { percent(row.share) } else { NONE.to_owned() }),
    figure("waiting", 7, 0, |row, _| row.waiting.map_or_else(|| NONE.to_owned(), waiting)),
    figure("waits/s", 7, 0, |row, _| row.per_s.map_or_else(|| NONE.to_owned(), whole)),
    figure("p50", 7, 110, |row, _| length(row.now.quantile(0.5))),
    figure("p99", 7, 0, |row, _| length(row.now.quantile(0.99))),
    figure("now", 7, 0, |row, _| length(row.longest_now_ns)),
    figure("threads", 7, 0, |row, _| row.waiters.to_string()),
    figure("longest", 7, 140, |row, _| length(Some(row.total.longest_ns))),
    figure("sleeps", 7, 170, |row, _| short(row.now.sleeps as f64)),
    figure("steals", 7, 170, |row, _| short(row.now.steals as f64)),
    figure("handoffs", 8, 170, |row, _| short(row.now.handoffs as f64)),
    figure("held", 8, 100, |row, _| row.holder.map_or_else(|| NONE.to_owned(), |(_, holder)| held(holder.held_ns))),
    name("holder", 10, 0, holder),
    name("call site", 24, 130, |row, context| context.names.site(row.process(), row.site)),
];

/// The process's column, if there are several processes.
const PID: Column = figure("pid", 7, 0, |row, _| row.process().pid.to_string());

pub(super) fn columns(width: u16, several: bool) -> impl Iterator<Item = &'static Column> {
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.from <= width).collect();
    if several {
        columns.insert(1, &PID);
    }
    columns.into_iter()
}

fn holder(row: &Row, context: &mut Context) -> String {
    row.holder.map_or_else(|| NONE.to_owned(), |(process, holder)| name_of(context.view, process, holder.tid))
}

/// Formats a thread of a process by its name, if known, and its number.
pub(super) fn name_of(view: &View, process: ProcessId, tid: u32) -> String {
    thread_name(view.thread(process, tid).map_or("", |thread| &thread.name), tid)
}

pub(super) fn thread_name(name: &str, tid: u32) -> String {
    if name.is_empty() { tid.to_string() } else { format!("{name} {tid}") }
}

/// Formats how long a thread has held a lock, as far as known.
pub(super) fn held(held_ns: u64) -> String {
    if held_ns == 0 { NONE.to_owned() } else { format!("≥{}", time(held_ns as f64)) }
}

/// Formats a duration that may be unknown.
pub(super) fn length(ns: Option<u64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), |ns| time(ns as f64))
}

/// Formats the mean number of waiting threads.
pub(super) fn waiting(threads: f64) -> String {
    if threads >= 0.005 { format!("{threads:.2}") } else { "0".to_owned() }
}

/// Formats a number without its fraction.
pub(super) fn whole(value: f64) -> String {
    if value >= 10.0 { short(value.round()) } else { short((value * 10.0).round() / 10.0) }
}

/// Shortens a name to at most `columns` columns. If a lock is named by a function, the function stays: first its
/// namespaces are removed, then the words before it.
pub(super) fn fitting(name: &str, columns: usize) -> String {
    let mut name = name.to_owned();
    while name.chars().count() > columns
        && let Some(shorter) = without_namespace(&name)
    {
        name = shorter;
    }
    let is_long = name.chars().count() > columns;
    let function = name.strip_prefix(TAKEN_IN).filter(|_| is_long).unwrap_or(&name);
    shortened(function, columns)
}

/// Returns a name without its first namespace, if there is one: those in arguments of templates or traits stay.
fn without_namespace(name: &str) -> Option<String> {
    let end = name.find("::")?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let start = name[..end].rfind(|c| !is_part(c)).map_or(0, |before| before + 1);
    let stands_alone = start == 0 || name[..start].ends_with(' ');
    (start < end && stands_alone && !name[..end].contains('<')).then(|| name[..start].to_owned() + &name[end + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_what_stays_of_a_long_name() {
        let writer = "taken in kyotocabinet::RWLock::lock_writer @0x45e3e";
        let cases = [
            ("cache", 20, "cache"),
            (writer, 60, writer),
            (writer, 40, "taken in RWLock::lock_writer @0x45e3e"),
            (writer, 20, "lock_writer @0x45e3e"),
            (writer, 10, "lock_…5e3e"),
            ("taken in kyotocabinet::Mutex::lock @0x4585e #12", 20, "lock @0x4585e #12"),
            ("taken in store::Shard<a::b>::get", 24, "Shard<a::b>::get"),
            ("<a::b as c::d>::lock_slow", 12, "<a::b …_slow"),
            ("::odd", 3, ":…d"),
        ];
        for (name, columns, expected) in cases {
            assert_eq!(fitting(name, columns), expected);
        }
    }

    #[test]
    fn what_is_shown_fits_from_80_columns_on() {
        for width in 80..=300 {
            for several in [false, true] {
                let least: u16 = columns(width, several).map(|column| column.width + 1).sum();
                assert!(least <= width + 1, "{width} columns, {several}: {least}");
            }
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([0.0, 0.123, 3.456].map(waiting), ["0", "0.12", "3.46"]);
        assert_eq!([0.0, 0.04, 4.26, 12.6, 51_234.0].map(whole), ["0", "0", "4.30", "13", "51.2 k"]);
        assert_eq!((held(0), held(2_000_000), length(None)), ("-".into(), "≥2.00 ms".into(), "-".into()));
    }
}
