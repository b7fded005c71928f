//! `spin_backoff`: threads that meet at a barrier and then all open and read the same next file, on 64 CPUs of an
//! Altix.
//!
//! | file | what |
//! |---|---|
//! | `load.rs` | what the threads do |
//! | `locks.rs` | the locks that they want |
//! | `model.rs` | runs of it, and the three constants that are fitted |
//! | `tables.rs` | the published rows next to ours, and more |

mod load;
mod locks;
mod model;
mod tables;

use super::Context;
use super::report::DocumentReport;
use anyhow::Result;
use model::Model;

/// Reproduces the paper.
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
    let private_us = model::Constants::PRIVATE_NS / 1000;
    Ok(DocumentReport {
        claims: curves.claims(),
        fitted: model.described(),
        tables: curves.tables(&model)?,
        bars: curves.bars(),
        listings,
        plots: vec![curves.plot(&model)],
        beyond,
        ..DocumentReport::begin(context, "spin_backoff", &model.machine, &[("private_us", &private_us)])?
    })
}
