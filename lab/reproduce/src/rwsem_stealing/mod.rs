//! `rwsem_stealing`: `fork_test`, whose every fork and exit takes seven locks for writing, before and after waiting
//! writers could be overtaken.
//!
//! | file | what |
//! |---|---|
//! | `load.rs` | what the threads do |
//! | `model.rs` | runs of it |
//! | `found.rs` | the runs of all versions of the lock, on this machine and on others |
//! | `report.jinja`, `words.toml` | the published rows next to ours; the text about them |

mod found;
mod load;
mod model;

use super::numbers::Numbers;
use super::{Context, Simulated};
use anyhow::Result;
use found::Found;
use model::Model;
use serde::Serialize;

/// What the report is made of.
#[derive(Serialize)]
struct Ours {
    cpus: u32,
    main: Found,
    elsewhere: Vec<Found>,
    by_hold: Option<Vec<Found>>,
}

/// Runs what the paper's report is made of.
pub(super) fn run(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Simulated> {
    let model = Model::on(numbers, numbers.text("machine")?)?;
    let ours = Ours {
        cpus: model.cpus,
        main: Found::run(context, &model)?,
        elsewhere: if context.draw.is_none() { found::elsewhere(context, numbers)? } else { Vec::new() },
        by_hold: context.in_full(|| found::by_hold(context, &model))?,
    };
    Ok(Simulated::new(&model.machine, ours))
}
