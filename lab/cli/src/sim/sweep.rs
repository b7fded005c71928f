//! The cells of a sweep, run over the host's CPUs. The assignment of cells to workers does not affect results: each
//! cell is a world of its own.

use super::plan::CellPlan;
use anyhow::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use turnwise_present::progress;
use turnwise_simbench::report::Cell;

/// Runs all cells on `jobs` host threads, the largest first, and returns them in the order of `cells`.
///
/// # Errors
/// That of the first cell that has one; the remaining ones are not begun.
pub(crate) fn run(
    cells: &[CellPlan],
    jobs: usize,
    one: impl Fn(&CellPlan) -> Result<Cell> + Sync,
) -> Result<Vec<Cell>> {
    let bar = progress::bar(cells.len(), "{bar:30} {pos}/{len} cells, {eta} left: {msg}");
    let mut queue: Vec<&CellPlan> = cells.iter().collect();
    // The largest takes longest, and should not be the last to start.
    queue.sort_by_key(|cell| std::cmp::Reverse((cell.threads, cell.cpus)));
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Vec::with_capacity(cells.len()));
    let work = || {
        while !failed.load(Ordering::Relaxed)
            && let Some(plan) = queue.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let cell = one(plan);
            failed.fetch_or(cell.is_err(), Ordering::Relaxed);
            bar.set_message(format!("{} on {} CPUs", plan.lock, plan.cpus));
            bar.inc(1);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((plan.index, cell));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(cells.len()) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, cell)| cell).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::super::plan::{Axes, Size, cells};
    use super::*;
    use anyhow::bail;

    fn plans() -> Vec<CellPlan> {
        let size = Size { name: "m", cpus: 80, nodes: 8 };
        let axes = Axes { cpus: Some("1,40,2-9".parse().unwrap()), ..Axes::default() };
        cells(&["a".to_owned(), "b".to_owned()], &axes, size, 1).unwrap()
    }

    #[test]
    fn the_result_does_not_depend_on_the_number_of_workers() {
        let one = |plan: &CellPlan| Ok(fixture::cell(plan.index, &plan.lock, plan.cpus, plan.threads));
        let bytes = |jobs| {
            let mut report = fixture::report(&[], &[]);
            report.cells = run(&plans(), jobs, one).unwrap();
            assert_eq!(report.cells.len(), 20);
            turnwise_present::json::text(&report).unwrap()
        };
        assert_eq!(bytes(1), bytes(7));
        assert!(run(&[], 3, one).unwrap().is_empty());
    }

    #[test]
    fn a_failure_is_reported_and_ends_the_sweep() {
        let one = |plan: &CellPlan| match plan.cpus {
            40 => bail!("broken on {}", plan.cpus),
            _ => Ok(fixture::cell(plan.index, &plan.lock, plan.cpus, plan.threads)),
        };
        let error = run(&plans(), 1, one).unwrap_err();
        assert_eq!(error.to_string(), "broken on 40");
    }
}
