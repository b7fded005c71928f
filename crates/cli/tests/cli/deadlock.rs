//! `turnwise profile` of threads that wait for each other: that is its first statement, in every form, and no other
//! lock is proposed.

use crate::common::{expect_of, scratch, shown, turnwise};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn build(directory: &Path) -> PathBuf {
    let program = directory.join("deadlock");
    let mut compiler = Command::new("cc");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/deadlock.c");
    compiler.args(["-O1", "-g", "-pthread", source, "-o"]).arg(&program);
    assert!(compiler.status().unwrap().success());
    program
}

/// Checks that a report's first line, and its first finding, are the deadlock.
#[track_caller]
fn is_reported(report: &str, summary: &str) {
    let first = report.lines().next().unwrap_or_default();
    assert!(first.starts_with(&format!("DEADLOCK: {summary}")), "{report}");
    let advice = report.split("\nADVICE\n").nth(1).expect("there is advice");
    assert!(advice.contains(&format!("\n1. Deadlock: {summary}")), "{report}");
    assert!(!advice.contains("try: the policy"), "{report}");
}

#[test]
fn a_deadlock_comes_first_in_text_page_and_json() {
    let directory = scratch();
    let program = build(directory.path());
    for (mode, summary) in [
        ("pair", "2 threads wait for each other"),
        ("circle", "3 threads wait for one another in a circle"),
        ("own", "a thread waits for a lock that it has itself"),
        ("writers", "2 threads wait for each other"),
        ("readers", "all 2 threads that take locks wait for one"),
    ] {
        let (json, page) = (directory.path().join("p.json"), directory.path().join("p.html"));
        let mut command = turnwise(&["profile", "--json", shown(&json), "--html", shown(&page), "--"]);
        let (report, _) = expect_of(130, command.args([shown(&program), mode]));
        is_reported(report.strip_prefix("stuck\n").expect("it got stuck"), summary);
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        assert!(json["headlines"][0].as_str().unwrap().starts_with("DEADLOCK: "), "{mode}: {}", json["headlines"]);
        let finding = &json["advice"]["findings"][0];
        assert_eq!(
            (&finding["rule"], &finding["experiment"]),
            (&"deadlock".into(), &serde_json::Value::Null),
            "{mode}"
        );
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(&format!("\"deadlock\":\"{summary}")), "{mode}");
    }
}

/// Starts the program, and waits until it is stuck.
fn stuck(command: &mut Command, mode: &str) -> Child {
    let mut child = command.args([mode, "stay"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    child
}

#[test]
fn of_a_running_process_too() {
    let directory = scratch();
    let program = build(directory.path());
    for mode in ["pair", "own"] {
        let mut inside = turnwise(&["run", "--", shown(&program)]);
        for command in [inside.env("XDG_RUNTIME_DIR", directory.path()), &mut Command::new(&program)] {
            let mut child = stuck(command, mode);
            let mut profile = turnwise(&["profile", "--pid", &child.id().to_string(), "--for", "100ms"]);
            let output = profile.env("XDG_RUNTIME_DIR", directory.path()).output().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            let [report, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            if output.status.code() == Some(2) && (stderr.contains("as root") || stderr.contains("tracefs")) {
                eprintln!("skipped: {stderr}");
                continue;
            }
            let summary = if mode == "own" { "a thread waits for a lock" } else { "2 threads wait for each other" };
            is_reported(&report, summary);
        }
    }
}
