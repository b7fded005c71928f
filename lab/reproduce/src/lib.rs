//! `turnwise-lab reproduce`: the papers' workloads on the machines that they ran on, simulated, and every published row
//! next to ours.
//!
//! | file | what |
//! |---|---|
//! | `report.rs`, `score.rs` | the result, and how much of it is right |
//! | `template.rs` | the report of each from its figures: its `report.jinja` and its `words.toml` |
//! | `explanations.rs` | what may explain the misses |
//! | `pool.rs`, `bracket.rs` | many runs; constants that are not known |
//! | `mean.rs` | means of several seeds, and changes |
//! | `numbers.rs` | the numbers of a workload, and what is drawn of those that its paper leaves open |
//! | `bands.rs` | many runs with drawn numbers: what a paper's own text leaves open of each figure |
//! | `aim7_runs.rs` | AIM7 on the papers' machine |
//! | `mutex_spinners/`, `rwsem_stealing/`, `dcache/`, `spin_backoff/`, `handoff_spin/` | the papers |

mod aim7_runs;
pub mod bands;
mod bracket;
mod dcache;
pub mod explanations;
mod handoff_spin;
mod mean;
mod mutex_spinners;
mod numbers;
pub mod pool;
pub mod report;
mod rwsem_stealing;
mod score;
mod spin_backoff;
mod template;

use anyhow::{Context as _, Result};
use minijinja::Value;
pub use numbers::Draw;
use numbers::Numbers;
use pool::Pool;
use report::PaperReport;
use serde::Serialize;
use std::panic::resume_unwind;
use std::sync::Arc;
use turnwise_present::progress::ProgressBar;
use turnwise_present::template::Serde;
use turnwise_sim::spec::Machine;

/// A paper that can be reproduced.
pub struct Paper {
    /// Its name.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// About how many runs it takes, short and in full.
    pub runs: [u64; 2],
    run: fn(&Context<'_>, &Numbers<'_>) -> Result<Simulated>,
    words: &'static str,
    numbers: &'static str,
    report: &'static str,
}

/// What the runs of a paper showed, which its template knows as `ours`, and on which machine.
struct Simulated {
    machine: Arc<Machine>,
    ours: Value,
}

impl Simulated {
    fn new(machine: &Arc<Machine>, ours: impl Serialize) -> Simulated {
        Simulated { machine: Arc::clone(machine), ours: Serde(ours).into() }
    }
}

macro_rules! documents {
    ($($name:ident, $runs:expr, $help:literal;)*) => {
        /// All of them, in the order of [`turnwise_bench::published::PAPERS`].
        pub static PAPERS: &[Paper] = &[$(Paper {
            name: stringify!($name),
            help: $help,
            runs: $runs,
            run: $name::run,
            words: include_str!(concat!(stringify!($name), "/words.toml")),
            numbers: include_str!(concat!(stringify!($name), "/numbers.toml")),
            report: include_str!(concat!(stringify!($name), "/report.jinja")),
        }),*];
    };
}

documents! {
    mutex_spinners, [72, 270], "mutex spinners that queue, in AIM7 fserver on 80 CPUs (Linux, 2013)";
    rwsem_stealing, [34, 190], "writers that steal a rwsem, in fork_test (Linux, 2013)";
    dcache, [15, 44], "the dentry cache's locks under a profiler, in AIM7 high_systime on 80 CPUs (Linux, 2013)";
    spin_backoff, [73, 160], "ia64 spin locks backing off, on a 64-CPU Altix (SGI, 2004)";
    handoff_spin, [28, 28], "OSv's mutex spinning while the owner runs, on 4 CPUs (2014)";
}

/// How to run a paper.
pub struct Context<'a> {
    /// Random seed.
    pub seed: u64,
    /// A short version.
    pub quick: bool,
    /// The least that makes every row appear, whatever it shows: for tests.
    pub least: bool,
    /// Where simulations run.
    pub pool: &'a Pool<'a>,
    /// One of many runs that draw what the papers leave open: short, with one seed, and nothing that is not judged.
    pub draw: Option<&'a Draw>,
}

/// Runs papers side by side, so that while one waits for its last run, as each round of a fit does, the others
/// continue; their reports in the order of `documents`.
/// `quick`: in their short versions; `jobs`: simulations that run at a time, over all papers.
///
/// # Errors
/// That of the first paper that has one, when all are done.
pub fn run_all(
    documents: &[&'static Paper],
    seed: u64,
    quick: bool,
    jobs: usize,
    progress: &ProgressBar,
) -> Result<Vec<PaperReport>> {
    let context = &Context { seed, quick, least: false, pool: &Pool::new(jobs, progress), draw: None };
    std::thread::scope(|scope| {
        let start = |document: &&'static Paper| {
            let document = *document;
            scope.spawn(move || document.run(context).with_context(|| document.name))
        };
        let running: Vec<_> = documents.iter().map(start).collect();
        let reports = running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        reports.collect::<Vec<Result<PaperReport>>>().into_iter().collect()
    })
}

impl Context<'_> {
    /// Returns one of two, for the short version or in full.
    #[must_use]
    pub fn choose<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Does it unless this is the short version.
    fn in_full<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        (!self.quick).then(run).transpose()
    }

    /// Returns how many seeds a figure is the mean of: one where the numbers are drawn, since there are many draws.
    fn seeds(&self, quick: u64, full: u64) -> u64 {
        if self.draw.is_some() { 1 } else { self.choose(quick, full) }
    }

    /// Returns all of these, or only the judged ones where the numbers are drawn; these stand first.
    fn judged<'b, T>(&self, all: &'b [T], judged: usize) -> &'b [T] {
        if self.draw.is_some() { &all[..judged] } else { all }
    }

    /// Returns the rounds of a fit; one or two are enough for a test.
    fn rounds(&self, quick: u64, full: u64) -> u64 {
        if self.least { 1 } else { self.choose(quick, full) }
    }
}

impl Paper {
    fn named(name: &str) -> Result<&'static Paper> {
        PAPERS.iter().find(|known| known.name == name).context("no such document")
    }

    /// Runs it.
    ///
    /// # Errors
    /// A lock broke its guarantee, or threads made no progress.
    pub fn run(&self, context: &Context<'_>) -> Result<PaperReport> {
        context.pool.progress.inc_length(context.choose(self.runs[0], self.runs[1]));
        context.pool.progress.set_message(self.name);
        let numbers = &Numbers::of(context, self)?;
        let Simulated { machine, ours } = (self.run)(context, numbers)?;
        PaperReport::of(context, self, &machine, numbers, ours)
    }
}
