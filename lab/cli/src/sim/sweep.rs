//! The cells of a sweep, run over the host's CPUs. The assignment of cells to workers does not affect results: each
//! cell is a world of its own.

use super::plan::CellPlan;
use anyhow::Result;
use turnwise_present::progress;
use turnwise_reproduce::pool::Pool;
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
    let what = |cell: &CellPlan| format!("{} on {} CPUs", cell.lock, cell.cpus);
    // The largest takes longest, and should not be the last to start.
    let cost = |cell: &CellPlan| (cell.threads, cell.cpus);
    let done = Pool::new(jobs, &bar).map_longest_first(what, cells, cost, one);
    bar.finish_and_clear();
    done
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::super::plan::{Axes, cells};
    use super::*;
    use anyhow::bail;

    fn plans() -> Vec<CellPlan> {
        let machine = turnwise_sim::spec::load("westmere-ex-80").unwrap();
        let axes = Axes { cpus: Some("1,40,2-9".parse().unwrap()), ..Axes::default() };
        cells(&["a".to_owned(), "b".to_owned()], &axes, &machine, 1).unwrap()
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
