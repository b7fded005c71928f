//! `turnwise tune`: settings of the locks of a running program.

mod policy;
mod target;
mod trial;

use crate::compare::parse_time;
use crate::live::Which;
use crate::setting::{self, Assignment, shown};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use target::Program;
use turnwise_live::{Channel, Rule, Target, unnumbered};
use turnwise_present::ending::print;

/// Change how the locks of a running program wait
///
/// Writes settings into the live view of a program under `turnwise run`: the program obeys them from the next wait
/// on. Without options, lists the settings. A setting for a lock takes precedence over one for a call site, and
/// that over one for all.
#[derive(clap::Args)]
#[command(after_long_help = long_help())]
pub(crate) struct Args {
    /// A process number, or the name of a program
    #[arg(value_name = "PID | NAME")]
    which: Which,
    /// Set this for a lock, the locks of a call site, or all (*); may be repeated
    #[arg(long = "lock", value_name = "NAME=SETTING[,SETTING...]")]
    locks: Vec<Assignment>,
    /// Apply the settings of a policy file's rules (docs/policy-files.md)
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Remove all settings, or those for NAME
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with_all = ["locks", "from", "trial"])]
    undo: Option<String>,
    /// Try a setting: switch it on and off in rounds, and report whether it makes a difference
    #[arg(long, value_name = "NAME=SETTING[,SETTING...]", conflicts_with_all = ["locks", "from"])]
    trial: Option<Assignment>,
    /// Command that measures: the last number that it prints. [default: threads that wait, by the live view's counters]
    #[arg(long, value_name = "CMD", requires = "trial")]
    metric_cmd: Option<String>,
    /// Lower figures of --metric-cmd are better
    #[arg(long, requires = "metric_cmd")]
    lower_is_better: bool,
    /// Rounds of a trial: each has a time with the setting and one without
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,
    /// How long a setting is in force before --metric-cmd runs, in seconds; without a command, how long it is measured
    /// [default: 0.2, or 1]
    #[arg(long = "for", value_name = "S", value_parser = parse_time)]
    time: Option<Duration>,
    /// Ignore differences up to this many percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    margin: f64,
    /// Also write the trial's result as a JSON document; - prints it instead of the text
    #[arg(long, value_name = "FILE", requires = "trial")]
    json: Option<PathBuf>,
    /// Random seed of the order in a round
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn long_help() -> String {
    format!(
        "Settings:\n{}
NAME is what `turnwise top` shows: a variable, 0x and an address, a function that waits, or * for all.

Examples:
  turnwise tune 1234 --lock cache=spin=off
  turnwise tune server --lock '*=fair-after=1ms' --lock cache=spin=2ms,yield-after=1ms
  turnwise tune server --trial cache=spin=off --metric-cmd './requests-per-second'
  turnwise tune server --undo=cache",
        setting::help()
    )
}

/// Lists, sets, removes or tries settings.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let channel = channel(&args.which)?;
    if let Some(name) = &args.undo {
        return undo(&channel, name);
    }
    if let Some(trial) = &args.trial {
        return trial::run(&channel, trial, args);
    }
    if args.locks.is_empty() && args.from.is_none() {
        return list(&channel);
    }
    let mut program = Program::look(&channel)?;
    let mut rules = match &args.from {
        Some(file) => policy::rules(file, &mut program)?,
        None => Vec::new(),
    };
    for Assignment { name, values } in &args.locks {
        let rule = |target| Rule { target, values: *values, label: name.clone() };
        rules.extend(program.named(name)?.into_iter().map(rule));
    }
    channel.tuner()?.change(|now| rules.into_iter().for_each(|rule| add(now, rule)))?;
    list(&channel)
}

/// Adds a rule to those in force; existing values for the same waits stay, unless it sets others.
fn add(now: &mut Vec<Rule>, rule: Rule) {
    match now.iter_mut().find(|known| known.target == rule.target) {
        Some(known) => {
            known.values.overlay(&rule.values);
            known.label = rule.label;
        }
        None => now.push(rule),
    }
}

/// Returns the running program that the user means.
fn channel(which: &Which) -> Result<Channel> {
    let mut running = which.running();
    match (running.len(), which) {
        (1, _) => Ok(running.remove(0)),
        (0, _) => Err(which.complaint()),
        _ => {
            let pids: Vec<String> = running.iter().map(|channel| channel.pid().to_string()).collect();
            bail!("several such programs run, and each has settings of its own: give one of {}", pids.join(", "))
        }
    }
}

fn undo(channel: &Channel, name: &str) -> Result<ExitCode> {
    let tuner = channel.tuner()?;
    let taken = tuner.change(|rules| {
        let before = rules.len();
        rules.retain(|rule| !name.is_empty() && rule.label != name && !is_address(&rule.target, name));
        before - rules.len()
    })?;
    if taken == 0 && !name.is_empty() {
        let rules = channel.rules()?;
        let known: Vec<&str> = rules.iter().map(|rule| rule.label.as_str()).collect();
        let reported =
            if known.is_empty() { "nothing is set".to_owned() } else { format!("set is {}", known.join(", ")) };
        bail!("nothing is set for `{name}` in process {}: {reported}", channel.pid());
    }
    list(channel)
}

fn is_address(target: &Target, name: &str) -> bool {
    matches!(target, Target::Locks((from, _)) if name == format!("{:#x}", unnumbered(*from)))
}

fn list(channel: &Channel) -> Result<ExitCode> {
    let mut text: String = channel.rules()?.iter().map(line).collect();
    if text.is_empty() {
        text = format!("Nothing is set for the locks of {} {}.\n", channel.name(), channel.pid());
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn line(rule: &Rule) -> String {
    let of = match rule.target {
        Target::All => "all waits".to_owned(),
        Target::Sites((_, to)) => format!("waits at the call before {:#x}", unnumbered(to)),
        Target::Locks((from, _)) => format!("the lock at {:#x}", unnumbered(from)),
        Target::FileRule(_) => "by the policy file, from the start".to_owned(),
    };
    format!("{}: {} ({of})\n", rule.label, shown(&rule.values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::values;

    fn rule(label: &str, target: Target, set: &str) -> Rule {
        Rule { target, values: values(set).unwrap(), label: label.to_owned() }
    }

    #[test]
    fn what_is_set_later_leaves_other_settings_alone() {
        let mut now = vec![rule("*", Target::All, "spin=off,fair-after=1us")];
        add(&mut now, rule("all", Target::All, "spin=5us"));
        add(&mut now, rule("cache", Target::Locks((64, 65)), "spin=off"));
        let reported: Vec<String> = now.iter().map(line).collect();
        assert_eq!(reported, ["all: spin=5us,fair-after=1us (all waits)\n", "cache: spin=off (the lock at 0x40)\n"]);
        assert!(is_address(&now[1].target, "0x40") && !is_address(&now[1].target, "0x4"));
    }
}
