//! The report on programs, as it is kept. Its page is `results/templates/programs.md.jinja`.

use super::Args;
use super::table::Program;
use crate::command::undone;
use crate::results::each;
use serde_json::{Value, json};

/// Returns all results: what page and picture are made of.
pub(super) fn report(env: &Value, args: &Args, programs: Vec<Value>, left_out: Option<&str>) -> Value {
    let options = [("--beside-busy", args.beside_busy), ("--quota", args.quota)];
    let options: Vec<&str> = options.iter().filter(|(_, asked)| *asked).map(|(option, _)| *option).collect();
    json!({
        // When a field changes its meaning or is removed, the number is raised.
        "format": "turnwise-programs/1",
        "date": env["date"],
        "commit": env["commit"],
        // Parts of names, if not all programs were requested.
        "names": args.name,
        // Under each policy.
        "runs": args.runs,
        // That requested more columns.
        "options": options,
        // What was requested but is unavailable here, and why.
        "left_out": left_out,
        "programs": programs,
    })
}

/// Returns a program, and its outcome: `measured`, `passed` with what a test of itself printed under all policies,
/// `skipped` or `failed`.
pub(super) fn entry(program: &Program, outcome: Value) -> Value {
    let Program { name, bound, lower, metric, .. } = program;
    json!({ "name": name, "bound": bound, "lower": lower, "is_test": metric.is_none(), "outcome": outcome })
}

/// Describes a program's outcome in a line, for the person who watches: "1.93 times as fast (1.85 to 2.01)", and how
/// fast in other circumstances.
pub(super) fn line(outcome: &Value) -> String {
    let measured = &outcome["measured"];
    let said = |before: &str, key: &str, between: &str| {
        let speed: Vec<f64> = each(&measured[key]).iter().filter_map(Value::as_f64).collect();
        let [speed, low, high] = speed[..] else { return String::new() };
        format!("{before}{speed:.2}{between} ({low:.2} to {high:.2})")
    };
    let said = [
        said("", "speed", " times as fast"),
        said("; libc on one CPU: ", "one_cpu", ""),
        said("; libc recorded: ", "recorded", ""),
        said("; beside two busy processes: ", "beside_busy", ""),
        said("; under a quota of one CPU: ", "quota", ""),
    ];
    let line = undone(outcome).unwrap_or_else(|| said.concat());
    if line.is_empty() { "passed".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::results::Subject;

    fn page(programs: Vec<Value>) -> String {
        let report = json!({ "format": "turnwise-programs/1", "date": "2026-11-24", "commit": "c", "names": [],
            "runs": 7, "options": [], "left_out": null, "programs": programs });
        Subject::named("programs").unwrap().body(&report).unwrap()
    }

    #[test]
    fn many_results_are_counted() {
        let test = |results: &str| {
            let toml = "name = 't'\npackages = []\ncommand = []";
            entry(&toml::from_str(toml).unwrap(), json!({ "passed": results }))
        };
        let page = page(vec![test("ok 1, ok 2, ok 3, ok 4"), test("a, b, c, d, e")]);
        assert!(
            page.ends_with("| t | pass: ok 1, ok 2, ok 3, ok 4 |\n| t | pass: a, b, c, … (5 results) |\n"),
            "{page}"
        );
    }

    /// Returns a program that is twice as fast, and on one CPU as fast as stated.
    fn program(name: &str, one_cpu: Option<f64>) -> Value {
        let toml =
            format!("name = {name:?}\npackages = []\ncommand = []\nmetric = '(.)'\nbound = {}", one_cpu.is_some());
        let measured = json!({
            "runs": {},
            "medians": [1e3, 2e3],
            "spread": [0.1, 0.2],
            "speed": [2.0, 1.5, 2.5],
            "one_cpu": one_cpu.map(|speed| [speed, 0.9 * speed, 1.1 * speed]),
            "recorded": one_cpu.map(|speed| [0.8 + 0.05 * speed, 0.8, 1.0]),
            "machine": { "cpus": 2, "cpu": "x" },
            "others": { "programs": 0.014, "host": 0.0 },
        });
        entry(&toml::from_str(&toml).unwrap(), json!({ "measured": measured }))
    }

    fn gone() -> Value {
        let mut gone = program("gone", Some(1.0));
        gone["outcome"] = json!({ "skipped": "not here" });
        gone
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
        let with = |name: &str, beside: [f64; 3], quota: Option<[f64; 3]>| {
            let mut entry = program(name, Some(1.0));
            let measured = &mut entry["outcome"]["measured"];
            (measured["beside_busy"], measured["quota"]) = (json!(beside), json!(quota));
            entry
        };
        let tree = with("tree", [2.0, 1.9, 2.1], Some([0.9, 0.8, 0.96]));
        let said = line(&tree["outcome"]);
        assert!(said.starts_with("2.00 times as fast (1.50 to 2.50); libc on one CPU: 1.00 (0.90 to 1.10)"), "{said}");
        assert!(said.ends_with("; under a quota of one CPU: 0.90 (0.80 to 0.96)"), "{said}");
        assert_eq!(line(&gone()["outcome"]), "SKIPPED: not here");
        let page = page(vec![tree, with("hash", [2.0, 1.9, 2.1], None), gone()]);
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
        unknown["outcome"]["measured"]["others"] = Value::Null;
        assert!(!page(vec![unknown]).contains("took up to"));
    }

    #[test]
    fn without_lock_bound_programs_there_is_no_word_of_one_cpu() {
        let page = page(vec![program("free", None), gone()]);
        assert!(page.contains("| gone | yes | not run: not here | | | | | | | |\n"), "{page}");
        assert!(!page.contains("upper bound") && !page.contains("lock-bound programs "), "{page}");
    }
}
