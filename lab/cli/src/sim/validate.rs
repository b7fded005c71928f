//! `turnwise-lab sim validate`: the simulator's predictions next to published and measured figures.

use super::args::ValidateArgs;
use super::setup;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use turnwise_bench::report::Report;
use turnwise_present::ending::print;
use turnwise_present::machine::commit;
use turnwise_present::output_file::OutputFile;
use turnwise_present::progress;
use turnwise_sim::spec::Machine;
use turnwise_simbench::validation::{self, Inputs};

/// Writes the page.
///
/// # Errors
/// The report or the machine cannot be read, the page cannot be written, a lock broke its guarantee.
pub(crate) fn run(args: &ValidateArgs) -> Result<ExitCode> {
    let output_file = OutputFile::asked("--markdown", args.markdown.as_deref())?;
    let inputs = Inputs {
        metal: hosts(args)?,
        curves_alone: args.curves,
        quick: args.quick,
        command: command(args),
        commit: commit(),
    };
    let bar = progress::bar(validation::runs(&inputs), "{pos}/{len} runs {wide_bar} {elapsed_precise}");
    let page = validation::page(&inputs, || bar.inc(1))?;
    bar.finish_and_clear();
    match output_file {
        Some(output_file) => output_file.write(page.as_bytes())?,
        None => print(&page)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the reports, each with the machine of its host.
fn hosts(args: &ValidateArgs) -> Result<Vec<(Report, Arc<Machine>)>> {
    let here = ["here".to_owned()];
    let machines = if args.machine.is_empty() { &here[..] } else { &args.machine };
    let (reports, given) = (args.bench.len(), machines.len());
    ensure!(
        reports == 0 || reports == given,
        "--machine: {given} given for {reports} by --bench: give one for each, in order"
    );
    let host = |(file, machine): (&PathBuf, &String)| Ok((read(file)?, Arc::new(setup::machine(machine)?)));
    args.bench.iter().zip(machines).map(host).collect()
}

fn read(file: &Path) -> Result<Report> {
    let report = Report::read(file).context("--bench")?;
    ensure!(report.subject == "mutex", "--bench {}: it is about {}, not mutex", file.display(), report.subject);
    Ok(report)
}

/// Returns the command that makes this page again, without the paths of this host.
fn command(args: &ValidateArgs) -> String {
    let bench = match args.bench.len() {
        0 => String::new(),
        1 => " --bench bench.json".to_owned(),
        many => (1..=many).map(|n| format!(" --bench bench{n}.json --machine machine{n}.toml")).collect(),
    };
    let curves = if args.curves { " --curves" } else { "" };
    let quick = if args.quick { " --quick" } else { "" };
    format!("turnwise-lab sim validate{bench}{curves}{quick}")
}
