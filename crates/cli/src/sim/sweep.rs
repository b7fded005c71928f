//! The cells of a sweep, run over the host's CPUs. Which worker runs which cell decides nothing: each cell is a world of
//! its own.

use super::plan::CellPlan;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use turnwise_workloads::simulate::report::Cell;

/// Runs all cells on so many host threads, the largest first, and returns them in the order of `cells`.
pub(crate) fn run(cells: &[CellPlan], jobs: usize, one: impl Fn(&CellPlan) -> Cell + Sync) -> Vec<Cell> {
    let bar = progress(cells.len());
    let mut queue: Vec<&CellPlan> = cells.iter().collect();
    // The largest takes longest, and should not be the last to start.
    queue.sort_by_key(|cell| std::cmp::Reverse((cell.threads, cell.cpus)));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(cells.len())));
    let work = || {
        while let Some(plan) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
            let cell = one(plan);
            bar.set_message(format!("{} on {} CPUs", plan.lock, plan.cpus));
            bar.inc(1);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(cells.len()) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|cell| cell.index);
    done
}

/// On standard error; silent unless that is a terminal.
fn progress(cells: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} cells, {eta} left: {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(cells as u64).with_style(style)
}
