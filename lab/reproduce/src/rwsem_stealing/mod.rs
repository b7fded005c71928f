//! `rwsem_stealing`: `fork_test`, whose every fork and exit takes seven locks for writing, before and after waiting
//! writers could be overtaken.
//!
//! | file | what |
//! |---|---|
//! | `load.rs` | what the threads do |
//! | `model.rs` | runs of it |
//! | `tables.rs` | the published rows next to ours, and more |

mod load;
mod model;
mod tables;

use super::Context;
use super::report::{DocumentReport, Fitted};
use super::words::Number;
use anyhow::Result;
use model::Model;
use tables::Found;
use turnwise_bench::published::{self, RwsemStealing};

const NAME: &str = "rwsem_stealing";

/// Reproduces the paper.
///
/// # Errors
/// When the threads get nowhere.
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let published: RwsemStealing = published::typed(NAME)?;
    let model = Model::on(Model::MACHINE, Model::CPUS, Model::HOLD_NS)?;
    let found = Found::run(context, &model)?;
    let mut listings = vec![found.listing(), tables::robustness(context, &found)?];
    let mut beyond = Vec::new();
    if !context.quick {
        listings.push(tables::by_hold(context)?);
        beyond.push(tables::to_1024(context, &model)?.plot());
    }
    if context.metal {
        listings.push(context.pool.alone(|| tables::metal(context, &model))?);
    }
    let key = |place: &str| format!("{NAME}.{place}");
    let fitted = |what: &str, value: f64, unit: &str, on: &str| Fitted {
        what: what.to_owned(),
        value,
        unit: unit.to_owned(),
        on: key(on),
    };
    let numbers: [Number<'_>; 6] = [
        ("machine", &Model::MACHINE),
        ("users", &Model::USERS),
        ("areas", &Model::AREAS),
        ("hold_ns", &Model::HOLD_NS),
        ("own_ns", &Model::OWN_NS),
        ("compute_us", &(Model::COMPUTE_NS / 1000)),
    ];
    Ok(DocumentReport {
        published_on: "not said; 537% CPU: at least 6 CPUs".to_owned(),
        workload: format!("AIM7, {}", published::text(NAME, "workfile").unwrap_or_default()),
        claims: found.claims(&published),
        fitted: vec![fitted("forks of the whole run", found.forks(&published), "", "voluntary_context_switches[0]")],
        tables: found.tables(&published)?,
        bars: found.bars(&published),
        listings,
        plots: vec![found.plot()],
        beyond,
        ..DocumentReport::begin(context, NAME, &model.machine, &numbers)?
    })
}
