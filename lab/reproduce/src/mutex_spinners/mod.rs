//! `mutex_spinners`: AIM7's file server mix on 1 to 8 nodes, with the mutex before and after its two patches.
//!
//! | file | what |
//! |---|---|
//! | `model.rs` | runs of AIM7, and the constants that are fitted |
//! | `tables.rs` | the published rows beside ours, and more |
//! | `today.rs` | curves to 1024 CPUs |
//! | `markov.rs` | one lock as a Markov chain, for comparison |

mod markov;
mod model;
mod tables;
mod today;

use super::Context;
use super::report::DocumentReport;
use super::scaling::Scaling;
use anyhow::Result;
use model::Model;
use turnwise_bench::published;
use turnwise_simbench::report::SimMachine;

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
    let mut listings = vec![cells.chain()?, model.tried()];
    let (mut beyond, mut notes) = (Vec::new(), vec![crate::page(NAME)]);
    if !context.quick {
        listings.push(tables::placements(context, &model)?);
        beyond.extend(today::to_1024(context, &model)?.iter().map(Scaling::plot));
        notes.push(today::note());
    }
    if context.metal {
        listings.push(context.pool.alone(|| tables::metal(context, &model))?);
    }
    let published_on = [published::text(NAME, "machine"), published::text(NAME, "kernel")];
    Ok(DocumentReport {
        name: NAME.to_owned(),
        title: published::title(NAME),
        published_on: published_on.into_iter().flatten().collect::<Vec<_>>().join("; Linux "),
        machine: SimMachine::of(&model.machine),
        workload: "AIM7, fserver: each user runs 101 jobs in random order, most of the system calls creat and truncate"
            .to_owned(),
        claims: cells.claims(),
        facts: facts(),
        fitted: model.described(),
        chosen: chosen(),
        tables,
        bars,
        listings,
        plots: vec![cells.plot()],
        beyond,
        whys: crate::whys::of(NAME),
        notes,
        left_out: context.choose(
            vec![
                "of the second table all but two rows; other places of the files; curves to 1024 \
                 CPUs (mesh-1024); two thirds of each window, and most of the fit"
                    .to_owned(),
            ],
            Vec::new(),
        ),
    })
}

fn chosen() -> Vec<String> {
    [
        "one file system, where AIM7's script makes 16: only so the plateau comes from locks at all",
        "a handle gives back all blocks that it reserved, so that a transaction is full only while handles are open",
        "a commit costs 100 us after the transaction is retired",
        "1500 users stand for 1100-2000, 600 for 200-1000, 50 for 10-100",
        "jobs of a 50th of AIM7's",
        "one amount of computing for all jobs",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn facts() -> Vec<String> {
    [
        "the workfiles' jobs, their weights and their operations (docs/aim7.md); the file jobs run on the file system \
         of lab/vfs with the locks of that kernel",
        "16 directories, as AIM7's script has them, but in one file system, where it makes 16: the list of facts shows \
         that only then the plateau comes from locks at all",
        "a journal of 4 MiB: a transaction has room for 256 blocks, and is committed when a handle finds none; a \
         handle reserves what its kind of change may need (truncation 8, creation 42, link 39, removal 126: recalled); \
         a truncation is two handles, the second for times (recalled); a commit costs 100 us after the transaction is \
         retired (guessed)",
        "writers of the journal's state lock (recalled): a commit, when it locks the transaction and when it retires \
         it, which wakes all waiters before it releases the lock; a thread that finds no running transaction; a thread \
         that asks for a commit",
        "1500 users stand for 1100-2000, 600 for 200-1000, 50 for 10-100; windows of steady state, with jobs of a \
         50th of AIM7's, counted as jobs a minute; on 4 and 8 nodes they begin after every user has had two slices of \
         the scheduler, since one that has not yet had its CPU is not in the crowd at the locks, and figures are means \
         of seeds, with their range beside them: three, or six where the standard error of three is above 2%; three of \
         today's locks",
        "the root locks of anon_vma are mutexes in this kernel (they became rwsems in 3.8, commit 5a505085), and the \
         tables of System V objects have an rwsem (struct ipc_ids)",
        "of n nodes' memory a share of 1 - 1/n is far away, and what a job computes takes longer in that proportion",
        "the kernel is not preemptible: a thread keeps its CPU within a job, and may sleep; `shell_rtns_2` does not \
         sleep its 5 s here",
    ]
    .map(str::to_owned)
    .to_vec()
}
