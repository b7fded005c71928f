//! `turnwise top`: the current activity of running programs' locks.

mod advise;
mod app;
mod columns;
mod json;
mod once;
mod openmetrics;
mod serve;
mod terminal;
mod view;

use crate::compare::parse_time;
use crate::live::{Model, Names, Row, Sort, Wanted, Watch, Which, rows};
use crate::next::after_look;
use crate::stop;
use anyhow::{Result, bail};
use openmetrics::Exporter;
use serve::Place;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;
use turnwise_present::ending::print;

/// Show what the locks of running programs do now
///
/// Reads the live view that programs under `turnwise run` keep of their contended locks, without stopping them. On a
/// terminal it runs until q or Ctrl-C; ? lists the keys.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A process number, or the name of programs [default: all of this user's]
    #[arg(value_name = "PID | NAME")]
    which: Option<Which>,
    /// Print one sample as a table, and exit
    #[arg(long)]
    once: bool,
    /// Print a line of JSON for each sample, until the programs end or Ctrl-C; with --once, one line
    #[arg(long)]
    json: bool,
    /// Interval between samples in seconds, 0.1 or more [default: 1; with --once 0.5]
    #[arg(long, value_name = "S", value_parser = parse_interval)]
    interval: Option<Duration>,
    /// Sort the locks by this
    #[arg(long, value_name = "BY", value_enum, default_value_t = Sort::Wait)]
    sort: Sort,
    /// Show only locks with this in their name, their call site's or their program's
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Show locks of the same name in several processes of a program as one
    #[arg(long)]
    as_one: bool,
    /// Export OpenMetrics text: serve it at ADDR:PORT (PORT alone: for this machine only), or write it to FILE at each
    /// interval; with --once, once
    #[arg(long, value_name = "ADDR:PORT | FILE", conflicts_with = "json")]
    openmetrics: Option<Place>,
    /// Suggest settings of `turnwise tune` that are worth a trial, from the waits of one interval
    #[arg(long, conflicts_with_all = ["json", "openmetrics"])]
    advise: bool,
    /// Maximum number of locks that --once, --json and --openmetrics show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Args {
    fn interval(&self) -> Duration {
        self.interval.unwrap_or(Duration::from_millis(if self.once { 500 } else { 1000 }))
    }
}

const EXAMPLES: &str = "\
Examples:
  turnwise run -- ./server --port 8080 &
  turnwise top
  turnwise top server --as-one
  turnwise top --once 1234
  turnwise top --json --interval 5 server | jq '.locks[0].name'
  turnwise top --openmetrics 9464 server";

fn parse_interval(text: &str) -> Result<Duration, String> {
    let time = parse_time(text)?;
    if time < Duration::from_millis(100) { Err("expected 0.1 or more".to_owned()) } else { Ok(time) }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let on_terminal = !args.once && !args.advise && !args.json && args.openmetrics.is_none();
    if on_terminal && !std::io::stdout().is_terminal() {
        bail!("standard output is not a terminal; --once prints a table, --json a line per sample");
    }
    let mut watch = Watch::open(args.which.clone().unwrap_or(Which::All))?;
    let wanted = Wanted { sort: args.sort, reversed: false, as_one: args.as_one, filter: args.filter.clone() };
    if on_terminal {
        return terminal::run(watch, wanted, args.interval());
    }
    let stop = stop::flag(false)?;
    if let Some(place) = &args.openmetrics {
        let exporter = Exporter::new(watch, wanted, args.limit);
        match place {
            Place::Address(_) if args.once => bail!("--openmetrics with --once needs a file; - is standard output"),
            Place::Address(address) => serve::serve(exporter, *address, &stop)?,
            Place::File(file) => serve::write(exporter, file, args.interval(), args.once, &stop)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (mut model, mut names) = (Model::default(), Names::default());
    let mut view = model.step(&watch.snapshots()?);
    loop {
        let is_over = !view.processes.iter().any(|process| process.alive);
        if !is_over && !stop::sleep(args.interval(), &stop) {
            return Ok(ExitCode::SUCCESS);
        }
        if !is_over {
            view = model.step(&watch.snapshots()?);
        }
        names.add_kinds(&mut view);
        let (rows, found) = rows(&view, &mut names, &wanted, args.limit);
        print(&match args {
            Args { advise: true, .. } => advise::text(&view, &mut names, &rows),
            Args { json: true, .. } => json::line(&view, &mut names, &rows, found),
            _ => once::text(&view, &mut names, &rows, found) + &after_look(&view, rows.first().map(Row::process)),
        })?;
        if args.once || args.advise || is_over {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_a_tenth_of_a_second_or_more() {
        assert_eq!(parse_interval("0.25"), Ok(Duration::from_millis(250)));
        assert!(parse_interval("0.01").unwrap_err().contains("0.1"));
        assert!(parse_interval("-1").is_err() && parse_interval("soon").is_err() && parse_interval("inf").is_err());
    }
}
