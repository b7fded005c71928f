//! How long each step takes: kept as steps pass, and written to a page.

use super::run::Outcome;
use super::{Done, STEPS, Step};
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

/// Returns the steps that the page lists.
fn ci() -> impl Iterator<Item = &'static Step> {
    STEPS.iter().filter(|step| !step.slow)
}

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
    let missing: Vec<_> = ci().map(|step| &*step.name).filter(|name| !seconds.contains_key(*name)).collect();
    ensure!(missing.is_empty(), "no time for the page yet: run `cargo xtask check {}`", missing.join(" "));
    root::write(PAGE, page(&seconds))?;
    println!("{PAGE} has the times.");
    Ok(())
}

/// Lists what runs where, and how long it took.
fn page(seconds: &Seconds) -> String {
    let machine = Machine::here();
    let mut rows = String::new();
    for step in ci() {
        rows += &format!("| {} | {} | {} s |\n", step.name, step.what, seconds[&step.name]);
    }
    include_str!("times.md")
        .replace("@MACHINE@", &format!("{} CPUs ({})", machine.cpus, machine.cpu_name()))
        .replace("@ROWS@\n", &rows)
        .replace("@SUM@", &ci().map(|step| seconds[&step.name]).sum::<u64>().div_ceil(60).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_times_fits_a_screen_and_has_each_step() {
        let seconds = ci().map(|step| (step.name.to_owned(), 61)).collect();
        let page = page(&seconds);
        assert!(page.lines().count() <= 40, "{page}");
        assert!(ci().all(|step| page.contains(&format!("| {} |", step.name))));
    }
}
