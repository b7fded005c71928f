//! `spin_backoff`: threads that meet at a barrier and then all open and read the same next file, on 64 CPUs of an
//! Altix.
//!
//! | file | what |
//! |---|---|
//! | `load.rs` | what the threads do |
//! | `locks.rs` | the locks that they want |
//! | `model.rs` | runs of it, and the three constants that are fitted |
//! | `seconds.rs` | what they take |
//! | `report.jinja`, `words.toml` | the published rows next to ours; the text about them |

mod load;
mod locks;
mod model;
mod seconds;

use super::numbers::Numbers;
use super::{Context, Simulated};
use anyhow::{Result, bail};
use model::{BACK_OFF, KEPT, LOCKS, Model, SPIN};
use seconds::{CPUS, Of, Part, Seconds};
use serde::Serialize;

/// What back-off changes the wall time by, per cent: for each number of CPUs the seeds.
type Gains = Vec<Vec<f64>>;

/// What the report is made of.
#[derive(Serialize)]
struct Ours {
    files: f64,
    acquisitions: f64,
    lines: f64,
    gains: Gains,
    parts: Vec<Part>,
    /// How the redesigned lock is taken, if that is drawn.
    redesign: Option<String>,
    /// The gains and parts if a failed exchange keeps the delay.
    kept: (Gains, Vec<Part>),
    /// The gains where fields that the owner changes lie on the lock's line.
    on_line: Gains,
    /// The gain on two CPUs, where at most one thread waits.
    two: Gains,
    parabola: Vec<f64>,
    locks: Vec<Of<Seconds>>,
}

/// Runs what the paper's report is made of.
pub(super) fn run(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Simulated> {
    let model = Model::fitted(context, numbers)?;
    let back_off = if numbers.text("failed_exchange")? == "keeps the delay" { KEPT } else { BACK_OFF };
    let wanted = LOCKS.map(|lock| if lock == BACK_OFF { back_off } else { lock });
    let locks = seconds::seconds(context, &model, context.judged(&wanted, 4), &CPUS, false)?;
    let [spin, backing_off, ..] = locks.as_slice() else { bail!("there are fewer than two locks") };
    let both = |cpus, inode| -> Result<Gains> {
        let both = seconds::seconds(context, &model, &[SPIN, back_off], cpus, inode)?;
        Ok(seconds::gains(&both[0], &both[1]))
    };
    let kept = locks.get(4).unwrap_or(backing_off);
    let ours = Ours {
        files: model.files,
        acquisitions: model.acquisitions.into(),
        lines: model.lines,
        gains: seconds::gains(spin, backing_off),
        parts: seconds::parts(&model.published, spin, backing_off),
        redesign: context.draw.map(|_| numbers.text("redesign").map(str::to_owned)).transpose()?,
        kept: (seconds::gains(spin, kept), seconds::parts(&model.published, spin, kept)),
        on_line: both(&CPUS, true)?,
        two: both(&[2], false)?,
        parabola: seconds::baseline(&model.published),
        locks,
    };
    Ok(Simulated::new(&model.machine, ours))
}
