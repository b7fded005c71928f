//! The page `docs/results/programs.md`.

use super::run::Measured;
use super::table::Program;
use super::{Args, Outcome, POLICIES};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::process::Command;

/// "1.93 times as fast (1.85 to 2.01)".
pub(super) fn speed(measured: &Measured) -> String {
    let [speed, low, high] = measured.speed;
    format!("{speed:.2} times as fast ({low:.2} to {high:.2})")
}

/// No slower than this with confidence: the bar for every program.
const NEVER_BELOW: f64 = 0.97;
/// The bar for the geometric mean of the lock-bound ones.
const BOUND_MEAN: f64 = 2.0;

/// The whole page.
pub(super) fn page(outcomes: &[(Program, Outcome)], args: &Args) -> Result<String> {
    let mut page = "# Programs that nobody rebuilt\n\n".to_owned();
    let subset = if args.name.is_empty() { String::new() } else { format!(" {}", args.name.join(" ")) };
    writeln!(
        page,
        "Written by `cargo xtask programs{subset} --runs {}`, commit {}; do not edit. The programs, their commands and \
         figures are in `xtask/programs/programs.toml`.\n",
        args.runs,
        commit()?
    )?;
    if let Some(machine) = measured(outcomes).map(|(_, measured)| &measured.machine).next() {
        let loads = measured(outcomes).map(|(_, measured)| measured.machine.load_1min);
        let (least, most) = loads.fold((f64::MAX, 0.0_f64), |(low, high), load| (low.min(load), high.max(load)));
        writeln!(
            page,
            "Machine: {} x {}, Linux {}, {}. Load averages at the starts: {least:.1} to {most:.1}; the runs themselves \
             are among them.\n",
            machine.cpus, machine.cpu_model, machine.kernel, machine.libc
        )?;
    }
    writeln!(
        page,
        "Under `{}` and `{}` each program exits with status 0 and prints the same results before it is measured. \
         Speed: under `{1}` against `{0}`, above 1 is faster, with its 95% bootstrap confidence interval; {} runs \
         each, interleaved. Spread: the middle half of the runs as a share of the median.\n",
        POLICIES[0], POLICIES[1], args.runs
    )?;
    table(&mut page, outcomes)?;
    bars(&mut page, outcomes)?;
    self_tests(&mut page, outcomes)?;
    Ok(page)
}

fn measured(outcomes: &[(Program, Outcome)]) -> impl Iterator<Item = (&Program, &Measured)> {
    outcomes.iter().filter_map(|(program, outcome)| match outcome {
        Outcome::Measured(measured) => Some((program, measured)),
        Outcome::Passed(_) | Outcome::Skipped(_) | Outcome::Failed(_) => None,
    })
}

fn table(page: &mut String, outcomes: &[(Program, Outcome)]) -> Result<()> {
    writeln!(page, "| program | lock-bound | {} | spread | {} | spread | speed | 95% |", POLICIES[0], POLICIES[1])?;
    writeln!(page, "|---|---|---|---|---|---|---|---|")?;
    for (program, outcome) in outcomes.iter().filter(|(program, _)| program.metric.is_some()) {
        let bound = if program.bound { "yes" } else { "" };
        match outcome {
            Outcome::Measured(m) => writeln!(
                page,
                "| {} | {bound} | {} | {:.0}% | {} | {:.0}% | **{:.2}** | {:.2} to {:.2} |",
                program.name,
                figure(m.medians[0], program.lower),
                m.spread[0] * 100.0,
                figure(m.medians[1], program.lower),
                m.spread[1] * 100.0,
                m.speed[0],
                m.speed[1],
                m.speed[2]
            )?,
            Outcome::Passed(_) => {}
            Outcome::Skipped(why) => writeln!(page, "| {} | {bound} | not run: {why} | | | | | |", program.name)?,
            Outcome::Failed(why) => {
                writeln!(page, "| {} | {bound} | FAILED: {} | | | | | |", program.name, why.replace(['\n', '|'], " "))?;
            }
        }
    }
    Ok(())
}

/// Programs that test themselves: not measured.
fn self_tests(page: &mut String, outcomes: &[(Program, Outcome)]) -> Result<()> {
    let mut tests = outcomes.iter().filter(|(program, _)| program.metric.is_none()).peekable();
    if tests.peek().is_none() {
        return Ok(());
    }
    writeln!(
        page,
        "\n## Their own tests\n\nAs Debian packages them, once under each policy: they pass, and print \
         the same results.\n"
    )?;
    writeln!(page, "| tests | under `{}` and `{}` |\n|---|---|", POLICIES[0], POLICIES[1])?;
    for (program, outcome) in tests {
        let what = match outcome {
            Outcome::Measured(_) => continue,
            Outcome::Passed(results) => format!("pass: {}", shortened(results)),
            Outcome::Skipped(why) => format!("not run: {why}"),
            Outcome::Failed(why) => format!("FAILED: {why}"),
        };
        writeln!(page, "| {} | {} |", program.name, what.replace(['\n', '|'], " "))?;
    }
    Ok(())
}

/// The beginning of a program's results, and how many there are.
pub(super) fn shortened(results: &str) -> String {
    const SHOWN: usize = 3;
    let all: Vec<_> = results.split(", ").collect();
    match all.len() {
        number if number > SHOWN + 1 => format!("{}, … ({number} results)", all[..SHOWN].join(", ")),
        _ => results.to_owned(),
    }
}

fn figure(value: f64, seconds: bool) -> String {
    match value {
        value if seconds => format!("{value:.3} s"),
        value if value >= 1e6 => format!("{:.2} M/s", value / 1e6),
        value if value >= 1e3 => format!("{:.1} k/s", value / 1e3),
        value => format!("{value:.1} /s"),
    }
}

fn bars(page: &mut String, outcomes: &[(Program, Outcome)]) -> Result<()> {
    let bound: Vec<f64> = measured(outcomes).filter(|(p, _)| p.bound).map(|(_, m)| m.speed[0].ln()).collect();
    if !bound.is_empty() {
        let mean = (bound.iter().sum::<f64>() / bound.len() as f64).exp();
        let word = if mean >= BOUND_MEAN { "met" } else { "MISSED" };
        writeln!(
            page,
            "\n- {word}: geometric mean of the {} lock-bound programs {mean:.2} (wanted: {BOUND_MEAN:.1})",
            bound.len()
        )?;
    }
    let slower: Vec<_> = measured(outcomes).filter(|(_, m)| m.speed[2] < NEVER_BELOW).collect();
    match slower.is_empty() {
        true => writeln!(page, "- met: no program is below {NEVER_BELOW} of the C library's speed with confidence")?,
        false => {
            let list: Vec<_> = slower.iter().map(|(p, m)| format!("{} ({})", p.name, speed(m))).collect();
            writeln!(
                page,
                "- MISSED: below {NEVER_BELOW} of the C library's speed with confidence: {}",
                list.join(", ")
            )?;
        }
    }
    Ok(())
}

fn commit() -> Result<String> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git").args(arguments).output().context("cannot run git")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed =
        if git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() { "" } else { " with changes" };
    Ok(format!("{}{changed}", git(&["rev-parse", "--short=12", "HEAD"])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_results_are_counted() {
        assert_eq!(shortened("ok 1, ok 2, ok 3, ok 4"), "ok 1, ok 2, ok 3, ok 4");
        assert_eq!(shortened("a, b, c, d, e"), "a, b, c, … (5 results)");
    }

    #[test]
    fn figures_have_units() {
        let shown = [figure(0.25, true), figure(2.5e6, false), figure(2.5e3, false), figure(2.5, false)];
        assert_eq!(shown, ["0.250 s", "2.50 M/s", "2.5 k/s", "2.5 /s"]);
    }
}
