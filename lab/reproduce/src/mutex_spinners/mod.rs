//! `mutex_spinners`: AIM7's file server mix on 1 to 8 nodes, with the mutex before and after its two patches.
//!
//! | file | what |
//! |---|---|
//! | `model.rs` | runs of AIM7, and the constants that are fitted |
//! | `tables.rs` | the published rows next to ours, and more |
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

const NAME: &str = "mutex_spinners";

/// Reproduces the paper.
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
    let mut beyond = Vec::new();
    if !context.quick {
        listings.push(tables::placements(context, &model)?);
        beyond.extend(today::to_1024(context, &model)?.iter().map(Scaling::plot));
    }
    if context.metal {
        listings.push(context.pool.alone(|| tables::metal(context, &model))?);
    }
    let published_on = [published::text(NAME, "machine"), published::text(NAME, "kernel")];
    Ok(DocumentReport {
        published_on: published_on.into_iter().flatten().collect::<Vec<_>>().join("; Linux "),
        claims: cells.claims(),
        fitted: model.described(),
        tables,
        bars,
        listings,
        plots: vec![cells.plot()],
        beyond,
        ..DocumentReport::begin(context, NAME, &model.machine, &today::NUMBERS)?
    })
}
