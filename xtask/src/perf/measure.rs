//! Runs the jobs of a report in rounds, with the two versions of each side by side.

use super::believed::Believed;
use super::busy::Busy;
use super::job::{Job, Unit};
use super::report::Gap;
use super::version::Version;
use anyhow::{Context, Result};
use turnwise_present::progress::{self, ProgressFinish};

/// A pair of builds, the old one first.
pub(crate) type Versions = [Version; 2];

/// The results of the runs of a cell.
pub(crate) struct Measured {
    pub(crate) cell: String,
    pub(crate) unit: Unit,
    /// Values of the old and of the new version, by build and pair.
    pub(crate) builds: Vec<Vec<[f64; 2]>>,
}

/// The results of all runs.
pub(crate) struct Outcome {
    pub(crate) measured: Vec<Measured>,
    /// Cells that could not be measured, and why.
    pub(crate) failed: Vec<Gap>,
}

/// A job under way.
struct Running<'a> {
    job: &'a Job,
    /// Of its cells.
    measured: Vec<Measured>,
    failed: Option<String>,
}

/// Runs each job the planned number of times, with each pair of builds; one that fails is not run again.
pub(crate) fn measure(
    jobs: &[Job],
    builds: &[Versions],
    believed: Option<&Believed>,
    busy: &mut Busy,
) -> Result<Outcome> {
    let mut all: Vec<Running> = jobs.iter().map(|job| Running { job, measured: Vec::new(), failed: None }).collect();
    let rounds = all.iter().map(|running| running.job.rounds).max().unwrap_or(0);
    // A run of each that does not count: files are read, pages are there, and what cannot run at all fails at once.
    for running in &mut all {
        running.pairs_of(builds, believed, false);
        let none = vec![Vec::new(); builds.len()];
        let measured = |cell: &String| Measured { cell: cell.clone(), unit: running.job.unit, builds: none.clone() };
        running.measured = running.job.cells.iter().map(measured).collect();
    }
    let bar = progress::bar(rounds as usize, "round {pos} of {len}, {eta} left").with_finish(ProgressFinish::AndClear);
    for round in 0..rounds {
        for (index, running) in all.iter_mut().enumerate() {
            if is_due(round, running.job.rounds, rounds) {
                running.pairs_of(builds, believed, (running.measured[0].builds[0].len() + index) % 2 == 1);
            }
        }
        busy.check()?;
        bar.inc(1);
    }
    let failed = |running: &Running| Some(Gap { cell: running.job.cells.join(", "), why: running.failed.clone()? });
    let failed = all.iter().filter_map(failed).collect();
    let well = all.into_iter().filter(|running| running.failed.is_none());
    let measured = well.flat_map(|running| running.measured).collect();
    Ok(Outcome { measured, failed })
}

/// Returns whether a job that runs in `times` of `rounds` runs in this one: spread evenly.
fn is_due(round: u32, times: u32, rounds: u32) -> bool {
    let before = |round: u32| u64::from(round) * u64::from(times) / u64::from(rounds.max(1));
    before(round + 1) > before(round)
}

impl Running<'_> {
    /// Makes one run under each version of each pair of builds, up to the first that fails.
    fn pairs_of(&mut self, builds: &[Versions], believed: Option<&Believed>, new_first: bool) {
        for (build, versions) in builds.iter().enumerate() {
            if self.failed.is_some() {
                return;
            }
            match pair(self.job, versions, believed, new_first) {
                Ok([old, new]) => {
                    for (of, pair) in self.measured.iter_mut().zip(old.into_iter().zip(new)) {
                        of.builds[build].push(pair.into());
                    }
                }
                Err(error) => self.failed = Some(format!("{error:#}")),
            }
        }
    }
}

/// Makes one run under each version; the order changes from pair to pair.
fn pair(job: &Job, versions: &Versions, believed: Option<&Believed>, new_first: bool) -> Result<[Vec<f64>; 2]> {
    let mut values = [Vec::new(), Vec::new()];
    for index in if new_first { [1, 0] } else { [0, 1] } {
        let which = || format!("the {} one, {}", ["old", "new"][index], versions[index].name);
        values[index] = job.run(&versions[index], believed).with_context(which)?;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_spread_evenly() {
        let due =
            |times: u32, rounds: u32| (0..rounds).filter(|round| is_due(*round, times, rounds)).collect::<Vec<_>>();
        assert_eq!(due(2, 4), [1, 3]);
        assert_eq!(due(3, 3), [0, 1, 2]);
        for (times, rounds) in [(15, 40), (1, 7), (0, 5), (1000, 1000)] {
            assert_eq!(due(times, rounds).len(), times as usize, "{times} of {rounds}");
        }
    }
}
