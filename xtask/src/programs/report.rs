//! The report on programs, as it is kept. Its page is `results/templates/programs.md.jinja`.

use super::run::{Measured, Speed};
use super::table::Program;
use super::{Args, Outcome};
use crate::results::record::Record;
use serde::Serialize;

/// When a field changes its meaning or is removed, the number is raised.
const FORMAT: &str = "turnwise-programs/1";

/// All results: what page and picture are made of.
#[derive(Serialize)]
pub(crate) struct Report {
    format: &'static str,
    date: String,
    commit: String,
    /// Parts of names, if not all programs were requested.
    names: Vec<String>,
    /// Runs under each policy.
    runs: u32,
    /// Options that requested more columns.
    options: Vec<String>,
    /// What was requested but is unavailable here, and why.
    left_out: Option<String>,
    pub(super) programs: Vec<Entry>,
}

/// A program, and its outcome.
#[derive(Serialize)]
pub(super) struct Entry {
    name: String,
    /// It is one of the lock-bound programs.
    bound: bool,
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
}

impl Report {
    pub(super) fn new(record: &Record, args: &Args, programs: Vec<Entry>, left_out: Option<String>) -> Report {
        let options = [("--beside-busy", args.beside_busy), ("--quota", args.quota)];
        Report {
            format: FORMAT,
            date: record.env.date.clone(),
            commit: record.env.commit.clone(),
            names: args.name.clone(),
            runs: args.runs,
            options: options.iter().filter(|(_, asked)| *asked).map(|(option, _)| (*option).to_owned()).collect(),
            left_out,
            programs,
        }
    }
}

/// Describes a program's result in a line, for the person who watches: "1.93 times as fast (1.85 to 2.01)", and how
/// fast in other circumstances.
pub(super) fn line(measured: &Measured) -> String {
    let Measured { speed: [speed, low, high], one_cpu, recorded, beside_busy, quota, .. } = measured;
    let also = [
        ("libc on one CPU", one_cpu),
        ("libc recorded", recorded),
        ("beside two busy processes", beside_busy),
        ("under a quota of one CPU", quota),
    ];
    let also = also.map(|(how, speed)| {
        let said = |[speed, low, high]: &Speed| format!("; {how}: {speed:.2} ({low:.2} to {high:.2})");
        speed.as_ref().map_or_else(String::new, said)
    });
    format!("{speed:.2} times as fast ({low:.2} to {high:.2}){}", also.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::results::Subject;
    use turnwise_present::others::Others;

    fn page(programs: Vec<Entry>) -> String {
        let [date, commit] = ["2026-11-24", "c"].map(str::to_owned);
        let (names, options, left_out) = (Vec::new(), Vec::new(), None);
        let report = Report { format: FORMAT, date, commit, names, runs: 7, options, left_out, programs };
        Subject::named("programs").unwrap().body(&serde_json::to_value(report).unwrap()).unwrap()
    }

    #[test]
    fn many_results_are_counted() {
        let test =
            |results: &str| Entry { is_test: true, outcome: Outcome::Passed(results.to_owned()), ..program("t", None) };
        let page = page(vec![test("ok 1, ok 2, ok 3, ok 4"), test("a, b, c, d, e")]);
        assert!(
            page.ends_with("| t | pass: ok 1, ok 2, ok 3, ok 4 |\n| t | pass: a, b, c, … (5 results) |\n"),
            "{page}"
        );
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
        let page = page(outcomes.into());
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
        let tree = with("tree", [2.0, 1.9, 2.1], Some([0.9, 0.8, 0.96]));
        let Outcome::Measured(measured) = &tree.outcome else { panic!("measured") };
        assert!(line(measured).ends_with("; under a quota of one CPU: 0.90 (0.80 to 0.96)"), "{}", line(measured));
        let page = page(vec![tree, with("hash", [2.0, 1.9, 2.1], None), gone]);
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
    }

    #[test]
    fn what_others_took_is_reported_if_it_is_known() {
        let known = page(vec![program("one", None), program("two", None)]);
        assert!(
            known.contains(" took up to 1% of the CPUs, and the host of this virtual machine up to 0%.\n"),
            "{known}"
        );
        let mut unknown = program("one", None);
        let Outcome::Measured(measured) = &mut unknown.outcome else { panic!("measured") };
        measured.others = None;
        assert!(!page(vec![unknown]).contains("took up to"));
    }

    #[test]
    fn without_lock_bound_programs_there_is_no_word_of_one_cpu() {
        let gone = Entry { outcome: Outcome::Skipped("not here".to_owned()), ..program("gone", Some(1.0)) };
        let page = page(vec![program("free", None), gone]);
        assert!(page.contains("| gone | yes | not run: not here | | | | | | | |\n"), "{page}");
        assert!(!page.contains("upper bound") && !page.contains("lock-bound programs "), "{page}");
    }
}
