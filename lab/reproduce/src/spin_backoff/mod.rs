//! `spin_backoff`: threads that meet at a barrier and then all open and read the same next file, on 64 CPUs of an
//! Altix.
//!
//! | file | what |
//! |---|---|
//! | `load.rs` | what the threads do |
//! | `locks.rs` | the locks that they want |
//! | `model.rs` | runs of it, and the three constants that are fitted |
//! | `tables.rs` | the published rows beside ours, and more |

mod load;
mod locks;
mod model;
mod tables;

use super::Context;
use super::report::DocumentReport;
use anyhow::Result;
use model::Model;
use turnwise_bench::published;
use turnwise_simbench::report::SimMachine;

/// The document.
///
/// # Errors
/// When the threads get nowhere.
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let model = Model::fitted(context)?;
    let curves = tables::Curves::run(context, &model)?;
    let mut listings = vec![curves.beyond(), tables::inode(context, &model)?];
    listings.push(tables::baseline(&model.published));
    let mut beyond = Vec::new();
    if !context.quick {
        beyond.push(tables::to_1024(context, &model)?.plot());
    }
    if context.metal {
        listings.push(context.pool.alone(|| tables::metal(&model))?);
    }
    let name = "spin_backoff";
    Ok(DocumentReport {
        name: name.to_owned(),
        title: published::title(name),
        published_on: published::text(name, "machine").unwrap_or_default(),
        machine: SimMachine::of(&model.machine),
        workload: published::text(name, "workload").unwrap_or_default(),
        claims: curves.claims(),
        facts: facts(),
        fitted: model.described(),
        chosen: chosen(),
        tables: curves.tables(&model)?,
        bars: curves.bars(),
        listings,
        plots: vec![curves.plot(&model)],
        beyond,
        whys: crate::whys::of(name),
        notes: vec![crate::page(name)],
        left_out: context.choose(vec!["three of five seeds; curves to 1024 CPUs (mesh-1024)".to_owned()], Vec::new()),
    })
}

fn chosen() -> Vec<String> {
    vec![
        format!("{} us of work of a thread's own before each acquisition", model::Constants::PRIVATE_NS / 1000),
        "the busy thread looks for a microsecond at a time, and yields to the worker that shares its CPU at 64"
            .to_owned(),
        "thread n on CPU n".to_owned(),
    ]
}

fn facts() -> Vec<String> {
    [
        "the machine's distances, caches and clock: `turnwise-lab sim --machine altix-64 --describe` has each with its \
            source",
        "the lock: a compare-exchange of one word; waiters look by plain loads; back-off as the document's code has it \
         (first delay from 6 bits of the clock, doubled, 13 bits)",
        "who has the lock reads and writes lines that the last owner wrote, one after the other, and computes nothing: \
         a hundred instructions take a tenth of a microsecond, a line 0.25 to 0.69; readers together only read",
        "threads: (system + user) / wall is 8.95, 16.96 and 32.90, that is n workers and one thread that is always \
         busy; 63.25 at 64, where the machine is full: 64 workers and that one on 64 CPUs, as the label says",
        "the barrier yields after 50 us in vain, and the scheduler gives slices of 100 ms (recalled)",
        "user time is what workers spin at the barrier, and all of the busy thread's; all else is system time",
        "thread n is on CPU n: where the document's threads were is not known",
    ]
    .map(str::to_owned)
    .to_vec()
}
