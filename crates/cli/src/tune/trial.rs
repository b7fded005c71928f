//! `turnwise tune --trial`: a setting is switched on and off in the running program; the verdict is `compare`'s.

use super::target::Program;
use super::{Args, add};
use crate::compare::{PairsReport, Round};
use crate::measure::{Bounds, End};
use crate::metric::{Better, Metric};
use crate::next::next;
use crate::setting::{Assignment, shown};
use crate::stop;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use turnwise_live::{Channel, Rule, Snapshot, Target, Tuner};
use turnwise_present::ending::{Failure, INTERRUPTED};
use turnwise_present::json;
use turnwise_present::machine::Machine;
use turnwise_present::output_file::OutputFile;

/// The version of the schema of `--json`, which `docs/tune.md` describes; raised when a field changes its meaning or is
/// removed.
const SCHEMA: u32 = 1;

/// Puts settings in force, and restores the old ones on drop.
struct Switch {
    tuner: Tuner,
    /// The earlier rules for the same waits.
    before: Vec<Rule>,
    rules: Vec<Rule>,
}

impl Switch {
    fn new(channel: &Channel, targets: &[Target], trial: &Assignment) -> Result<Switch> {
        let tuner = channel.tuner()?;
        let before = channel.rules()?.into_iter().filter(|rule| targets.contains(&rule.target)).collect();
        let label = format!("trial of {}", trial.name);
        let rule = |target: &Target| Rule { target: target.clone(), values: trial.values, label: label.clone() };
        Ok(Switch { tuner, before, rules: targets.iter().map(rule).collect() })
    }

    fn turn(&self, on: bool) -> Result<()> {
        self.tuner.change(|now| {
            now.retain(|rule| !self.rules.iter().any(|tried| tried.target == rule.target));
            now.extend(self.before.iter().cloned());
            if on {
                self.rules.iter().for_each(|rule| add(now, rule.clone()));
            }
        })?;
        Ok(())
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Err(error) = self.turn(false) {
            eprintln!("turnwise: cannot take the setting back: {error:#}; try `turnwise tune PID --undo`");
        }
    }
}

/// A measurement with a setting and without.
struct Trial<'a> {
    channel: &'a Channel,
    args: &'a Args,
    targets: Vec<Target>,
    stop: &'a AtomicBool,
}

/// Tries the setting, and reports the result.
pub(super) fn run(channel: &Channel, trial: &Assignment, args: &Args) -> Result<ExitCode> {
    let targets = Program::look(channel)?.named(&trial.name)?;
    let json = OutputFile::asked("--json", args.json.as_deref())?;
    let started = SystemTime::now();
    // A second request ends nothing sooner: the settings are restored first.
    let stop = stop::flag(false)?;
    let switch = Switch::new(channel, &targets, trial)?;
    let measured = Trial { channel, args, targets, stop: &stop };
    let rounds = measured.rounds(&switch);
    drop(switch);
    let rounds = rounds?;
    let is_over = stop.load(Relaxed);
    if rounds.is_empty() {
        let message = "interrupted before the first round was complete; the settings are as they were";
        return Err(Failure::error(INTERRUPTED, message.to_owned()));
    }
    let arms = ["the old setting".to_owned(), format!("{}={}", trial.name, shown(&trial.values))];
    let pairs = PairsReport::of(measured.metric(), arms, rounds, args.margin / 100.0, args.seed);
    let text = pairs.text() + &after(channel.pid(), trial, &pairs);
    let mut report = json!({
        "schema": SCHEMA,
        "turnwise_version": env!("CARGO_PKG_VERSION"),
        "started_unix_s": started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        "process": { "pid": channel.pid(), "name": channel.name() },
        "machine": Machine::here(),
        "trial": { "name": trial.name, "settings": shown(&trial.values), "rounds": args.rounds,
            "metric_cmd": args.metric_cmd },
        "interrupted": is_over,
    });
    pairs.add_to(&mut report);
    json::publish(&report, &text, json)?;
    Ok(if is_over { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Returns the command to enter next.
fn after(pid: u32, trial: &Assignment, pairs: &PairsReport) -> String {
    let setting = format!("{}={}", trial.name, shown(&trial.values));
    match shlex::try_quote(&setting).ok().filter(|_| pairs.is_better()) {
        Some(setting) => next(&format!("turnwise tune {pid} --lock {setting}"), "sets it, until the program ends"),
        None => next(&format!("turnwise top --advise {pid}"), "which settings are worth a trial, by the waits"),
    }
}

impl Trial<'_> {
    fn metric(&self) -> Metric {
        match &self.args.metric_cmd {
            Some(command) if self.args.lower_is_better => Metric::measured(command, Better::Lower),
            Some(command) => Metric::measured(command, Better::Higher),
            None => Metric::measured("waiting threads", Better::Lower),
        }
    }

    /// Returns the complete rounds: without the setting, and with it.
    fn rounds(&self, switch: &Switch) -> Result<Vec<Round>> {
        let mut rng = fastrand::Rng::with_seed(self.args.seed);
        let mut rounds = Vec::new();
        for round in 1..=self.args.rounds {
            let mut order = [true, false];
            rng.shuffle(&mut order);
            let mut values = [None; 2];
            for on in order {
                switch.turn(on)?;
                let arm = if on { "with the setting" } else { "without the setting" };
                let value = self.measure().with_context(|| format!("round {round}, {arm}"))?;
                let Some(value) = value else { return Ok(rounds) };
                values[usize::from(on)] = Some(value);
            }
            if let [Some(baseline), Some(other)] = values {
                rounds.push(Round { baseline, other });
            }
        }
        Ok(rounds)
    }

    /// Makes one measurement; `None`: the user stopped it.
    fn measure(&self) -> Result<Option<f64>> {
        let value = match &self.args.metric_cmd {
            None => self.waiting(self.args.time.unwrap_or(Duration::from_secs(1)))?,
            Some(_) if !stop::sleep(self.args.time.unwrap_or(Duration::from_millis(200)), self.stop) => None,
            Some(command) => self.command(command)?,
        };
        if !self.channel.is_alive() {
            bail!("process {} has ended", self.channel.pid());
        }
        Ok(value)
    }

    /// Returns how many threads wait for the locks on average. Earlier waits count little: a fifth of the time passes
    /// first.
    fn waiting(&self, time: Duration) -> Result<Option<f64>> {
        if !stop::sleep(time / 5, self.stop) {
            return Ok(None);
        }
        let before = self.channel.snapshot()?;
        if !stop::sleep(time, self.stop) {
            return Ok(None);
        }
        let after = self.channel.snapshot()?;
        let waited = self.waited(&after).saturating_sub(self.waited(&before));
        Ok(Some(waited as f64 / after.taken_ns.saturating_sub(before.taken_ns).max(1) as f64))
    }

    /// Returns the time that threads waited for the locks so far.
    fn waited(&self, snapshot: &Snapshot) -> u64 {
        let is_target = |address: u64, site: u64| self.targets.iter().any(|target| target.covers(address, site));
        let locks = snapshot.locks.iter().flat_map(|lock| lock.sites.iter().map(|site| (lock.address, site)));
        let ended = locks.filter(|(lock, site)| is_target(*lock, site.address)).map(|(_, site)| site.wait_ns);
        let waits = snapshot.threads.iter().filter_map(|thread| thread.waiting);
        let going_on = waits.filter(|waiting| is_target(waiting.lock, waiting.site));
        let going_on = going_on.map(|waiting| snapshot.taken_ns.saturating_sub(waiting.since_ns));
        ended.chain(going_on).fold(0, u64::saturating_add)
    }

    /// Returns the last number that the user's command prints; `None`: the user stopped it.
    fn command(&self, command: &str) -> Result<Option<f64>> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        let outcome = Bounds { timeout: Duration::MAX, stop: self.stop }.run(shell, false).context("--metric-cmd")?;
        let last = last_line(&outcome.output);
        match outcome.end {
            End::Interrupted => return Ok(None),
            End::Ended(status) if status.success() => {}
            End::Ended(status) => bail!("--metric-cmd {command:?} ended with {status}; it printed {last:?}"),
            end => bail!("--metric-cmd {command:?} {}", end.describe(Duration::MAX)),
        }
        let value = last_number(&outcome.output);
        value
            .map(Some)
            .with_context(|| format!("--metric-cmd {command:?} printed no number; its last line is {last:?}"))
    }
}

fn last_line(output: &str) -> &str {
    output.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns the last number of the last line that has one. Commas between digits separate thousands.
fn last_number(output: &str) -> Option<f64> {
    let is_part = |letter: char| letter.is_ascii_digit() || ".,+-eE".contains(letter);
    let words = |line: &str| -> Option<f64> {
        line.rsplit(|letter: char| !is_part(letter)).find_map(|word| {
            let word = word.trim_matches([',', '.']).replace(',', "");
            word.parse::<f64>().ok().filter(|value| value.is_finite())
        })
    };
    output.lines().rev().find_map(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_counts() {
        for (output, expected) in [
            ("12\n", Some(12.0)),
            ("ops: 1,234.5 per second\n\n", Some(1234.5)),
            ("1\n2 of 3\nend\n", Some(3.0)),
            ("latency 1e-3 s.", Some(1e-3)),
            ("-4", Some(-4.0)),
            ("no number, none\n", None),
            ("", None),
        ] {
            assert_eq!(last_number(output), expected, "{output:?}");
        }
        assert_eq!(last_line("a\nb \n\n"), "b");
    }
}
