//! How long each step takes: kept as steps pass, and written to a page.

use super::Done;
use super::run::Outcome;
use super::steps::STEPS;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The page.
const PAGE: &str = "docs/checks.md";
/// Where the times are kept: seconds by step.
const KEPT: &str = "target/check-times.toml";

type Seconds = BTreeMap<String, u64>;

fn kept() -> Result<Seconds> {
    match std::fs::read_to_string(KEPT) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("{KEPT} has no times: remove it")),
        Err(_) => Ok(Seconds::new()), // there is none yet
    }
}

/// Keeps the times of the steps that passed.
pub(super) fn keep(done: &[Done]) -> Result<()> {
    let mut seconds = kept()?;
    for Done { step, time, .. } in done.iter().filter(|done| matches!(done.outcome, Outcome::Passed(_))) {
        seconds.insert(step.name.to_owned(), time.as_secs());
    }
    std::fs::create_dir_all("target").context("cannot make target")?;
    std::fs::write(KEPT, toml::to_string(&seconds)?).with_context(|| format!("cannot write {KEPT}"))
}

/// Writes the page from the times that were kept.
pub(super) fn write() -> Result<()> {
    let seconds = kept()?;
    let missing: Vec<_> = STEPS.iter().map(|step| step.name).filter(|name| !seconds.contains_key(*name)).collect();
    ensure!(missing.is_empty(), "no time for the page yet: run `cargo xtask check {}`", missing.join(" "));
    std::fs::write(PAGE, page(&seconds)).with_context(|| format!("cannot write {PAGE}"))?;
    println!("{PAGE} has the times.");
    Ok(())
}

/// Lists what runs where, and how long it took.
fn page(seconds: &Seconds) -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut page = format!(
        "# What runs where, and how long it takes\n\n\
         Written by `cargo xtask check --times` on {cpus} CPUs ({}): each step's last run that passed.\n\
         Building is included, with what the steps before have built.\n\
         `.ci/run` runs all steps in this order, and `cargo xtask check STEP` runs one.\n\
         Wide sizes run where they are asked for: `cargo xtask models --wide`, `cargo xtask torture --seconds 3600`,\n\
         `cargo xtask miri --seeds 1024`; `faults`, `compatibility`, `supply`, `dist` without `--quick`.\n\n\
         | step | what | time |\n|---|---|---:|\n",
        processor()
    );
    for step in STEPS {
        page += &format!("| {} | {} | {} s |\n", step.name, step.what, seconds[step.name]);
    }
    page + &format!("\nTogether {} min.\n", seconds.values().sum::<u64>().div_ceil(60))
}

/// Returns the name of this machine's processor.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_times_fits_a_screen_and_has_each_step() {
        let seconds = STEPS.iter().map(|step| (step.name.to_owned(), 61)).collect();
        let page = page(&seconds);
        assert!(page.lines().count() <= 40, "{page}");
        assert!(STEPS.iter().all(|step| page.contains(&format!("| {} |", step.name))));
    }
}
