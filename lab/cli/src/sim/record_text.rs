//! The result of a replay of a recorded program, as text and as a page.

use super::record::{Point, RecordReport};
use std::fmt::Write;
use turnwise_present::figures::{count, percent, scaled};
use turnwise_present::table::{self, CellAlignment};
use turnwise_profile::text::shortened;

const WIDTH: usize = 100;
/// Of a lock's name.
const NAME: usize = 30;
/// An error beyond this is reported as one.
const GOOD: f64 = 0.15;

/// Renders the whole report, for people.
pub(super) fn text(report: &RecordReport) -> String {
    let mut text = String::new();
    for line in recorded(report).into_iter().chain([checked(report)]) {
        let _ = writeln!(text, "{}", textwrap::fill(&line, WIDTH));
    }
    let _ = writeln!(text, "\n{}\n", predictions(report));
    for line in notes(report) {
        let _ = writeln!(text, "{}", textwrap::fill(&line, textwrap::Options::new(WIDTH).subsequent_indent("  ")));
    }
    text
}

pub(super) fn recorded(report: &RecordReport) -> Vec<String> {
    let run = &report.recorded;
    let threads = if run.threads == 1 { "thread" } else { "threads" };
    vec![
        format!("Recorded: {}, {} {threads} on {} CPUs, {} locks", shown(run), run.threads, run.cpus, run.policy),
        format!(
            "{} acquisitions in {:.2} s, {} per second; the order of {} of them is known",
            count(run.acquisitions.round() as u64),
            run.seconds,
            scaled(run.acquisitions_per_s),
            percent(run.kept)
        ),
    ]
}

fn shown(run: &super::record::Recorded) -> String {
    shortened(&run.command.join(" "), WIDTH / 2)
}

/// Returns the sentence on the recorded run, simulated.
pub(super) fn checked(report: &RecordReport) -> String {
    let Some(check) = &report.check else {
        return "Not checked: this machine was never measured. Run `turnwise-lab calibrate` on the machine that the \
                recording was made on, and name its file with --recorded-on."
            .to_owned();
    };
    let error = check.times_recorded - 1.0;
    let worth = if error.abs() <= GOOD { "" } else { "; take what follows as a direction, not as a figure" };
    format!(
        "The recorded run, simulated on {} with {} CPUs: {} per second, an error of {:+.1}%{worth}.",
        check.machine,
        check.cpus,
        scaled(check.acquisitions_per_s),
        error * 100.0
    )
}

pub(super) const TITLES: [&str; 7] =
    ["machine", "CPUs", "lock", "per second", "times recorded", "waiting", "mostly for"];

pub(super) fn cells(point: &Point) -> [String; 7] {
    let most = point.most.as_ref().map_or("-".to_owned(), |(name, _)| shortened(name, NAME));
    [
        point.machine.clone(),
        point.cpus.to_string(),
        point.lock.clone(),
        scaled(point.acquisitions_per_s),
        format!("{:.2}", point.times_recorded),
        percent(point.waiting),
        most,
    ]
}

fn predictions(report: &RecordReport) -> String {
    let mut table = table::ruled();
    table.set_header(TITLES);
    for point in &report.points {
        table.add_row(cells(point));
    }
    for column in [1, 3, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// Returns what the figures rest on, and what they leave out.
pub(super) fn notes(report: &RecordReport) -> Vec<String> {
    let run = &report.recorded;
    let mut notes = vec![format!(
        "Per second: acquisitions of all threads. Waiting: share of their time. Seed {}. The threads are the recorded \
         ones, whatever the number of CPUs, and a section takes as long as it took where it was recorded: a faster \
         processor, or data that is farther away, is not in these figures.",
        report.seed
    )];
    if run.awaited > 0.01 {
        notes.push(format!(
            "For {} of their time the threads waited on condition variables. Such waits last as long as they did: who \
             waits for the work of others does not get it sooner here.",
            percent(run.awaited)
        ));
    }
    if run.locks_left_out > 0 {
        notes.push(format!(
            "Of {} locks, those taken least ({}) are left out: threads do not wait for them.",
            run.locks, run.locks_left_out
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::record::fixture;
    use super::*;

    #[test]
    fn the_error_is_said_with_its_sign_and_a_large_one_is_warned_of() {
        let mut report = fixture();
        let words = |report: &RecordReport| text(report).split_whitespace().collect::<Vec<_>>().join(" ");
        let said = text(&report);
        assert!(said.lines().all(|line| line.chars().count() <= WIDTH), "{said}");
        let said = words(&report);
        for part in ["an error of +10.0%.", "./server --port 80", "condition variables", "The threads are the recorded"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        report.check.as_mut().unwrap().times_recorded = 0.5;
        assert!(words(&report).contains("an error of -50.0%; take what follows as a direction"));
        report.check = None;
        assert!(words(&report).contains("Not checked"));
    }
}
