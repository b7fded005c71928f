//! All that CI runs, in CI's order: `cargo xtask check`; single steps: `cargo xtask check STEP…`.

pub(crate) mod need;
mod run;
mod steps;
mod times;

use anyhow::{Result, bail, ensure};
use clap::Subcommand;
use run::Outcome;
use std::time::{Duration, Instant};
use steps::{Cmd, STEPS, Step};

/// Arguments of `cargo xtask check`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Steps to run (all, if none is named)
    steps: Vec<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
    /// Count a step that had to be skipped as a failure
    #[arg(long)]
    no_skip: bool,
    /// Write how long each step took when it last passed here to docs/checks.md
    #[arg(long)]
    times: bool,
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
        /// Locks, as the tests call them (mutex, rwsem, preload_cond, ...); all unless some are named
        lock: Vec<String>,
    },
}

impl Chore {
    /// Runs it; `true` if it succeeded.
    pub(crate) fn run(&self) -> Result<bool> {
        let (cmd, args) = match self {
            Chore::Torture { seconds } => (&steps::TORTURE, vec!["--seconds".to_string(), seconds.to_string()]),
            Chore::Models { wide, lock } => return models(*wide, lock),
            Chore::Miri { seeds, test } => return miri(*seeds, test),
        };
        let done = run::command(cmd, &[], &args, None)?;
        Ok(done.success)
    }
}

/// Runs tests under Miri, with this many seeds; `true` if all hold.
fn miri(seeds: u32, tests: &[String]) -> Result<bool> {
    for need in steps::MIRI {
        need.provide().map_err(anyhow::Error::msg)?;
    }
    let flags = format!("-Zmiri-disable-isolation -Zmiri-preemption-rate=0.1 -Zmiri-many-seeds=0..{seeds}");
    Ok(run::command(&steps::MIRI_MANY, &[("MIRIFLAGS", &flags)], tests, None)?.success)
}

/// Runs the models, and prints the results of each lock; returns `true` if all hold.
fn models(wide: bool, locks: &[String]) -> Result<bool> {
    let folder = std::path::absolute("target/models")?;
    let _ = std::fs::remove_dir_all(&folder); // there may be none
    std::fs::create_dir_all(&folder)?;
    let shown = folder.display().to_string();
    let mut env = vec![("TURNWISE_MODEL_TABLE", shown.as_str())];
    env.extend(wide.then_some(("TURNWISE_MODEL_WIDE", "1")));
    let exact: &[String] = if locks.is_empty() { &[] } else { &["--exact".to_owned()] };
    let done = run::command(&steps::MODELS, &env, &[exact, locks].concat(), None)?;
    let rows = std::fs::read_dir(&folder)?.map(|row| Ok(std::fs::read_to_string(row?.path())?));
    let mut rows = rows.collect::<Result<Vec<_>>>()?;
    rows.sort();
    ensure!(!rows.is_empty() || !done.success, "no lock has models under these names: {}", locks.join(", "));
    println!("\nWhat the models tried, and the rare lines that they entered:\n{}", rows.concat());
    Ok(done.success)
}

/// Returns whether a step has this name.
pub(crate) fn is_step(name: &str) -> bool {
    STEPS.iter().any(|step| step.name == name)
}

/// A step that was run.
struct Done {
    step: &'static Step,
    outcome: Outcome,
    time: Duration,
}

/// Runs the requested steps; returns `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    if args.list {
        for step in STEPS {
            println!("{:12} {}", step.name, step.what);
        }
        return Ok(true);
    }
    let mut done = Vec::new();
    for step in chosen(&args.steps)? {
        println!("\n==> {}: {}", step.name, step.what);
        let start = Instant::now();
        let outcome = run::step(step)?;
        done.push(Done { step, outcome, time: start.elapsed() });
    }
    let ok = summarise(&done, args.no_skip);
    times::keep(&done)?;
    if args.times {
        times::write()?;
    }
    Ok(ok)
}
fn chosen(names: &[String]) -> Result<Vec<&'static Step>> {
    for name in names {
        if !STEPS.iter().any(|s| s.name == name) {
            bail!("no step is called `{name}`; `cargo xtask check --list` lists them");
        }
    }
    Ok(STEPS.iter().filter(|s| names.is_empty() || names.iter().any(|n| n == s.name)).collect())
}

fn summarise(done: &[Done], no_skip: bool) -> bool {
    // A caller that keeps only the end of the output wants to know why, too.
    for Done { step, outcome, .. } in done {
        if let Outcome::Failed(failure, _) = outcome {
            println!("\n==> {} failed; this is how it ended:\n{}", step.name, failure.said.join("\n"));
        }
    }
    println!("\n{:12} {:>8}  result", "step", "time");
    let (mut passed, mut failed, mut ok) = (0, 0, true);
    for Done { step, outcome, time } in done {
        println!("{:12} {:>6} s  {outcome}", step.name, time.as_secs());
        if let Outcome::Passed(tests) | Outcome::Failed(_, tests) = outcome {
            passed += tests.passed;
            failed += tests.failed;
        }
        ok &= match outcome {
            Outcome::Passed(_) => true,
            Outcome::Failed(..) => false,
            Outcome::Skipped(_) => !no_skip,
        };
    }
    println!("\n{}", if ok { "All that could be checked here is in order." } else { "Something is wrong: see above." });
    if passed + failed > 0 {
        println!("{passed} passed, {failed} failed"); // alone on its line: runners of CI scripts look for it
    }
    ok
}
