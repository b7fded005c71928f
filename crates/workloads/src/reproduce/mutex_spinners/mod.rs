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
    let mut listings = vec![cells.chain()?];
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
        "one directory in one file system: the list of facts shows that only so the plateau comes from locks at all",
        "a journal of 4 MiB: a transaction has room for 256 blocks, and is committed when a handle finds none; a \
         handle reserves what its kind of change may need (truncation 8, creation 42, link 39, removal 126: recalled); \
         a truncation is two handles, the second for times (recalled); a commit costs 100 us after the transaction is \
         retired (guessed)",
        "writers of the journal's state lock (recalled): a commit, when it locks the transaction and when it retires \
         it, which wakes all who wait before it releases the lock; whoever finds no running transaction; whoever asks \
         for a commit",
        "1500 users stand for 1100-2000, 600 for 200-1000, 50 for 10-100; windows of steady state, with jobs of a \
         50th of AIM7's, counted as jobs a minute; on 4 and 8 nodes they begin after every user has had two slices of \
         the scheduler, since one that has not yet had its CPU is not in the crowd at the locks",
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
         paths of one rwlock, the journal's. Here it is the journal, too: from 4 nodes on its transactions are \
         often full, and are committed one after the other.",
        "But that time is spent elsewhere. Few sleep for a commit at a time: a link or a removal waits for it with the \
         directory's mutex, and all others for that mutex. Counted with 600 users on 4 and on 8 nodes: at any time one \
         removal does. It reserves 126 of 256 blocks, and the truncations that wait for the orphan list have the \
         others. So on 8 nodes most CPUs are idle, and the busy ones spin at the mutex, where the document's spin at \
         the rwlock. With several directories in one file system the crowd is \
         at the rwlock here, too, but the throughput is further off; with a file system for each, which is what \
         AIM7's script makes, nothing stops the machine at all (the long version lists both).",
        "Until waiters left out early looks that hardly ever find a lock free (docs/design/mutex.md), today's locks \
         lost here from 2 nodes on, but not without a journal nor where each user has a CPU. Then traced by \
         taking their parts away one at a time (windows of 20 ms, means of 3 seeds that differ by up to a quarter from \
         them, thousand jobs a minute): on 8 nodes 177, with both patches 247; with the patched mutex in place of ours \
         262, without the hand-offs after 4 ms of ours and of the readers-writer lock 244, without crowds' wake-ups \
         211, without turns and yields 191 (they find nobody to yield to), with 20 times the time to spin 198, with \
         the kernel's rwlock for the journal's state 201. So it was the hand-off more than all else. More users wait \
         for the directory than it can serve in 4 ms, so those that are woken late claim the next turn. Where the \
         owner then sleeps for a commit, so does the claimant, and the directory probably lies idle until it \
         runs again (inferred, not traced).",
        "On 4 nodes 211, with both patches 439; but with that kernel's mutex and rwlock among today's other locks only \
         270. So most of what was lost there is neither lock's; what the other four change was not traced.",
        "What a commit costs is guessed, but 8 nodes depend little on it: 600 users, both patches, 1840 ns at the \
         orphan list, one seed, windows of 6 ms have 300, 296 and 277 thousand jobs a minute with 0, 30 and 100 us. \
         Nothing about the journal was tuned to a row. Other locks help only so far against it: see the column of \
         today's.",
        "A user joins that crowd when it first has a CPU, and 1500 of them on 40 CPUs wait long for that. So a window \
         that begins too early shows a machine without locks. 1500 users on 4 nodes, both patches, 2.74 ms of \
         computing and 950 ns at the orphan list, one seed: 570 thousand jobs a minute in the 40 ms after the first \
         90, 457 after the first 400. A full AIM7 run is much longer than either.",
        "On 4 nodes the journal is at the edge of being full: there and on 8 nodes a cell may differ by tens of per \
         cent with another seed.",
    ]
    .map(str::to_owned)
    .to_vec()
}
