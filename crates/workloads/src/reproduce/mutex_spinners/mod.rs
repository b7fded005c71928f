//! `mutex_spinners`: AIM7's file server mix on 1 to 8 nodes, with the mutex before and after its two patches.
//!
//! | file | what |
//! |---|---|
//! | `model.rs` | runs of AIM7, and the constants that are fitted |
//! | `tables.rs` | the published rows beside ours, and more |
//! | `markov.rs` | one lock as a Markov chain, for comparison |

mod markov;
mod model;
mod tables;

use super::report::{DocumentReport, Simulated};
use super::{Context, published};
use anyhow::Result;
use model::Model;

const NAME: &str = "mutex_spinners";

/// The document.
///
/// # Errors
/// A run got stuck, or a file system refused something.
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let model = Model::fitted(context)?;
    let cells = tables::Cells::run(context, &model)?;
    let mut tables = vec![cells.throughput()?, cells.changes()?, cells.profile()?];
    tables.push(tables::workloads(context, &model)?);
    tables.push(tables::in_words(context, &model)?);
    let bars = cells.bars(&tables[3]);
    let mut listings = vec![cells.chain()?];
    if context.metal {
        listings.push(tables::metal(context, &model)?);
    }
    let published_on = [published::text(NAME, "machine"), published::text(NAME, "kernel")];
    Ok(DocumentReport {
        name: NAME.to_owned(),
        title: published::title(NAME),
        published_on: published_on.into_iter().flatten().collect::<Vec<_>>().join("; Linux "),
        machine: Simulated::of(&model.machine),
        workload: "AIM7, fserver: each user runs 101 jobs in random order, most of the system calls creat and truncate"
            .to_owned(),
        facts: facts(),
        fitted: model.described(),
        tables,
        bars,
        listings,
        plots: vec![cells.plot()],
        notes: notes(),
        left_out: context.choose(
            vec!["10-100 and 200-1000 users of the second table; half of the simulated time and of the fit".to_owned()],
            Vec::new(),
        ),
    })
}

fn facts() -> Vec<String> {
    [
        "the workfiles' jobs, their weights and their operations (docs/aim7.md); the file jobs run on the file system \
         of crates/vfs with the locks of that kernel",
        "one directory in one file system: the list of facts shows that only so the plateau comes from locks at all; \
         its journal commits after 1000 handles, two of which belong to a truncation (guessed)",
        "1500 users stand for 1100-2000, 600 for 200-1000, 50 for 10-100; windows of steady state, with jobs of a \
         50th of AIM7's, counted as jobs a minute",
        "of n nodes' memory a share of 1 - 1/n is far away, and what a job computes takes longer in that proportion",
        "the kernel is not preemptible: a thread keeps its CPU within a job, and may sleep; `shell_rtns_2` does not \
         sleep its 5 s here",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn notes() -> Vec<String> {
    [
        "What stops the document's machine at 4 nodes is known by its profile only: 45% of the time in the two slow \
         paths of one rwlock. Here it is the orphan list's mutex, whose hold time was fitted for that. So the columns \
         differ from 4 nodes on, where the document has them close together, and throughput rises to 8 nodes.",
        "The rwlock's share needs many writers at a time: the model's journal has one committer, so few readers find \
         the lock taken. Its write holds were not tuned to the profile.",
        "Differences of less than 2% between cells are within what another seed changes.",
    ]
    .map(str::to_owned)
    .to_vec()
}
