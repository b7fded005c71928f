//! The measurements of each variant: kept as JSON, shown as text and as a page.

use super::variant::{self, Variant};
use crate::command::read_json;
use crate::perf::job::Unit;
use crate::perf::measure::{Measured, Outcome};
use crate::perf::report::Gap;
use crate::perf::stats::{self, Interval, Verdict};
use crate::results::template::{render, speed as speed_shown};
use crate::root::write;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;
use turnwise_present::machine::Machine;
use turnwise_present::stats::geometric_mean;

/// When a field changes its meaning or is removed, the number is raised.
const FORMAT: &str = "turnwise-ablation/1";
/// Smaller differences are none.
const BOUND: f64 = 0.01;

/// All measurements of one commit on one machine; several runs may add to it.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    format: String,
    commit: String,
    machine: Machine,
    compiler: String,
    /// Of each run.
    commands: Vec<String>,
    variants: Vec<Tried>,
    left_out: Vec<Gap>,
    pub(super) failed: Vec<Gap>,
}

#[derive(Serialize, Deserialize)]
struct Tried {
    name: String,
    what: String,
    /// Geometric mean of the speeds.
    mean: Option<f64>,
    verdict: String,
    cells: Vec<Cell>,
}

/// A program or a cell under one variant.
#[derive(Serialize, Deserialize)]
struct Cell {
    name: String,
    unit: Unit,
    /// Figures with the table's numbers, and with the variant.
    pairs: Vec<[f64; 2]>,
    /// Of the variant, as a multiple; none: too few pairs.
    speed: Option<Interval>,
}

impl Record {
    pub(super) fn new(commit: String, compiler: String, command: String) -> Record {
        let (format, machine) = (FORMAT.to_owned(), Machine::here());
        let (commands, variants, left_out, failed) = (vec![command], Vec::new(), Vec::new(), Vec::new());
        Record { format, commit, machine, compiler, commands, variants, left_out, failed }
    }

    /// Starts with the results of earlier runs in the file, if there is one: of the same commit, machine and compiler.
    pub(super) fn or_continued(self, file: &Path) -> Result<Record> {
        if std::fs::metadata(file).map_or(0, |found| found.len()) == 0 {
            self.save(file)?;
            return Ok(self);
        }
        let mut before: Record = read_json(file, "`cargo xtask ablate`").context("name another file")?;
        let of = |record: &Record| {
            let Record { format, commit, machine, compiler, .. } = record;
            format!("{format}, commit {commit}, {compiler}, {} x {}", machine.cpus, machine.cpu_name())
        };
        let (then, now) = (of(&before), of(&self));
        ensure!(then == now, "{} is of {then}, and this run is of {now}: name another file", file.display());
        before.commands.extend(self.commands);
        Ok(before)
    }

    pub(super) fn save(&self, file: &Path) -> Result<()> {
        write(file, serde_json::to_string(self).context("the figures have no JSON form")? + "\n")
    }

    pub(super) fn leave_out(&mut self, gaps: Vec<Gap>) {
        for gap in gaps {
            if !self.left_out.contains(&gap) {
                self.left_out.push(gap);
            }
        }
    }

    /// Adds pairs of runs to the existing ones; returns the variant's line.
    pub(super) fn add(&mut self, variant: &Variant, outcome: Outcome) -> String {
        let failed = |Gap { cell, why }: Gap| Gap { cell: format!("{cell} under {}", variant.name), why };
        self.failed.extend(outcome.failed.into_iter().map(failed));
        let place = self.variants.iter().position(|tried| tried.name == variant.name).unwrap_or_else(|| {
            let (name, what) = (variant.name.clone(), variant.what.clone());
            self.variants.push(Tried { name, what, mean: None, verdict: String::new(), cells: Vec::new() });
            self.variants.len() - 1
        });
        let tried = &mut self.variants[place];
        for Measured { cell: name, unit, builds } in outcome.measured {
            let pairs = builds.into_iter().flatten();
            match tried.cells.iter_mut().find(|cell| cell.name == name) {
                Some(cell) => cell.pairs.extend(pairs),
                None => tried.cells.push(Cell { name, unit, pairs: pairs.collect(), speed: None }),
            }
        }
        tried.judge();
        let said = format!("{}: {}", tried.mean(), tried.verdict);
        let all = variant::all();
        self.variants.sort_by_key(|tried| all.iter().position(|variant| variant.name == tried.name));
        said
    }

    /// Renders the page: a table of all that the record has.
    pub(super) fn page(&self) -> Result<String> {
        render("the page", include_str!("page.jinja"), self)
    }
}

impl Tried {
    fn judge(&mut self) {
        let error = stats::error_of_each(self.cells.len());
        for cell in &mut self.cells {
            cell.speed = Interval::of(&cell.unit.speeds(&cell.pairs), error);
        }
        let known = || self.cells.iter().filter_map(|cell| Some((cell.name.as_str(), cell.speed?)));
        self.mean = geometric_mean(known().map(|(_, speed)| speed.ratio));
        self.verdict = verdict(known(), self.cells.len() - known().count());
    }

    fn mean(&self) -> String {
        self.mean.map_or_else(|| "none".to_owned(), speed_shown)
    }
}

/// Lists what moved, the farthest first.
fn verdict<'a>(cells: impl Iterator<Item = (&'a str, Interval)>, too_few: usize) -> String {
    let mut moved: Vec<(&str, Interval)> = cells.filter(|(_, s)| s.verdict(BOUND) != Verdict::NoDifference).collect();
    moved.sort_by(|(_, a), (_, b)| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    let named = |wanted: Verdict, words: &str| {
        let of = moved.iter().filter(|(_, speed)| speed.verdict(BOUND) == wanted);
        let names: Vec<String> = of.map(|(name, speed)| format!("{name} ({})", speed_shown(speed.ratio))).collect();
        (!names.is_empty()).then(|| format!("{words} {}", names.join(", ")))
    };
    let few = (too_few > 0).then(|| format!("too few pairs of {too_few}"));
    let parts = [named(Verdict::Worse, "needed by"), named(Verdict::Better, "faster with the change:"), few];
    let said: Vec<String> = parts.into_iter().flatten().collect();
    if said.is_empty() { "shows nothing".to_owned() } else { said.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::super::variant::chosen;
    use super::*;

    fn measured(cell: &str, new: f64, pairs: usize) -> Measured {
        Measured { cell: cell.to_owned(), unit: Unit::Seconds, builds: vec![vec![[1.0, new]; pairs]] }
    }

    fn record() -> Record {
        Record::new("c0".to_owned(), "rustc 1".to_owned(), "cargo xtask ablate --write".to_owned())
    }

    fn variant() -> Variant {
        chosen(&["batch_lines=0".to_owned()]).unwrap().remove(0)
    }

    fn add(record: &mut Record, measured: Vec<Measured>, failed: Vec<Gap>) -> String {
        record.add(&variant(), Outcome { measured, failed })
    }

    #[test]
    fn a_verdict_names_what_moved_farthest_first() {
        let line = |new: &[(&str, f64)]| {
            add(&mut record(), new.iter().map(|(name, new)| measured(name, *new, 12)).collect(), Vec::new())
        };
        assert_eq!(line(&[("a", 1.0), ("b", 1.005)]), "0.998: shows nothing");
        let said = "0.707: needed by b (0.250), a (0.500); faster with the change: c (2.000)";
        assert_eq!(line(&[("a", 2.0), ("b", 4.0), ("c", 0.5), ("d", 1.0)]), said);
        assert_eq!(line(&[("a", 0.5)]), "2.000: faster with the change: a (2.000)");
        assert_eq!(line(&[]), "none: shows nothing");
    }

    #[test]
    fn runs_add_up_in_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("figures.json");
        let mut first = record().or_continued(&file).unwrap();
        assert_eq!(add(&mut first, vec![measured("a", 2.0, 5)], Vec::new()), "none: too few pairs of 1");
        first.save(&file).unwrap();
        let mut second = record().or_continued(&file).unwrap();
        assert_eq!(add(&mut second, vec![measured("a", 2.0, 5)], Vec::new()), "0.500: needed by a (0.500)");
        assert!(second.page().unwrap().contains(", the last of 2 runs that added up"));
        let other = Record { commit: "c1".to_owned(), ..record() }.or_continued(&file).err().unwrap();
        assert!(format!("{other:#}").contains("name another file"), "{other:#}");
        std::fs::write(&file, "{}").unwrap();
        let other = record().or_continued(&file).err().unwrap();
        assert!(format!("{other:#}").contains("is not a report of"), "{other:#}");
    }

    #[test]
    fn the_page_says_what_ran_what_was_left_out_and_what_failed() {
        let mut record = record();
        let gap = |cell: &str| Gap { cell: cell.to_owned(), why: "it\ndied".to_owned() };
        add(&mut record, vec![measured("a", 2.0, 12)], vec![gap("broken")]);
        record.leave_out(vec![gap("gone"), gap("gone")]);
        let page = record.page().unwrap();
        assert!(
            !record.failed.is_empty() && page.contains("`cargo xtask ablate --write`; do not edit. Commit c0,"),
            "{page}"
        );
        assert!(page.contains(" | 0.500 | needed by a (0.500) |\n\nLeft out: gone: it died\n\nFAILED"), "{page}");
        assert!(page.ends_with("FAILED: broken under batch_lines=0: it died\n"), "{page}");
    }
}
