//! The verdict: the summary of all cells of a run for a lock of ours. The geometric mean hides no cell, since the worst
//! one is named next to it; speed hides no unfairness, since the least fair cell and the longest wait are named, too.

use crate::report::{LockReport, Report, ScenarioReport};
use serde::{Deserialize, Serialize};
use turnwise_present::stats::{Spread, geometric_mean};

/// The result of a run for one of our locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The lock.
    pub lock: String,
    /// Against the reference of each cell; `None`: it has none, or is this lock.
    pub reference: Option<Score>,
    /// Against the peer that is fastest in each cell. Peers that only spin do not count, unless ours does nothing else.
    pub best_peer: Option<Score>,
    /// The cell with the smallest share for its worst-served threads.
    pub least_fair: Option<Share>,
    /// The cell with the longest wait.
    pub longest_wait: Option<Wait>,
}

/// How fast a lock is against others, over cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Cells that count.
    pub cells: usize,
    /// The geometric mean of the speeds, each the median of its cell.
    pub mean: f64,
    /// The cell where it is slowest.
    pub worst: Cell,
    /// Cells where the lock has no speed although the other has: it was given up before its first sample.
    pub missing: Vec<String>,
}

/// A lock in a scenario against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The scenario.
    pub scenario: String,
    /// The other lock.
    pub against: String,
    /// How many times as fast ours is, paired by round.
    pub speed: Spread,
}

/// The share of the worst-served threads in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The scenario.
    pub scenario: String,
    /// The threads whose share it is.
    pub of: ShareOf,
    /// The share: 1 is fair, 0 is nothing.
    pub share: f64,
}

/// The threads whose share a [`Share`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    /// The least busy thread's, of what the busiest one got.
    Threads,
    /// That of the role with fewer threads, of its fair share.
    TheFew,
    /// The disturbed thread's, of the mean.
    TheDisturbed,
}

/// A wait in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The scenario.
    pub scenario: String,
    /// Its length.
    pub ns: u64,
}

impl Report {
    /// Returns the verdicts on our locks, in the order in which they appear.
    #[must_use]
    pub fn judge(&self) -> Vec<Verdict> {
        let mut names: Vec<&str> = Vec::new();
        for lock in self.scenarios.iter().flat_map(|scenario| &scenario.locks) {
            if lock.ours && !names.contains(&lock.name.as_str()) {
                names.push(&lock.name);
            }
        }
        names.into_iter().map(|name| Verdict::on(name, &self.scenarios)).collect()
    }
}

impl Verdict {
    fn on(name: &str, scenarios: &[ScenarioReport]) -> Verdict {
        let ran: Vec<_> = scenarios.iter().filter_map(|scenario| Some((scenario, scenario.lock(name)?))).collect();
        let against_reference = |scenario: &ScenarioReport, _: &LockReport| scenario.reference_lock().cloned();
        let against_best = |scenario: &ScenarioReport, lock: &LockReport| scenario.best_peer(lock).cloned();
        let shares = ran.iter().filter_map(|(scenario, lock)| least_share(scenario, lock));
        let waits = ran.iter().filter_map(|(scenario, lock)| {
            lock.wait.map(|wait| Wait { scenario: scenario.name.clone(), ns: wait.max_ns })
        });
        Verdict {
            lock: name.to_owned(),
            reference: score(&ran, against_reference),
            best_peer: score(&ran, against_best),
            least_fair: shares.min_by(|a, b| a.share.total_cmp(&b.share)),
            longest_wait: waits.max_by_key(|wait| wait.ns),
        }
    }
}

/// Computes the score over the cells in which there is another lock to compare with.
fn score(
    ran: &[(&ScenarioReport, &LockReport)],
    other: impl Fn(&ScenarioReport, &LockReport) -> Option<LockReport>,
) -> Option<Score> {
    let (mut cells, mut missing) = (Vec::new(), Vec::new());
    for &(scenario, lock) in ran {
        let Some(other) = other(scenario, lock).filter(|other| other.name != lock.name) else { continue };
        match scenario.speed(lock, &other) {
            Some(speed) => cells.push(Cell { scenario: scenario.name.clone(), against: other.name, speed }),
            None => missing.push(scenario.name.clone()),
        }
    }
    let mean = geometric_mean(cells.iter().map(|cell| cell.speed.median))?;
    let worst = cells.iter().min_by(|a, b| a.speed.median.total_cmp(&b.speed.median))?.clone();
    Some(Score { cells: cells.len(), mean, worst, missing })
}

/// Returns the smallest of the report's shares.
fn least_share(scenario: &ScenarioReport, lock: &LockReport) -> Option<Share> {
    let one = |spread: Option<Spread>, of| {
        spread.map(|spread| Share { scenario: scenario.name.clone(), of, share: spread.median })
    };
    let shares = [
        one(lock.fairness, ShareOf::Threads),
        one(lock.share, ShareOf::TheFew),
        one(lock.beside.map(|beside| beside.operations), ShareOf::TheDisturbed),
    ];
    shares.into_iter().flatten().min_by(|a, b| a.share.total_cmp(&b.share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{lock, report, scenario};

    /// Ours is twice as fast as the best peer in one cell, and half as fast in the other.
    fn two_cells() -> Report {
        let cell = |name: &str, ours: f64| {
            let locks = vec![
                lock("ours", true, true, [ours; 3]),
                lock("fast", false, true, [20.0; 3]),
                lock("slow", false, true, [50.0; 3]),
                lock("spins", false, false, [1.0; 3]),
            ];
            let mut cell = ScenarioReport { name: name.to_owned(), locks, ..scenario() };
            cell.compare(&["slow"]);
            cell
        };
        report(vec![cell("good", 10.0), cell("bad", 40.0)])
    }

    #[test]
    fn the_mean_is_geometric_and_the_worst_cell_has_its_name() {
        let verdicts = two_cells().judge();
        assert_eq!(verdicts.len(), 1, "of ours alone: {verdicts:?}");
        let best = verdicts[0].best_peer.as_ref().expect("peers ran");
        assert!((best.mean - 1.0).abs() < 1e-9, "2 and 0.5: {best:?}");
        assert_eq!((best.cells, best.worst.scenario.as_str(), best.worst.against.as_str()), (2, "bad", "fast"));
        assert_eq!(best.worst.speed.median, 0.5);
        let reference = verdicts[0].reference.as_ref().expect("there is one");
        assert!((reference.mean - 2.5).abs() < 1e-9, "5 and 1.25: {reference:?}");
        assert_eq!(reference.worst.against, "slow");
    }

    #[test]
    fn a_lock_without_a_sample_is_missing_and_not_left_out_in_silence() {
        let mut report = two_cells();
        report.scenarios[1].locks[0].rounds_ns = vec![None; 3];
        let best = report.judge().remove(0).best_peer.expect("one cell is left");
        assert_eq!((best.cells, best.missing), (1, vec!["bad".to_owned()]));
    }

    #[test]
    fn a_lock_that_is_fast_and_starves_somebody_shows() {
        let mut report = two_cells();
        let spread = |share| Spread::of(&[share; 3]);
        for scenario in &mut report.scenarios {
            scenario.locks[0].fairness = spread(0.9);
        }
        report.scenarios[0].locks[0].share = spread(0.01);
        let verdict = report.judge().remove(0);
        let share = Share { scenario: "good".to_owned(), of: ShareOf::TheFew, share: 0.01 };
        assert_eq!(verdict.least_fair, Some(share));
    }

    #[test]
    fn without_peers_there_is_no_score() {
        let mut report = two_cells();
        for scenario in &mut report.scenarios {
            scenario.locks.truncate(1);
            scenario.compare(&[]);
        }
        let verdict = report.judge().remove(0);
        assert_eq!((verdict.reference, verdict.best_peer), (None, None));
    }
}
