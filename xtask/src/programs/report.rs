//! The page `docs/results/programs.md`.

use super::run::{Measured, Speed};
use super::table::Program;
use super::{Args, Outcome, POLICIES};
use crate::command::json;
use crate::perf::stats;
use crate::results::record::{self, Record};
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;
use turnwise_present::others::Others;

/// When a field changes its meaning or is removed, the number is raised.
const FORMAT: &str = "turnwise-programs/1";
/// The number of the pictures' colours.
const MACHINES: usize = 2;

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
            date: record.env.date.clone(),
            commit: record.env.commit.clone(),
            names: args.name.clone(),
            runs: args.runs,
            options: options.iter().filter(|(_, asked)| *asked).map(|(option, _)| (*option).to_owned()).collect(),
            left_out,
            programs,
        }
    }

    /// Reads one that `cargo xtask programs` kept.
    pub(super) fn read(file: &Path) -> Result<Report> {
        let report: Report = json(file, "`cargo xtask programs`")?;
        ensure!(report.format == FORMAT, "{}: its format is {}, not {FORMAT}", file.display(), report.format);
        Ok(report)
    }

    /// Returns the newest report of each machine in `runs`, at most as many as pictures have colours: `first` first.
    pub(super) fn newest(runs: &Path, first: Option<&Path>) -> Result<Vec<Report>> {
        let folders = record::newest_of_each(runs, "programs.json", first)?;
        folders.iter().take(MACHINES).map(|folder| Report::read(&folder.join("programs.json"))).collect()
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
    /// Returns the whole page.
    pub(super) fn page(&self) -> String {
        let Report { date, commit, programs: entries, runs, .. } = self;
        let mut page = format!(
            "# Programs that nobody rebuilt\n\nWritten by `{}` on {date}, commit {commit}; do not edit. The programs, \
             their commands and figures are in `xtask/programs/programs.toml`.\n\n",
            self.command()
        );
        if let Some(machine) = measured(entries).map(|(_, measured)| &measured.machine).next() {
            page += &format!("Machine: {machine}.{}\n\n", most_taken(entries));
        }
        if let Some(why) = &self.left_out {
            page += &format!("{}.\n\n", why.trim_end_matches('.'));
        }
        if entries.iter().any(|entry| !entry.is_test) {
            let [before, ours] = POLICIES;
            page += &format!(
                "Under `{before}` and `{ours}` each program exits with status 0 and prints the same results before it \
                 is measured. Speed: under `{ours}` against `{before}`, above 1 is faster, with its 95% bootstrap \
                 confidence interval; {runs} runs each, interleaved. Spread: the middle half of the runs as a share of \
                 the median.\n\n"
            );
            page += &(table(entries) + &bars(entries) + &one_cpu(entries));
        }
        page + &self_tests(entries)
    }
}

fn measured(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Measured)> {
    entries.iter().filter_map(|entry| Some((entry, entry.measured()?)))
}

/// Returns text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace(['\n', '|'], " ")
}

fn table(entries: &[Entry]) -> String {
    let [before, ours] = POLICIES;
    let columns = columns(entries);
    let names: String = columns.iter().map(|column| format!(" {} |", column.name)).collect();
    let mut table = format!(
        "| program | lock-bound | {before} | spread | {ours} | spread | speed | 95% | one CPU | recorded |{names}\n\
         |---|---|---|---|---|---|---|---|---|---|{}\n",
        "---|".repeat(columns.len())
    );
    let empty = " |".repeat(7 + columns.len());
    for program in entries.iter().filter(|entry| !entry.is_test) {
        let cells = match &program.outcome {
            Outcome::Measured(m) => {
                let [speed, low, high] = m.speed;
                let shown = |n: usize| format!("{} | {:.0}%", figure(m.medians[n], program.lower), m.spread[n] * 100.0);
                let also: String = columns.iter().map(|column| format!(" {} |", interval((column.get)(m)))).collect();
                let (one_cpu, recorded) = (interval(m.one_cpu), interval(m.recorded));
                let (before, ours) = (shown(0), shown(1));
                format!("{before} | {ours} | **{speed:.2}** | {low:.2} to {high:.2} | {one_cpu} | {recorded} |{also}")
            }
            Outcome::Passed(_) => continue,
            Outcome::Skipped(why) => format!("not run: {why} |{empty}"),
            Outcome::Failed(why) => format!("FAILED: {} |{empty}", cell(why)),
        };
        table += &format!("| {} | {} | {cells}\n", program.name, if program.bound { "yes" } else { "" });
    }
    table
}

/// Programs that test themselves: not measured.
fn self_tests(entries: &[Entry]) -> String {
    let row = |program: &Entry| {
        let what = match &program.outcome {
            Outcome::Measured(_) => return String::new(),
            Outcome::Passed(results) => format!("pass: {}", shortened(results)),
            Outcome::Skipped(why) => format!("not run: {why}"),
            Outcome::Failed(why) => format!("FAILED: {why}"),
        };
        format!("| {} | {} |\n", program.name, cell(&what))
    };
    let rows: Vec<String> = entries.iter().filter(|entry| entry.is_test).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let [before, ours] = POLICIES;
    format!(
        "\n## Their own tests\n\nAs Debian packages them, once under each policy: they pass, and print the same \
         results.\n\n| tests | under `{before}` and `{ours}` |\n|---|---|\n{}",
        rows.concat()
    )
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

/// Returns the line of a bar: met, unless there are some below it.
fn bar(met: &str, missed: &str, below: &[String]) -> String {
    if below.is_empty() { format!("- met: {met}\n") } else { format!("- MISSED: {missed}: {}\n", below.join(", ")) }
}

/// Returns the line of the geometric mean of the lock-bound programs, if there are any, with its bar.
fn mean_of_bound(circumstance: &str, bound: &[Speed], wanted: Option<f64>) -> String {
    let Some(mean) = geometric_mean(bound) else { return String::new() };
    let said = format!("{circumstance}geometric mean of the {} lock-bound programs {mean:.2}", bound.len());
    match wanted {
        Some(bar) => format!("- {}: {said} (wanted: {bar:.1})\n", if mean >= bar { "met" } else { "MISSED" }),
        None => format!("- {said}\n"),
    }
}

fn bars(entries: &[Entry]) -> String {
    let all = || measured(entries);
    if all().next().is_none() {
        return String::new();
    }
    let bound: Vec<_> = all().filter(|(p, _)| p.bound).map(|(_, m)| m.speed).collect();
    let mut bars = mean_of_bound("", &bound, Some(BOUND_MEAN));
    if !bars.is_empty() {
        bars.insert(0, '\n');
    }
    let slower = all().filter(|(_, m)| m.speed[2] < NEVER_BELOW);
    let slower: Vec<_> = slower.map(|(p, m)| format!("{} ({})", p.name, speed(m))).collect();
    let (met, missed) = (format!("no program is below {NEVER_BELOW}"), format!("below {NEVER_BELOW}"));
    let of = "of the C library's speed with confidence";
    bars += &bar(&format!("{met} {of}"), &format!("{missed} {of}"), &slower);
    let named = |entry: &Entry, speed: Speed| format!("{} {}", entry.name, interval(Some(speed)));
    for Column { name, get, bound_mean } in columns(entries) {
        let here: Vec<_> = all().filter_map(|(entry, m)| Some((entry, get(m)?))).collect();
        let bound: Vec<Speed> = here.iter().filter(|(entry, _)| entry.bound).map(|(_, speed)| *speed).collect();
        bars += &mean_of_bound(&format!("{name}, "), &bound, *bound_mean);
        let slower = here.iter().filter(|(_, speed)| speed[2] < NEVER_BELOW);
        let slower: Vec<_> = slower.map(|(entry, speed)| named(entry, *speed)).collect();
        let with = "with confidence";
        bars += &bar(&format!("{name}, {met} {with}"), &format!("{name}, {missed} {with}"), &slower);
    }
    // What `turnwise profile` costs those that are bound by locks.
    let recorded: Vec<_> = all().filter_map(|(entry, m)| Some((entry, m.recorded?))).collect();
    if !recorded.is_empty() {
        let slower = recorded.iter().filter(|(_, [speed, ..])| *speed < RECORDED);
        let slower: Vec<_> = slower.map(|(entry, speed)| named(entry, *speed)).collect();
        let every = "under `turnwise profile` every lock-bound program";
        let of = format!("{RECORDED} of its speed");
        bars += &bar(&format!("{every} keeps {of}"), &format!("{every} is to keep {of}"), &slower);
    }
    bars
}

/// Renders what there is to be gained from removing contention.
fn one_cpu(entries: &[Entry]) -> String {
    let speeds: Vec<_> = measured(entries).filter_map(|(_, m)| m.one_cpu).collect();
    let Some(mean) = geometric_mean(&speeds) else { return String::new() };
    format!(
        "\nOne CPU: the lock-bound programs under `{}` once more in each round, held to a single CPU, against the same \
         on all CPUs, with its 95% interval; geometric mean of {}: {mean:.2}. There no thread waits for a lock whose \
         owner runs, no data move between caches, and nothing runs side by side. So it tells about how much there is \
         to be gained from taking contention away. It is no strict upper bound: work outside of the locks can run side \
         by side, and a lock can be cheaper to take than the C library's.\n",
        POLICIES[0],
        speeds.len()
    )
}

/// Returns the geometric mean of the estimates; `None` of nothing.
pub(super) fn geometric_mean(speeds: &[Speed]) -> Option<f64> {
    stats::geometric_mean(speeds.iter().map(|[speed, ..]| *speed))
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
        let page = table(&outcomes) + &bars(&outcomes) + &one_cpu(&outcomes);
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
        let page = table(&outcomes) + &bars(&outcomes);
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
    fn what_others_took_is_reported_if_it_is_known() {
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
        assert_eq!(bars(&outcomes[1..]), "", "of nothing");
        let page = table(&outcomes) + &one_cpu(&outcomes);
        assert!(page.contains("| gone | yes | not run: not here | | | | | | | |\n"), "{page}");
        assert!(!page.contains("upper bound"), "{page}");
    }
}
