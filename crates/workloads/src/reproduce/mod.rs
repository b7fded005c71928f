//! `turnwise reproduce`: the documents' workloads on the machines that they ran on, simulated, and every published row
//! beside ours.
//!
//! | file | what |
//! |---|---|
//! | `published.rs`, `published.toml` | what the documents published |
//! | `report.rs` | what comes out |
//! | `stage.rs`, `pool.rs`, `fit.rs` | a workload on the simulated machine or here; many runs; constants that are not known |
//! | `mutex_spinners/`, `rwsem_stealing/`, `dcache/`, `spin_backoff/`, `handoff_spin/` | the documents |

pub mod fit;
mod handoff_spin;
mod mutex_spinners;
pub mod pool;
pub mod published;
pub mod report;
mod rwsem_stealing;
mod spin_backoff;
pub mod stage;

use anyhow::Result;
use pool::Pool;
use report::DocumentReport;

/// A document that can be reproduced.
pub struct Document {
    /// Its name.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// About how many runs it takes, short and in full.
    pub runs: [usize; 2],
    run: fn(&Context<'_>) -> Result<DocumentReport>,
}

/// All of them, in the order of `published.toml`.
pub static DOCUMENTS: &[Document] = &[
    Document {
        name: "mutex_spinners",
        help: "mutex spinners that queue, in AIM7 fserver on 80 CPUs (Linux, 2013)",
        runs: [60, 100],
        run: mutex_spinners::run,
    },
    Document {
        name: "rwsem_stealing",
        help: "writers that steal a rwsem, in fork_test (Linux, 2013)",
        runs: [60, 100],
        run: rwsem_stealing::run,
    },
    Document {
        name: "spin_backoff",
        help: "ia64 spin locks backing off, on a 64-CPU Altix (SGI, 2004)",
        runs: [65, 140],
        run: spin_backoff::run,
    },
    Document {
        name: "handoff_spin",
        help: "OSv's mutex spinning while the owner runs, on 4 CPUs (2014)",
        runs: [28, 28],
        run: handoff_spin::run,
    },
];

/// How to run a document.
pub struct Context<'a> {
    /// Where chance starts.
    pub seed: u64,
    /// A short version.
    pub quick: bool,
    /// Whether to run the workload here, too.
    pub metal: bool,
    /// Where simulations run.
    pub pool: &'a Pool<'a>,
}

impl Context<'_> {
    /// One of two, for the short version or in full.
    #[must_use]
    pub fn choose<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}

impl Document {
    /// Runs it.
    ///
    /// # Errors
    /// A lock broke its promise, or threads got nowhere.
    pub fn run(&self, context: &Context<'_>) -> Result<DocumentReport> {
        let progress = context.pool.progress();
        progress.begin(self.name, context.choose(self.runs[0], self.runs[1]));
        let report = (self.run)(context);
        progress.end();
        report
    }
}
