//! The page `docs/results/programs.md`.

use super::run::{Measured, Speed};
use super::table::Program;
use super::{Args, Outcome, POLICIES};
use crate::results::record::Record;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use turnwise_present::others::Others;

/// When a field changes its meaning or is removed, the number is raised.
const FORMAT: &str = "turnwise-programs/1";

/// All results: what page and picture are made of.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    format: String,
    pub(super) date: String,
    pub(super) commit: String,
    /// Parts of names, if not all programs were requested.
    names: Vec<String>,
    /// Runs under each policy.
    pub(super) runs: u32,
    /// Options that requested more columns.
    #[serde(default)]
    options: Vec<String>,
    /// What was requested but is unavailable here, and why.
    #[serde(default)]
    left_out: Option<String>,
    pub(super) programs: Vec<Entry>,
}

/// A program, and its outcome.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    /// It is one of the lock-bound programs.
    pub(super) bound: bool,
    /// Its figure is a time.
    lower: bool,
    /// It tests itself, and is not measured.
    is_test: bool,
    pub(super) outcome: Outcome,
}

impl Entry {
    pub(super) fn new(program: Program, outcome: Outcome) -> Entry {
        let Program { name, bound, lower, metric, .. } = program;
        Entry { name, bound, lower, is_test: metric.is_none(), outcome }
    }

    pub(super) fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Passed(_) | Outcome::Skipped(_) | Outcome::Failed(_) => None,
        }
    }
}

impl Report {
    pub(super) fn new(record: &Record, args: &Args, programs: Vec<Entry>, left_out: Option<String>) -> Report {
        let options = [("--beside-busy", args.beside_busy), ("--quota", args.quota)];
        Report {
            format: FORMAT.to_owned(),
            date: record.date().to_owned(),
            commit: record.commit().to_owned(),
            names: args.name.clone(),
            runs: args.runs,
            options: options.iter().filter(|(_, asked)| *asked).map(|(option, _)| (*option).to_owned()).collect(),
            left_out,
            programs,
        }
    }

    /// Reads one that `cargo xtask programs` kept.
    pub(super) fn read(file: &Path) -> Result<Report> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let complaint = || format!("{} is not a report of `cargo xtask programs`", file.display());
        let report: Report = serde_json::from_str(&text).with_context(complaint)?;
        ensure!(report.format == FORMAT, "{}: its format is {}, not {FORMAT}", complaint(), report.format);
        Ok(report)
    }

    /// Returns the command line that repeats it.
    pub(super) fn command(&self) -> String {
        let subset: String = self.names.iter().map(|name| format!(" '{name}'")).collect();
        let options: String = self.options.iter().map(|option| format!(" {option}")).collect();
        format!("cargo xtask programs{subset} --runs {}{options}", self.runs)
    }
}

/// Formats "1.93 times as fast (1.85 to 2.01)".
fn speed(measured: &Measured) -> String {
    let [speed, low, high] = measured.speed;
    format!("{speed:.2} times as fast ({low:.2} to {high:.2})")
}

/// Describes a program's result in a line, for the person who watches.
pub(super) fn line(measured: &Measured) -> String {
    let marked = [("on one CPU", measured.one_cpu), ("recorded", measured.recorded)];
    let marked = marked.iter().filter(|(_, speed)| speed.is_some());
    let libc: String = marked.map(|(how, speed)| format!("; libc {how}: {}", interval(*speed))).collect();
    let also = COLUMNS.iter().filter_map(|column| Some((column.name, (column.get)(measured)?)));
    speed(measured)
        + &libc
        + &also.map(|(name, speed)| format!("; {name}: {}", interval(Some(speed)))).collect::<String>()
}

/// Formats "1.69 (1.60 to 1.80)"; empty: not run that way.
fn interval(speed: Option<Speed>) -> String {
    speed.map_or_else(String::new, |[speed, low, high]| format!("{speed:.2} ({low:.2} to {high:.2})"))
}

/// A circumstance in which programs were compared once more.
struct Column {
    name: &'static str,
    get: fn(&Measured) -> Option<Speed>,
    /// The bar for the geometric mean of the lock-bound programs.
    bound_mean: Option<f64>,
}

/// A column each, where anything was measured.
const COLUMNS: &[Column] = &[
    Column { name: "beside two busy processes", get: |m| m.beside_busy, bound_mean: Some(1.5) },
    Column { name: "under a quota of one CPU", get: |m| m.quota, bound_mean: None },
];

/// Returns those of them in which anything was measured.
fn columns(entries: &[Entry]) -> Vec<&'static Column> {
    let known = |column: &&Column| measured(entries).any(|(_, measured)| (column.get)(measured).is_some());
    COLUMNS.iter().filter(known).collect()
}

/// No slower than this with confidence: the bar for every program.
const NEVER_BELOW: f64 = 0.97;
/// The bar for the geometric mean of the lock-bound ones.
const BOUND_MEAN: f64 = 2.0;
/// The bar for those that are recorded.
const RECORDED: f64 = 0.9;

impl Report {
    /// Writes the whole page.
    pub(super) fn page(&self) -> Result<String> {
        let mut page = "# Programs that nobody rebuilt\n\n".to_owned();
        writeln!(
            page,
            "Written by `{}` on {}, commit {}; do not edit. The programs, their commands and figures are in \
             `xtask/programs/programs.toml`.\n",
            self.command(),
            self.date,
            self.commit
        )?;
        let entries = &self.programs;
        if let Some(machine) = measured(entries).map(|(_, measured)| &measured.machine).next() {
            writeln!(page, "Machine: {machine}.{}\n", most_taken(entries))?;
        }
        if let Some(why) = &self.left_out {
            writeln!(page, "{}.\n", why.trim_end_matches('.'))?;
        }
        if entries.iter().any(|entry| !entry.is_test) {
            speeds(&mut page, entries, self.runs)?;
        }
        self_tests(&mut page, entries)?;
        Ok(page)
    }
}

fn speeds(page: &mut String, entries: &[Entry], runs: u32) -> Result<()> {
    writeln!(
        page,
        "Under `{}` and `{}` each program exits with status 0 and prints the same results before it is measured. \
         Speed: under `{1}` against `{0}`, above 1 is faster, with its 95% bootstrap confidence interval; {} runs \
         each, interleaved. Spread: the middle half of the runs as a share of the median.\n",
        POLICIES[0], POLICIES[1], runs
    )?;
    table(page, entries)?;
    bars(page, entries)?;
    one_cpu(page, entries)
}

fn measured(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Measured)> {
    entries.iter().filter_map(|entry| Some((entry, entry.measured()?)))
}

fn table(page: &mut String, entries: &[Entry]) -> Result<()> {
    let [before, ours] = POLICIES;
    let columns = columns(entries);
    let names: String = columns.iter().map(|column| format!(" {} |", column.name)).collect();
    writeln!(
        page,
        "| program | lock-bound | {before} | spread | {ours} | spread | speed | 95% | one CPU | recorded |{names}"
    )?;
    writeln!(page, "|---|---|---|---|---|---|---|---|---|---|{}", "---|".repeat(columns.len()))?;
    let empty = " |".repeat(columns.len());
    for program in entries.iter().filter(|entry| !entry.is_test) {
        let bound = if program.bound { "yes" } else { "" };
        match &program.outcome {
            Outcome::Measured(m) => writeln!(
                page,
                "| {} | {bound} | {} | {:.0}% | {} | {:.0}% | **{:.2}** | {:.2} to {:.2} | {} | {} |{}",
                program.name,
                figure(m.medians[0], program.lower),
                m.spread[0] * 100.0,
                figure(m.medians[1], program.lower),
                m.spread[1] * 100.0,
                m.speed[0],
                m.speed[1],
                m.speed[2],
                interval(m.one_cpu),
                interval(m.recorded),
                columns.iter().map(|column| format!(" {} |", interval((column.get)(m)))).collect::<String>()
            )?,
            Outcome::Passed(_) => {}
            Outcome::Skipped(why) => {
                writeln!(page, "| {} | {bound} | not run: {why} | | | | | | | |{empty}", program.name)?;
            }
            Outcome::Failed(why) => {
                writeln!(
                    page,
                    "| {} | {bound} | FAILED: {} | | | | | | | |{empty}",
                    program.name,
                    why.replace(['\n', '|'], " ")
                )?;
            }
        }
    }
    Ok(())
}

/// Programs that test themselves: not measured.
fn self_tests(page: &mut String, entries: &[Entry]) -> Result<()> {
    let mut tests = entries.iter().filter(|entry| entry.is_test).peekable();
    if tests.peek().is_none() {
        return Ok(());
    }
    writeln!(
        page,
        "\n## Their own tests\n\nAs Debian packages them, once under each policy: they pass, and print \
         the same results.\n"
    )?;
    writeln!(page, "| tests | under `{}` and `{}` |\n|---|---|", POLICIES[0], POLICIES[1])?;
    for program in tests {
        let what = match &program.outcome {
            Outcome::Measured(_) => continue,
            Outcome::Passed(results) => format!("pass: {}", shortened(results)),
            Outcome::Skipped(why) => format!("not run: {why}"),
            Outcome::Failed(why) => format!("FAILED: {why}"),
        };
        writeln!(page, "| {} | {} |", program.name, what.replace(['\n', '|'], " "))?;
    }
    Ok(())
}

/// Returns the beginning of a program's results, and how many there are.
pub(super) fn shortened(results: &str) -> String {
    const SHOWN: usize = 3;
    let all: Vec<_> = results.split(", ").collect();
    match all.len() {
        number if number > SHOWN + 1 => format!("{}, … ({number} results)", all[..SHOWN].join(", ")),
        _ => results.to_owned(),
    }
}

/// Returns a program's figure, with its unit.
pub(crate) fn figure(value: f64, seconds: bool) -> String {
    match value {
        value if seconds => format!("{value:.3} s"),
        value if value >= 1e6 => format!("{:.2} M/s", value / 1e6),
        value if value >= 1e3 => format!("{:.1} k/s", value / 1e3),
        value => format!("{value:.1} /s"),
    }
}

fn bars(page: &mut String, entries: &[Entry]) -> Result<()> {
    let bound: Vec<_> = measured(entries).filter(|(p, _)| p.bound).map(|(_, m)| m.speed).collect();
    if let Some(mean) = geometric_mean(&bound) {
        let word = if mean >= BOUND_MEAN { "met" } else { "MISSED" };
        writeln!(
            page,
            "\n- {word}: geometric mean of the {} lock-bound programs {mean:.2} (wanted: {BOUND_MEAN:.1})",
            bound.len()
        )?;
    }
    if measured(entries).next().is_none() {
        return Ok(());
    }
    let slower: Vec<_> = measured(entries).filter(|(_, m)| m.speed[2] < NEVER_BELOW).collect();
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
    columns(entries).into_iter().try_for_each(|column| column.bars(page, entries))?;
    recorded(page, entries)
}

impl Column {
    /// Draws the same bars in this circumstance.
    fn bars(&self, page: &mut String, entries: &[Entry]) -> Result<()> {
        let name = self.name;
        let all: Vec<_> = measured(entries).filter_map(|(entry, m)| Some((entry, (self.get)(m)?))).collect();
        let bound: Vec<Speed> = all.iter().filter(|(entry, _)| entry.bound).map(|(_, speed)| *speed).collect();
        if let Some(mean) = geometric_mean(&bound) {
            let count = bound.len();
            match self.bound_mean {
                Some(wanted) => {
                    let word = if mean >= wanted { "met" } else { "MISSED" };
                    writeln!(
                        page,
                        "- {word}: {name}, geometric mean of the {count} lock-bound programs {mean:.2} (wanted: \
                         {wanted:.1})"
                    )?;
                }
                None => writeln!(page, "- {name}, geometric mean of the {count} lock-bound programs {mean:.2}")?,
            }
        }
        let slower = all.iter().filter(|(_, speed)| speed[2] < NEVER_BELOW);
        let slower: Vec<_> =
            slower.map(|(entry, speed)| format!("{} {}", entry.name, interval(Some(*speed)))).collect();
        match slower.is_empty() {
            true => writeln!(page, "- met: {name}, no program is below {NEVER_BELOW} with confidence")?,
            false => writeln!(page, "- MISSED: {name}, below {NEVER_BELOW} with confidence: {}", slower.join(", "))?,
        }
        Ok(())
    }
}

/// Renders what `turnwise profile` costs those that are bound by locks.
fn recorded(page: &mut String, entries: &[Entry]) -> Result<()> {
    let all: Vec<_> = measured(entries).filter_map(|(p, m)| Some((p, m.recorded?))).collect();
    if all.is_empty() {
        return Ok(());
    }
    let slower: Vec<_> = all.iter().filter(|(_, [speed, ..])| *speed < RECORDED).collect();
    match slower.is_empty() {
        true => {
            writeln!(page, "- met: under `turnwise profile` every lock-bound program keeps {RECORDED} of its speed")?
        }
        false => {
            let list: Vec<_> =
                slower.iter().map(|(p, speed)| format!("{} {}", p.name, interval(Some(*speed)))).collect();
            writeln!(
                page,
                "- MISSED: under `turnwise profile` every lock-bound program is to keep {RECORDED} of its speed: {}",
                list.join(", ")
            )?;
        }
    }
    Ok(())
}

/// Renders what there is to be gained from removing contention.
fn one_cpu(page: &mut String, entries: &[Entry]) -> Result<()> {
    let speeds: Vec<_> = measured(entries).filter_map(|(_, m)| m.one_cpu).collect();
    let Some(mean) = geometric_mean(&speeds) else { return Ok(()) };
    writeln!(
        page,
        "\nOne CPU: the lock-bound programs under `{}` once more in each round, held to a single CPU, against the same \
         on all CPUs, with its 95% interval; geometric mean of {}: {mean:.2}. There no thread waits for a lock whose \
         owner runs, no data move between caches, and nothing runs side by side. So it tells about how much there is \
         to be gained from taking contention away. It is no strict upper bound: work outside of the locks can run side \
         by side, and a lock can be cheaper to take than the C library's.",
        POLICIES[0],
        speeds.len()
    )?;
    Ok(())
}

/// Returns the geometric mean of the estimates; `None` of nothing.
pub(super) fn geometric_mean(speeds: &[Speed]) -> Option<f64> {
    let sum: f64 = speeds.iter().map(|[speed, ..]| speed.ln()).sum();
    (!speeds.is_empty()).then(|| (sum / speeds.len() as f64).exp())
}

/// Returns a sentence on what other processes took of the CPUs during the program where that was most.
fn most_taken(entries: &[Entry]) -> String {
    let others = measured(entries).filter_map(|(_, measured)| measured.others);
    let most = others.reduce(|a, b| Others { programs: a.programs.max(b.programs), host: a.host.max(b.host) });
    most.map_or_else(String::new, |Others { programs, host }| {
        let [programs, host] = [programs, host].map(|share| 100.0 * share);
        format!(
            " While a program was measured, others took up to {programs:.0}% of the CPUs, and the host of this virtual \
             machine up to {host:.0}%."
        )
    })
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

    /// Returns a program that is twice as fast, and on one CPU as fast as stated.
    fn program(name: &str, one_cpu: Option<f64>) -> Entry {
        let toml =
            format!("name = {name:?}\npackages = []\ncommand = []\nmetric = '(.)'\nbound = {}", one_cpu.is_some());
        let machine = turnwise_present::machine::Machine { cpus: 2, cpu: Some("x".to_owned()), ..Default::default() };
        let measured = Measured {
            runs: std::collections::BTreeMap::new(),
            medians: vec![1e3, 2e3],
            spread: vec![0.1, 0.2],
            speed: [2.0, 1.5, 2.5],
            one_cpu: one_cpu.map(|speed| [speed, 0.9 * speed, 1.1 * speed]),
            recorded: one_cpu.map(|speed| [0.8 + 0.05 * speed, 0.8, 1.0]),
            beside_busy: None,
            quota: None,
            machine,
            others: Some(Others { programs: 0.014, host: 0.0 }),
        };
        Entry::new(toml::from_str(&toml).unwrap(), Outcome::Measured(Box::new(measured)))
    }

    #[test]
    fn marked_runs_have_their_columns_and_bars_over_lock_bound_programs() {
        let outcomes = [program("free", None), program("tree", Some(1.0)), program("hash", Some(4.0))];
        let mut page = String::new();
        table(&mut page, &outcomes).unwrap();
        bars(&mut page, &outcomes).unwrap();
        one_cpu(&mut page, &outcomes).unwrap();
        for line in [
            "| free |  | 1.0 k/s | 10% | 2.0 k/s | 20% | **2.00** | 1.50 to 2.50 |  |  |\n",
            "| hash | yes | 1.0 k/s | 10% | 2.0 k/s | 20% | **2.00** | 1.50 to 2.50 | 4.00 (3.60 to 4.40) | 1.00 (0.80 \
             to 1.00) |\n",
            "- met: geometric mean of the 2 lock-bound programs 2.00 (wanted: 2.0)\n",
            "- MISSED: under `turnwise profile` every lock-bound program is to keep 0.9 of its speed: tree 0.85 (0.80 \
             to 1.00)\n",
            "geometric mean of 2: 2.00.",
            "no strict upper bound",
        ] {
            assert!(page.contains(line), "no {line:?} in:\n{page}");
        }
    }

    #[test]
    fn circumstances_have_columns_and_bars_where_they_were_measured() {
        let with = |name: &str, beside: Speed, quota: Option<Speed>| {
            let mut entry = program(name, Some(1.0));
            let Outcome::Measured(measured) = &mut entry.outcome else { panic!("measured") };
            (measured.beside_busy, measured.quota) = (Some(beside), quota);
            entry
        };
        let gone = Entry { outcome: Outcome::Skipped("not here".to_owned()), ..program("gone", Some(1.0)) };
        let outcomes =
            [with("tree", [2.0, 1.9, 2.1], Some([0.9, 0.8, 0.96])), with("hash", [2.0, 1.9, 2.1], None), gone];
        let mut page = String::new();
        table(&mut page, &outcomes).unwrap();
        bars(&mut page, &outcomes).unwrap();
        for line in [
            "| one CPU | recorded | beside two busy processes | under a quota of one CPU |\n|---|---|---|---|---|---|\
             ---|---|---|---|---|---|\n",
            "(0.80 to 1.00) | 2.00 (1.90 to 2.10) | 0.90 (0.80 to 0.96) |\n",
            "| 2.00 (1.90 to 2.10) |  |\n",
            "| gone | yes | not run: not here | | | | | | | | | |\n",
            "- met: beside two busy processes, geometric mean of the 2 lock-bound programs 2.00 (wanted: 1.5)\n",
            "- met: beside two busy processes, no program is below 0.97 with confidence\n",
            "- under a quota of one CPU, geometric mean of the 1 lock-bound programs 0.90\n",
            "- MISSED: under a quota of one CPU, below 0.97 with confidence: tree 0.90 (0.80 to 0.96)\n",
        ] {
            assert!(page.contains(line), "no {line:?} in:\n{page}");
        }
        let Outcome::Measured(measured) = &outcomes[0].outcome else { panic!("measured") };
        assert!(line(measured).ends_with("; under a quota of one CPU: 0.90 (0.80 to 0.96)"), "{}", line(measured));
    }

    #[test]
    fn what_others_took_is_told_if_it_is_known() {
        let mut outcomes = [program("one", None), program("two", None)];
        assert!(
            most_taken(&outcomes)
                .ends_with(" took up to 1% of the CPUs, and the host of this virtual machine up to 0%.")
        );
        for entry in &mut outcomes {
            let Outcome::Measured(measured) = &mut entry.outcome else { panic!("measured") };
            measured.others = None;
        }
        assert_eq!(most_taken(&outcomes), "");
    }

    #[test]
    fn without_lock_bound_programs_there_is_no_word_of_one_cpu() {
        let gone = Entry { outcome: Outcome::Skipped("not here".to_owned()), ..program("gone", Some(1.0)) };
        let outcomes = [program("free", None), gone];
        let mut page = String::new();
        table(&mut page, &outcomes).unwrap();
        bars(&mut page, &outcomes[1..]).unwrap();
        assert!(!page.contains("met"), "of nothing: {page}");
        one_cpu(&mut page, &outcomes).unwrap();
        assert!(page.contains("| gone | yes | not run: not here | | | | | | | |\n"), "{page}");
        assert!(!page.contains("upper bound"), "{page}");
    }
}
