//! The table, on the terminal and as a page.

use crate::Flags;
use crate::faults::{Expected, Fault, Skipped};
use crate::run::Tally;
use anyhow::Result;
use turnwise_present::machine::Machine;

/// One fault, and its outcome.
pub(crate) struct Row {
    fault: &'static Fault,
    pub(crate) ran: Result<Tally, Skipped>,
}

/// The head of the table on the terminal.
pub(crate) const HEAD: &str = "fault                    tries     updates       lost  hangs   longest stall";

impl Row {
    /// Returns the row of a fault that ended so; fails if it failed for another reason than that it cannot run here.
    pub(crate) fn new(fault: &'static Fault, ended: Result<Tally>) -> Result<Self> {
        let ran = match ended {
            Ok(tally) => Ok(tally),
            Err(error) => Err(error.downcast::<Skipped>()?),
        };
        Ok(Row { fault, ran })
    }

    /// Returns whether it ended otherwise than it should.
    pub(crate) fn is_wrong(&self) -> bool {
        self.ran.as_ref().is_ok_and(|tally| self.fault.expected.verdict(tally).is_err())
    }

    fn verdict(&self, tally: &Tally) -> &'static str {
        match (self.fault.expected.verdict(tally), self.fault.expected) {
            (Err(wrong), _) => wrong,
            (Ok(()), Expected::Sound) => "",
            (Ok(()), _) => "caught, as it should be",
        }
    }

    /// Renders a line for the terminal.
    pub(crate) fn line(&self) -> String {
        let name = self.fault.name;
        match &self.ran {
            Ok(tally @ Tally { tries, updates, lost, hangs, stall, .. }) => {
                let (stall, verdict) = (stall.as_secs_f64() * 1e3, self.verdict(tally));
                format!("{name:20} {tries:>9} {updates:>11} {lost:>10} {hangs:>6} {stall:>12.1} ms  {verdict}")
            }
            Err(why) => format!("{name:20} SKIPPED: {why}"),
        }
    }

    fn markdown(&self) -> String {
        let (name, about) = (self.fault.name, self.fault.about());
        match &self.ran {
            Ok(tally @ Tally { tries, updates, lost, hangs, stall, .. }) => {
                let verdict = Some(self.verdict(tally)).filter(|said| !said.is_empty());
                let verdict = verdict.map(|said| format!(" ({said})")).unwrap_or_default();
                let stall = stall.as_secs_f64() * 1e3;
                format!("| `{name}`: {about}{verdict} | {tries} | {updates} | {lost} | {hangs} | {stall:.0} ms |")
            }
            Err(why) => format!("| `{name}`: {about}. SKIPPED: {why} | | | | | |"),
        }
    }
}

/// Renders the page of results.
pub(crate) fn page(rows: &[Row], flags: &Flags, seed: u64, commit: &str) -> String {
    let wide = if flags.wide { " --wide" } else { "" };
    let release = if cfg!(debug_assertions) { "" } else { " --release" };
    let command = format!("cargo xtask faults{release}{wide} --seconds {} --seed {seed} --write", flags.seconds);
    let ran = rows.iter().filter(|row| row.ran.is_ok()).count();
    let wrong = rows.iter().filter(|row| row.is_wrong()).count();
    let skipped = rows.len() - ran;
    include_str!("page.txt")
        .replace("@MADE@", &format!("`{command}`, commit {commit}; do not edit. Machine: {}.", Machine::here()))
        .replace("@RAN@", &format!("{ran} rows ran, {wrong} of them not as they should; {skipped} were skipped."))
        .replace("@ROWS@\n", &rows.iter().map(|row| row.markdown() + "\n").collect::<String>())
}
