//! The result of `turnwise-lab aim7`, as data and as text.

use serde::Serialize;
use std::fmt::Write;
use turnwise_aim7::workfile::BUILT_IN;
use turnwise_aim7::{JOBS, Outcome, SETS, Workfile};
use turnwise_present::machine::Machine;
use turnwise_present::table::{self, Cell, CellAlignment, Table};
use turnwise_simbench::report::SimMachine;

/// The format of [`Report`] as JSON. Raised when a field changes its meaning or is removed.
pub(crate) const FORMAT: &str = "turnwise-aim7/1";

/// Rows of a profile that are shown.
const PROFILE_ROWS: usize = 12;

/// Every number of users with every set of locks.
#[derive(Serialize)]
pub(crate) struct Report {
    /// [`FORMAT`].
    pub(crate) format: String,
    /// The commit of the program, if known.
    pub(crate) commit: Option<String>,
    /// Where it ran, in words.
    pub(crate) place: String,
    /// The machine that it ran on.
    pub(crate) machine: AnyMachine,
    /// Whether it ran in the simulator.
    pub(crate) simulated: bool,
    /// The mix of jobs.
    pub(crate) workfile: String,
    /// How many jobs each user runs.
    pub(crate) jobs_per_user: u32,
    /// By how much less a job did than AIM7's.
    pub(crate) scale: u32,
    /// The private computation of one of AIM7's jobs.
    pub(crate) compute_ns: u32,
    /// Directories of the users' files.
    pub(crate) directories: u32,
    /// File systems that these directories are on.
    pub(crate) file_systems: u32,
    /// Handles of a transaction; `None`: no journal.
    pub(crate) handles_per_commit: Option<u32>,
    /// The simulated time that was measured; `None`: whole runs.
    pub(crate) window_ns: Option<u64>,
    /// Random seed.
    pub(crate) seed: u64,
    /// One for each set of locks.
    pub(crate) series: Vec<Series>,
}

/// A machine of either kind, each in the shape that it has in other reports.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum AnyMachine {
    Here(Machine),
    Simulated(SimMachine),
}

/// One set of locks.
#[derive(Serialize)]
pub(crate) struct Series {
    /// The name of the set.
    pub(crate) locks: String,
    /// One outcome for each number of users.
    pub(crate) outcomes: Vec<Outcome>,
}

impl Report {
    /// Returns the report as text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n\n{}\n", self.head(), self.table());
        for series in self.series.iter().filter(|_| self.simulated) {
            if let Some(last) = series.outcomes.last() {
                let _ = writeln!(text, "\n{}, {} users: where the CPUs' time went", series.locks, last.users);
                for row in last.profile.iter().take(PROFILE_ROWS) {
                    let _ = writeln!(text, "  {:>5.1}%  {:<8} {}", row.share * 100.0, row.kind, row.function);
                }
            }
        }
        text
    }

    fn head(&self) -> String {
        let journal = self
            .handles_per_commit
            .map_or("no journal".to_owned(), |handles| format!("a journal with a commit after {handles} handles"));
        let length = match self.window_ns {
            Some(ns) => format!("a window of {} ms", ns as f64 / 1e6),
            None => "whole runs".to_owned(),
        };
        let scale = match self.scale {
            1 => "as AIM7's".to_owned(),
            n => format!("a {n}th of AIM7's"),
        };
        format!(
            "AIM7 {} on {}: {} jobs a user, each {} with {:.2} ms of computing\n\
             {} directories on {} file systems, {journal}; {length}, seed {}",
            self.workfile,
            self.place,
            self.jobs_per_user,
            scale,
            f64::from(self.compute_ns) / 1e6,
            self.directories,
            self.file_systems,
            self.seed
        )
    }

    fn table(&self) -> Table {
        let mut table = table::ruled();
        table.set_header(["locks", "users", "JPM", "JTI", "CPU ms/job", "busy", "voluntary", "involuntary"]);
        for series in &self.series {
            let mut title = series.locks.clone();
            for outcome in &series.outcomes {
                let cells = cells(outcome).map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
                table.add_row(std::iter::once(Cell::new(std::mem::take(&mut title))).chain(cells));
            }
        }
        table
    }
}

fn cells(of: &Outcome) -> [String; 7] {
    [
        of.users.to_string(),
        format!("{:.0}", of.jpm),
        of.jti.map_or("-".to_owned(), |jti| format!("{jti:.0}")),
        format!("{:.3}", of.cpu_ms_per_job),
        format!("{:.0}%", of.busy * 100.0),
        of.voluntary.to_string(),
        of.involuntary.to_string(),
    ]
}

/// Returns what `--list` prints.
pub(crate) fn lists() -> String {
    let mut text = String::from("workfiles\n");
    for (name, _) in BUILT_IN {
        let jobs = Workfile::load(name).map_or(0, |workfile| workfile.jobs());
        let _ = writeln!(text, "  {name:<18} {jobs} jobs a user");
    }
    text += "sets of locks\n";
    for set in SETS {
        let _ = writeln!(text, "  {:<18} {}", set.name, set.help);
    }
    text += "jobs\n";
    let names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
    for line in names.chunks(6) {
        let _ = writeln!(text, "  {}", line.iter().map(|name| format!("{name:<17}")).collect::<String>().trim_end());
    }
    text
}
