//! How long each step takes: kept as steps pass, and written to a page.

use super::run::Outcome;
use super::{Done, STEPS};
use crate::command::toml;
use crate::root;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use turnwise_present::machine::Machine;

/// The page.
const PAGE: &str = "docs/checks.md";
/// Where the times are kept: seconds by step.
const KEPT: &str = "target/check-times.toml";

type Seconds = BTreeMap<String, u64>;

fn kept() -> Result<Seconds> {
    if Path::new(KEPT).exists() {
        toml(KEPT).with_context(|| format!("{KEPT} has no times: remove it"))
    } else {
        Ok(Seconds::new())
    }
}

/// Keeps the times of the steps that passed.
pub(super) fn keep(done: &[Done]) -> Result<()> {
    let mut seconds = kept()?;
    for Done { step, time, .. } in done.iter().filter(|done| matches!(done.outcome, Outcome::Passed(_))) {
        seconds.insert(step.name.to_owned(), time.as_secs());
    }
    root::write(KEPT, toml::to_string(&seconds)?)
}

/// Writes the page from the times that were kept.
pub(super) fn write() -> Result<()> {
    let seconds = kept()?;
    let missing: Vec<_> = STEPS.iter().map(|step| &*step.name).filter(|name| !seconds.contains_key(*name)).collect();
    ensure!(missing.is_empty(), "no time for the page yet: run `cargo xtask check {}`", missing.join(" "));
    root::write(PAGE, page(&seconds))?;
    println!("{PAGE} has the times.");
    Ok(())
}

/// Lists what runs where, and how long it took.
fn page(seconds: &Seconds) -> String {
    let machine = Machine::here();
    let mut page = format!(
        "# What runs where, and how long it takes\n\n\
         Written by `cargo xtask check --times` on {} CPUs ({}): each step's last run that passed.\n\
         Building is included, with what the steps before have built.\n\
         `.ci/run` runs all steps in this order, and `cargo xtask check STEP` runs one.\n\
         Wide sizes run where they are asked for: `cargo xtask models --wide`, `cargo xtask torture --seconds 3600`,\n\
         `cargo xtask miri --seeds 1024`; `faults`, `compatibility`, `supply`, `dist` without `--quick`.\n\n\
         | step | what | time |\n|---|---|---:|\n",
        machine.cpus,
        machine.cpu_name()
    );
    for step in STEPS.iter() {
        page += &format!("| {} | {} | {} s |\n", step.name, step.what, seconds[&step.name]);
    }
    page + &format!("\nTogether {} min.\n", seconds.values().sum::<u64>().div_ceil(60))
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
