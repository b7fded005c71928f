//! Steps: all that CI runs, in CI's order (`cargo xtask check`), and the slower ones of the groups
//! `supply`, `dist` and `foreign`.

pub(crate) mod need;
mod promela;
mod run;
mod times;

use crate::command::{entries, rows, skipped};
use crate::root::read;
use anyhow::{Result, ensure};
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use run::{Outcome, follow};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Arguments of `cargo xtask check`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Steps, or groups of steps (all that CI runs, if none is named)
    #[arg(value_parser = names())]
    steps: Vec<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
    /// Write how long each step took when it last passed here to docs/checks.md
    #[arg(long)]
    times: bool,
}

/// Arguments of `cargo xtask supply`, `dist` and `foreign`.
#[derive(clap::Args)]
pub(crate) struct Group {
    /// Only what CI runs
    #[arg(long)]
    quick: bool,
    /// List the steps
    #[arg(long)]
    list: bool,
    /// Steps (all of the group, if none is named)
    #[arg(value_name = "STEP", value_parser = names())]
    named: Vec<String>,
}

/// Commands that take about an hour on an idle machine.
#[derive(Subcommand)]
pub(crate) enum Chore {
    /// Every lock under every scenario on threads, for a long time
    Torture {
        /// Time for all runs together
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
        seconds: u64,
    },
    /// The tests of the locks under Miri, each under many schedules: undefined behaviour, races, deadlocks
    Miri {
        /// How many schedules, from seed 0 on
        #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
        seeds: u32,
        /// Parts of tests' names (all tests, if none is given)
        test: Vec<String>,
    },
    /// Run the models and explicit-state checks, with the result of each; with --wide larger ones
    Models {
        /// Minutes to hours instead of seconds
        #[arg(long)]
        wide: bool,
        /// Locks, as the tests call them (mutex, rwsem, preload_cond, ...), or orders; all unless some are named
        lock: Vec<String>,
    },
}

/// One step of `steps.toml`, whose head explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    what: String,
    #[serde(default)]
    group: String,
    #[serde(default)]
    slow: bool,
    #[serde(default)]
    needs: Vec<String>,
    run: Vec<String>,
    #[serde(default)]
    at_once: bool,
    minutes: Option<u64>,
}

/// All steps, in the order in which CI runs them.
static STEPS: LazyLock<Vec<Step>> = LazyLock::new(|| rows(include_str!("steps.toml")).expect("a test reads it"));

/// `cargo xtask models`: with the executions, states and rare lines of each.
const MODELS: &str =
    "cargo test --release -p turnwise-model --no-fail-fast --test models --test explicit -- --show-output";

/// The axiomatic check of `proof/orders`, as `cargo xtask models` calls it.
const ORDERS: &str = "orders";

impl Chore {
    /// Runs it; `true` if it succeeded.
    pub(crate) fn run(&self) -> Result<bool> {
        let (line, args) = match self {
            Chore::Torture { seconds } => {
                (format!("cargo run --release -p turnwise-torture -- --seconds {seconds}"), &[][..])
            }
            Chore::Models { wide, lock } => return models(*wide, lock),
            Chore::Miri { seeds, test } => {
                ["nightly miri", "nightly rust-src"].into_iter().try_for_each(need::provide)?;
                let flags = format!("-Zmiri-disable-isolation -Zmiri-preemption-rate=0.1 -Zmiri-many-seeds=0..{seeds}");
                let line = "cargo +nightly miri test -p turnwise --lib --tests --target-dir target/miri --";
                (format!("MIRIFLAGS='{flags}' {line}"), &test[..])
            }
        };
        Ok(follow(&line, args, None, &mut std::io::stdout())?.success)
    }
}

/// Runs the models, and prints the results of each lock; returns `true` if all hold.
fn models(is_wide: bool, named: &[String]) -> Result<bool> {
    let is_named = |name: &str| named.iter().any(|lock| lock == name);
    let all = is_wide && named.is_empty();
    let is_asked = all || is_wide && is_named(promela::LOCK);
    let is_found = !is_asked || promela::models()?;
    let is_ordered = !(all || is_named(ORDERS)) || axiomatic(is_wide)?;
    let locks: Vec<_> = named.iter().filter(|lock| *lock != ORDERS).cloned().collect();
    if locks.is_empty() && !named.is_empty() {
        return Ok(is_ordered);
    }
    let folder = std::path::absolute("target/models")?;
    let _ = std::fs::remove_dir_all(&folder); // there may be none
    std::fs::create_dir_all(&folder)?;
    let wide = if is_wide { "TURNWISE_MODEL_WIDE=1 " } else { "" };
    let exact = if locks.is_empty() { "" } else { " --exact" };
    let line = format!("TURNWISE_MODEL_TABLE='{}' {wide}{MODELS}{exact}", folder.display());
    let done = follow(&line, &locks, None, &mut std::io::stdout())?;
    let mut rows = entries(&folder)?.iter().map(read).collect::<Result<Vec<_>>>()?;
    rows.sort();
    ensure!(!rows.is_empty() || !done.success, "no lock has models under these names: {}", locks.join(", "));
    println!("\nWhat the models tried, and the rare lines that they entered:\n{}", rows.concat());
    Ok(done.success && is_found && is_ordered)
}

/// Checks the orderings against RC11 and Armv8; returns `true` if they hold, or Python is missing.
fn axiomatic(is_wide: bool) -> Result<bool> {
    if let Err(why) = skipped(crate::command::need("python3", "python3"))? {
        println!("SKIPPED: the axiomatic check: {why}");
        return Ok(true);
    }
    let wide = if is_wide { " --wide" } else { "" };
    Ok(follow(&format!("python3 proof/orders/check.py{wide}"), &[], None, &mut std::io::stdout())?.success)
}

/// Names of steps and of their groups.
fn names() -> PossibleValuesParser {
    let names = STEPS.iter().flat_map(|step| [&*step.name, &*step.group]).filter(|name| !name.is_empty());
    PossibleValuesParser::new(names.collect::<BTreeSet<_>>())
}

/// A step that was run.
struct Done {
    step: &'static Step,
    outcome: Outcome,
    time: Duration,
}

/// Runs the requested steps; returns `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let is_named = |name: &String| args.steps.contains(name);
    let is_asked = |step: &Step| match step.slow {
        true => is_named(&step.name),
        false => args.steps.is_empty() || is_named(&step.name) || is_named(&step.group),
    };
    let ok = run_those(is_asked, args.list)?;
    if args.times {
        times::write()?;
    }
    Ok(ok)
}

impl Group {
    /// Runs the steps of this group; returns `true` if none failed.
    pub(crate) fn run(&self, group: &str) -> Result<bool> {
        let is_asked = |step: &Step| match self.named.is_empty() {
            true => step.group == group && !(self.quick && step.slow),
            false => {
                self.named.iter().any(|name| *name == step.name || (*name == step.group && !(self.quick && step.slow)))
            }
        };
        run_those(is_asked, self.list)
    }
}

/// Runs, or lists, the steps that are asked for.
fn run_those(is_asked: impl Fn(&Step) -> bool, list: bool) -> Result<bool> {
    let mut done = Vec::new();
    for step in STEPS.iter().filter(|step| is_asked(step)) {
        println!("{}{:20} {}", if list { "" } else { "\n==> " }, step.name, step.what);
        if !list {
            let start = Instant::now();
            let outcome = run::step(step)?;
            done.push(Done { step, outcome, time: start.elapsed() });
        }
    }
    times::keep(&done)?;
    Ok(list || summarise(&done))
}

fn summarise(done: &[Done]) -> bool {
    // A caller that keeps only the end of the output wants to know why, too.
    for Done { step, outcome, .. } in done {
        if let Outcome::Failed(_, said, _) = outcome {
            println!("\n==> {} failed; this is how it ended:\n{}", step.name, said.join("\n"));
        }
    }
    println!("\n{:20} {:>8}  result", "step", "time");
    let (mut passed, mut failed, mut ok) = (0, 0, true);
    for Done { step, outcome, time } in done {
        println!("{:20} {:>6} s  {outcome}", step.name, time.as_secs());
        if let Outcome::Passed(tests) | Outcome::Failed(_, _, tests) = outcome {
            passed += tests.passed;
            failed += tests.failed;
        }
        ok &= !matches!(outcome, Outcome::Failed(..));
    }
    println!("\n{}", if ok { "All that could be checked here is in order." } else { "Something is wrong: see above." });
    if passed + failed > 0 {
        println!("{passed} passed, {failed} failed"); // alone on its line: runners of CI scripts look for it
    }
    ok
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_commands_that_a_shell_could_read() {
        assert!(STEPS.len() > 20 && STEPS.iter().all(|step| !step.run.is_empty()));
        let lines = STEPS.iter().flat_map(|step| &step.run);
        lines.for_each(|line| assert!(shlex::split(line).is_some(), "{line}"));
    }

    #[test]
    fn each_need_of_a_step_is_one_that_can_be_provided() {
        for needed in STEPS.iter().flat_map(|step| &step.needs) {
            let words: Vec<&str> = needed.split(' ').collect();
            let is_known = matches!(
                words[..],
                ["target" | "nightly" | "architecture", _] | ["program", _, _] | ["tool", _, _, ..]
            );
            assert!(is_known, "{needed}");
        }
    }

    #[test]
    fn no_two_steps_have_one_name_and_ci_runs_some_of_each_group() {
        let names: BTreeSet<_> = STEPS.iter().map(|step| &step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        for group in ["supply", "dist", "foreign"] {
            let of_group = || STEPS.iter().filter(|step| step.group == group);
            assert!(of_group().any(|step| !step.slow) && of_group().any(|step| step.slow), "{group}");
        }
    }
}
