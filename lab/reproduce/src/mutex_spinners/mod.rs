//! `mutex_spinners`: AIM7's file server mix on 1 to 8 nodes, with the mutex before and after its two patches.
//!
//! | file | what |
//! |---|---|
//! | `model.rs` | runs of AIM7, and the constants that are fitted |
//! | `cells.rs` | the runs of every published cell, and more |
//! | `report.jinja`, `words.toml` | the published rows next to ours; the text about them |

mod cells;
mod model;

use super::bracket;
use super::numbers::Numbers;
use super::{Context, Simulated};
use anyhow::Result;
use cells::{Cells, Place};
use model::Model;
use serde::Serialize;
use turnwise_lineage::linux_mutex::{LinuxMutex, NoSpin, Patch1, Patch1And2};

/// What the report is made of.
#[derive(Serialize)]
struct Ours {
    compute_ms: f64,
    tax_percent: f64,
    orphan_ns: f64,
    tried: Vec<[String; 4]>,
    directories: u32,
    #[serde(flatten)]
    cells: Cells,
    workloads: Vec<[Option<[Vec<f64>; 2]>; 3]>,
    few: Vec<Vec<f64>>,
    /// With patch 1 and with both, on Linux 3.8.
    later: [Vec<f64>; 2],
    /// Whether this architecture has 64 bits, and what its mutexes have.
    wide: bool,
    bytes_of_patch_2: usize,
    bytes_of_spinning: usize,
    places: Option<Vec<Place>>,
}

/// Runs what the paper's report is made of.
pub(super) fn run(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Simulated> {
    let model = Model::fitted(context, numbers)?;
    let ours = Ours {
        compute_ms: model.compute_ns / 1e6,
        tax_percent: model.tax * 100.0,
        orphan_ns: model.orphan_ns,
        tried: bracket::rows(1.0, &model.tried),
        directories: model.directories,
        cells: Cells::run(context, &model)?,
        workloads: cells::workloads(context, &model)?,
        few: cells::few(context, &model)?,
        later: cells::later(context, &model)?,
        wide: cfg!(target_pointer_width = "64"),
        bytes_of_patch_2: size_of::<LinuxMutex<Patch1And2>>() - size_of::<LinuxMutex<Patch1>>(),
        bytes_of_spinning: size_of::<LinuxMutex<NoSpin>>() - size_of::<LinuxMutex<Patch1>>(),
        places: context.in_full(|| cells::places(context, &model))?,
    };
    Ok(Simulated::new(&model.machine, ours))
}
