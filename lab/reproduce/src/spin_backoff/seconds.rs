//! What every lock shows on every number of CPUs, and with fields on the lock's line.

use super::load::Took;
use super::model::{Model, Run, seeds};
use crate::Context;
use crate::mean::change;
use anyhow::Result;
use serde::Serialize;
use turnwise_bench::published::SpinBackoff;

/// The numbers of CPUs that were published.
pub(super) const CPUS: [u32; 4] = [8, 16, 32, 64];

/// A lock with its figures, one for each number of CPUs.
pub(super) type Of<T> = (&'static str, Vec<T>);

/// The seeds of wall, system and user seconds.
pub(super) type Seconds = [Vec<f64>; 3];

/// Returns the seconds of these locks on these numbers of CPUs. `inode`: the owner changes fields on the lock's line,
/// as it does where the lock is an inode's.
pub(super) fn seconds(
    context: &Context<'_>,
    model: &Model,
    locks: &[&'static str],
    cpus: &[u32],
    inode: bool,
) -> Result<Vec<Of<Seconds>>> {
    let count = seeds(context);
    let cells = locks.iter().flat_map(|&lock| cpus.iter().map(move |&cpus| (lock, cpus)));
    let run = |(lock, cpus)| {
        let mut run = model.run(context, lock, cpus);
        run.shape.inode = inode;
        run.seeds(count).collect::<Vec<_>>()
    };
    let runs: Vec<Run> = cells.flat_map(run).collect();
    let took: Vec<Took> = context.pool.map("spin_backoff: locks", &runs, Run::run)?;
    let seconds: Vec<[f64; 3]> = took.into_iter().map(|took| model.seconds(took)).collect();
    let by_figure = |seeds: &[[f64; 3]]| -> Seconds {
        [0, 1, 2].map(|figure: usize| seeds.iter().map(|seed| seed[figure]).collect())
    };
    let mut cells = seconds.chunks(count as usize).map(by_figure);
    Ok(locks.iter().map(|&lock| (lock, cells.by_ref().take(cpus.len()).collect())).collect())
}

/// Returns what back-off changes the wall time by, per cent, seed by seed.
pub(super) fn gains(spin: &Of<Seconds>, backoff: &Of<Seconds>) -> Vec<Vec<f64>> {
    let both = spin.1.iter().zip(&backoff.1);
    both.map(|(spin, off)| spin[0].iter().zip(&off[0]).map(|(spin, off)| change(*spin, *off)).collect()).collect()
}

/// How back-off changes a part of the wall time, per cent.
#[derive(Serialize)]
pub(super) struct Part {
    name: &'static str,
    label: &'static str,
    published: f64,
    seeds: Vec<f64>,
}

/// Returns the linear part and the quadratic one.
pub(super) fn parts(published: &SpinBackoff, spin: &Of<Seconds>, backoff: &Of<Seconds>) -> Vec<Part> {
    let (first, last) = (&published.rows[0], &published.rows[3]);
    let both = |spin: [f64; 2], backoff: [f64; 2]| {
        let (before, after) = (parabola(spin), parabola(backoff));
        [change(before[0], after[0]), change(before[1], after[1])]
    };
    let said = both([first.spin[0], last.spin[0]], [first.backoff[0], last.backoff[0]]);
    let ends = |lock: &Of<Seconds>, seed: usize| [0, 3].map(|n: usize| lock.1[n][0][seed]);
    let seeds = 0..spin.1[0][0].len();
    let ours: Vec<[f64; 2]> = seeds.map(|seed| both(ends(spin, seed), ends(backoff, seed))).collect();
    let part = |n: usize, name, label| Part {
        name,
        label,
        published: said[n],
        seeds: ours.iter().map(|parts| parts[n]).collect(),
    };
    vec![part(0, "a", "linear part"), part(1, "b", "quadratic part")]
}

/// Returns a and b of a n + b n^2 through the measurements at 8 and at 64.
fn parabola([at_8, at_64]: [f64; 2]) -> [f64; 2] {
    let quadratic = (at_64 / 64.0 - at_8 / 8.0) / 56.0;
    [at_8 / 8.0 - 8.0 * quadratic, quadratic]
}

/// Returns a n + b n^2 through the published wall times of 8 and 64 CPUs.
pub(super) fn baseline(published: &SpinBackoff) -> Vec<f64> {
    let [a, b] = parabola([published.rows[0].spin[0], published.rows[3].spin[0]]);
    CPUS.map(f64::from).map(|n| a * n + b * n * n).into()
}
