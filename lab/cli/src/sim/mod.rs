//! `turnwise-lab sim`: locks on simulated machines.
//!
//! | file | what |
//! |---|---|
//! | `args.rs`, `range.rs`, `part.rs` | the command line |
//! | `plan.rs`, `sweep.rs`, `setup.rs` | the cells of a sweep; all of them; one of them, and `lists.jinja` |
//! | `merge.rs` | parts of a sweep put together |
//! | `record.rs`, `record_text.rs`, `record.jinja` | a recorded program instead of a workload |
//! | `validate.rs` | the simulator's accuracy |
//! | `describe.rs` with `describe.jinja` | the numbers of a machine |
//! | `curves.rs` | the points of one line |
//! | `text.rs` with `report.jinja`, `html.rs` with `page/`, `trace.rs` | the outputs |

pub(crate) mod args;
mod curves;
mod describe;
#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
#[cfg(test)]
#[path = "tests/hostile.rs"]
mod hostile;
mod html;
mod merge;
mod part;
mod plan;
mod range;
mod record;
mod record_text;
#[cfg(test)]
#[path = "tests/recorded.rs"]
mod recorded;
pub(crate) mod setup;
mod sweep;
mod text;
mod trace;
mod validate;

pub(crate) use args::Args;
pub(crate) use part::Part;

use anyhow::{Result, ensure};
use args::{Command, Flags, MergeArgs};
use setup::SweepSetup;
use std::process::ExitCode;
use turnwise_present::ending::{Failure, STUCK, print};
use turnwise_present::json;
use turnwise_present::output_file::OutputFile;
use turnwise_simbench::report::SimReport;

/// Runs a sweep, or puts its parts together.
///
/// # Errors
/// The sweep cannot be run on this machine, files cannot be read or written, parts do not fit, a cell got stuck.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Some(Command::Merge(args)) => merged(args),
        Some(Command::Validate(args)) => validate::run(args),
        None if args.flags.list => print(&setup::lists()).map(|()| ExitCode::SUCCESS),
        None if args.flags.describe => {
            let machine = setup::machine(args.flags.machine()?)?;
            print(&describe::text(&machine)).map(|()| ExitCode::SUCCESS)
        }
        None if args.flags.record.is_some() => record::run(&args.flags),
        None => swept(&args.flags),
    }
}

fn merged(args: &MergeArgs) -> Result<ExitCode> {
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let html = OutputFile::asked("--html", args.html.as_deref())?;
    Outputs { json, html, trace: None, text: true }.write(&merge::merge(&args.files)?)
}

fn swept(flags: &Flags) -> Result<ExitCode> {
    let setup = SweepSetup::new(flags)?;
    turnwise_bench::setting::hold(&flags.set)?;
    let axes = flags.axes().or_default(&setup.machine);
    let cells = plan::cells(&flags.locks(), &axes, &setup.machine, flags.seed)?;
    let single = flags.trace.is_none() || cells.len() == 1;
    ensure!(single, "--trace shows one cell, this sweep has {}: name one lock and one number of CPUs", cells.len());
    let mut outputs = Outputs {
        json: OutputFile::asked("--json", flags.json.as_deref())?,
        html: OutputFile::asked("--html", flags.html.as_deref())?,
        trace: OutputFile::asked("--trace", flags.trace.as_deref())?,
        text: flags.partition.is_none(),
    };
    setup.check(&cells)?;
    let part = flags.partition.unwrap_or(Part::WHOLE);
    let mut report = setup.report(&axes, part, u32::try_from(cells.len())?);
    let cells = part.of(cells);
    if let (Some(output_file), [cell]) = (outputs.trace.take(), cells.as_slice()) {
        let (cell, trace) = setup.run(cell, true)?;
        trace.map_or(Ok(()), |trace| output_file.write(trace.as_bytes()))?;
        report.cells = vec![cell];
    } else {
        let jobs = flags.jobs.map_or_else(host_cpus, usize::from);
        report.cells = sweep::run(&cells, jobs, |cell| Ok(setup.run(cell, false)?.0))?;
    }
    outputs.write(&report)
}

fn host_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Where the report goes.
struct Outputs {
    json: Option<OutputFile>,
    html: Option<OutputFile>,
    trace: Option<OutputFile>,
    /// Text to standard output; else JSON, if it has no other destination.
    text: bool,
}

impl Outputs {
    fn write(self, report: &SimReport) -> Result<ExitCode> {
        let failures = text::failures(report);
        match (self.text, self.json) {
            (true, json) => json::publish(report, &text::text(report), json)?,
            (false, None) => print(&json::text(report)?)?,
            (false, Some(output_file)) => output_file.write(json::text(report)?.as_bytes())?,
        }
        if !self.text {
            eprint!("{failures}");
        }
        if let Some(output_file) = self.html {
            output_file.write(html::page(report)?.as_bytes())?;
        }
        let stuck = report.cells.iter().filter(|cell| cell.result.is_err()).count();
        match stuck {
            0 => Ok(ExitCode::SUCCESS),
            _ => Err(Failure::error(STUCK, format!("{stuck} of {} cells got stuck", report.cells.len()))),
        }
    }
}
