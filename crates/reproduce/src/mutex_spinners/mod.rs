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
    let mut listings = vec![cells.chain()?, model.tried()];
    let (mut plots, mut notes) = (vec![cells.plot()], notes());
    if !context.quick {
        listings.push(tables::placements(context, &model)?);
        today::to_1024(context, &model)?.iter().for_each(|curves| curves.show(&mut listings, &mut plots));
        notes.push(today::note());
    }
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
        plots,
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

fn facts() -> Vec<String> {
    [
        "the workfiles' jobs, their weights and their operations (docs/aim7.md); the file jobs run on the file system \
         of crates/vfs with the locks of that kernel",
        "16 directories, as AIM7's script has them, but in one file system, where it makes 16: the list of facts shows \
         that only so the plateau comes from locks at all",
        "a journal of 4 MiB: a transaction has room for 256 blocks, and is committed when a handle finds none; a \
         handle reserves what its kind of change may need (truncation 8, creation 42, link 39, removal 126: recalled); \
         a truncation is two handles, the second for times (recalled); a commit costs 100 us after the transaction is \
         retired (guessed)",
        "writers of the journal's state lock (recalled): a commit, when it locks the transaction and when it retires \
         it, which wakes all who wait before it releases the lock; whoever finds no running transaction; whoever asks \
         for a commit",
        "1500 users stand for 1100-2000, 600 for 200-1000, 50 for 10-100; windows of steady state, with jobs of a \
         50th of AIM7's, counted as jobs a minute; on 4 and 8 nodes they begin after every user has had two slices of \
         the scheduler, since one that has not yet had its CPU is not in the crowd at the locks, and figures are means \
         of seeds, with their range beside them",
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
         paths of one rwlock, the journal's. Here it is the journal, too: from 4 nodes on its transactions are often \
         full, which many find at once, and are committed one after the other. With a journal of 16 MiB, which hardly \
         ever is, nobody waits at the rwlock; then 4 nodes have 482 and 8 nodes 456 thousand jobs a minute (600 users, \
         both patches, means of 3 seeds).",
        "The fit puts the wall of 4 nodes at the mutex of the orphan list, which keeps handles open that fill the \
         transaction. So more time is spent at mutexes than there; and on 8 nodes the time at the rwlock goes to its \
         writers, where the document's goes to readers. On 4 nodes readers have most of it here, too. Which of our \
         writers the document's machine lacked is not known. A commit that wakes longer keeps readers longer: with \
         wake-ups that cost as much more as 6 or 12 transfers of a modified line (by hand, at 2eff5a4, the short \
         form), readers have 11 to 13 or 13 to 18%, but the rows of 8 nodes are 25 to 50% too low.",
        "As a function of the time at the orphan list the figure of 4 nodes falls off steeply, once the journal is \
         full more often than not: the list of what the fit tried has it. So the rows of 4 nodes hang on the fit, and \
         differ by tens of per cent from seed to seed: more than the first patch changes.",
        "What a commit costs is guessed, but little depends on it: 600 users, both patches, means of 3 seeds of 12 ms, \
         2.9 ms of computing, 16.3% more of it on two nodes and 1.27 us at the orphan list (these and the figures with \
         16 MiB: by hand, not in this run), have 396, 360, 400 and 416 thousand jobs a minute on 4 nodes with 0, 30, \
         100 and 300 us, and on 8 nodes 259, 256, 278 and 302.",
        "A user joins the crowd when it first has a CPU, and 1500 of them on 40 CPUs wait long for that. So a window \
         that begins too early shows a machine without locks: 1500 users on 4 nodes, both patches, 2.7 ms of computing \
         and 1 us at the orphan list, two seeds, have 590, 571, 553 and 328 thousand jobs a minute in windows of 12 ms \
         after 60, 120, 180 and 245 ms, and 311 in one of 40 ms after that.",
        "In one directory, its mutex is the wall instead: who links or removes a name sleeps for a commit with it. \
         With a file system for each directory, which is what AIM7's script makes, nothing stops the machine at all. \
         The long version lists both.",
    ]
    .map(str::to_owned)
    .to_vec()
}
