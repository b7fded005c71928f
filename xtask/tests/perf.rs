//! `cargo xtask perf` with two programs that only pretend to be `turnwise`: scripts whose speed is known.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LIST: &str = "mutex: mutexes
locks
  turnwise                   ours
scenarios (name, group)
  same                       mutex   as fast in both
  slower                     mutex   slower in the new one
  faster                     mutex   faster in the new one
  bound                      mutex   slower by less than the bound
  noisy                      mutex   slower, but nobody can tell
";

/// Nanoseconds per operation of the five scenarios.
const OLD: [f64; 5] = [100.0, 100.0, 100.0, 100.0, 100.0];
const NEW: [f64; 5] = [100.0, 130.0, 80.0, 100.4, 104.0];

/// Builds a program that answers as `turnwise-lab bench` does. Its figures vary by 0.2%, `noisy` by 40%: by the number
/// of calls, which a file next to it counts, and with another period than the order of the runs.
fn pretender(folder: &Path, name: &str, figures: [f64; 5], list: &str) -> PathBuf {
    let [same, slower, faster, bound, noisy] = figures;
    let program = folder.join(name);
    let text = format!(
        r#"#!/bin/sh
[ "$2" = --list ] && {{ cat <<'END'
{list}END
exit; }}
count=$(($(cat "$0.calls" 2>/dev/null || echo 0) + 1))
echo $count >"$0.calls"
while [ "$1" != --json ]; do shift; done
awk -v n=$count 'BEGIN {{
    split("{same} {slower} {faster} {bound} {noisy}", ns, " ")
    split("same slower faster bound noisy", names, " ")
    printf "{{\"scenarios\": ["
    for (i = 1; i <= 5; i++) {{
        share = (i == 5 ? 0.4 : 0.002) * ((n * 7 + i + length("{name}")) % 11 - 5) / 5
        printf "%s{{\"name\": \"%s\", \"locks\": [{{\"name\": \"turnwise\", \"rounds_ns\": [%f]}}]}}",
            (i > 1 ? "," : ""), names[i], ns[i] * (1 + share)
    }}
    printf "]}}"
}}' >"$2"
"#
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

struct Lab {
    folder: TempDir,
    old: PathBuf,
    new: PathBuf,
}

impl Lab {
    fn new() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] =
            [("old", OLD), ("newer", NEW)].map(|(name, figures)| pretender(folder.path(), name, figures, LIST));
        Lab { folder, old, new }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask-all"));
        command.env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
        // A killed process leaves its files.
        command.env("TMPDIR", self.folder.path());
        command.arg("perf").arg("--old-program").arg(&self.old).arg("--new-program").arg(&self.new).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }
}

#[test]
fn each_cell_gets_the_verdict_that_its_runs_allow() {
    let lab = Lab::new();
    let json = lab.folder.path().join("report.json");
    let (code, table, errors) = lab.run(&["--bench", "mutex", "--rounds", "20", "--json", json.to_str().unwrap()]);
    assert_eq!(code, Some(1), "one is worse:\n{table}{errors}");
    let line = |cell: &str| table.lines().find(|line| line.starts_with(cell)).unwrap();
    for (cell, verdict) in [
        ("mutex:same ", "cannot tell"),
        ("mutex:slower ", "WORSE"),
        ("mutex:faster ", "BETTER"),
        ("mutex:bound ", "cannot tell"),
        ("mutex:noisy ", "cannot tell"),
    ] {
        assert!(line(cell).ends_with(verdict), "{table}");
    }
    assert!(table.ends_with("1 worse, 1 better, and in 3 no difference can be seen\n"), "{table}");
    assert!(table.contains("20 pairs of 4 x 30 ms per cell") && table.contains("--bench mutex --rounds 20"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");

    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["format"], "turnwise-perf/1");
    let slower = &report["cells"][1];
    assert_eq!((&slower["cell"], &slower["verdict"]), (&"mutex:slower".into(), &"worse".into()));
    assert_eq!(slower["pairs"].as_array().map(Vec::len), Some(20));
    let ratio = slower["ratio"].as_f64().unwrap();
    assert!((ratio - 100.0 / 130.0).abs() < 0.01, "{ratio}");
}

#[test]
fn what_another_build_does_not_show_is_no_verdict() {
    let lab = Lab::new();
    // Its second build is as fast in what the first one is slower in, and slower only in what no build of the old is.
    let second = [100.0, 100.0, 80.0, 100.4, 104.0];
    let other_old = pretender(lab.folder.path(), "other-old", OLD, LIST);
    let other_new = pretender(lab.folder.path(), "other-newer", second, LIST);
    let run = |new: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask-all"));
        command.env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).arg("perf");
        command.arg("--old-program").args([&lab.old, &other_old]).arg("--new-program").arg(&lab.new).arg(new);
        command.args(["--bench", "mutex:slower", "mutex:faster", "--rounds", "12", "--builds", "2"]);
        let Output { status, stdout, .. } = command.output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap())
    };
    let (code, table) = run(&other_new);
    assert_eq!(code, Some(0), "{table}");
    assert!(table.ends_with("0 worse, 1 better, and in 1 no difference can be seen\n"), "{table}");
    assert_eq!(table.matches("\n  placed otherwise ").count(), 2, "{table}");
    let (code, table) = run(&lab.new);
    assert_eq!(code, Some(1), "slower in both builds:\n{table}");

    let (code, _, errors) = lab.run(&["--bench", "mutex", "--builds", "2"]);
    assert!(code == Some(2) && errors.contains("--old-program names 1 programs, and there are to be 2"), "{errors}");
}

#[test]
fn without_a_worse_cell_all_is_well() {
    let lab = Lab::new();
    let (code, table, _) = lab.run(&["--bench", "mutex:same", "mutex:faster", "--rounds", "12"]);
    assert_eq!(code, Some(0), "{table}");
    let (code, table, _) = lab.run(&["--bench", "mutex:slower", "--rounds", "12", "--bound", "40"]);
    assert_eq!(code, Some(0), "a difference within the bound:\n{table}");
}

#[test]
fn what_cannot_be_compared_is_named() {
    let mut lab = Lab::new();
    let said = |lab: &Lab, args: &[&str]| {
        let (code, table, errors) = lab.run(args);
        assert_eq!(code, Some(2), "{args:?}: {table}{errors}");
        table + &errors
    };
    let unknown = said(&lab, &["--bench", "mutex:slow"]);
    assert!(unknown.contains("is called `slow`") && unknown.contains("the nearest: slower"), "{unknown}");
    let few = said(&lab, &["--bench", "mutex", "--rounds", "6"]);
    assert!(few.contains("6 pairs of runs are too few for 5 cells at once: --rounds 8"), "{few}");
    assert!(said(&lab, &["--bench", "mutex", "--json", "/no/such/folder/x"]).contains("folder that exists"));

    // Scenarios that the old one does not have yet.
    let few = LIST.lines().take(5).map(|line| line.to_owned() + "\n").collect::<String>();
    lab.old = pretender(lab.folder.path(), "before", OLD, &few);
    let (code, table, _) = lab.run(&["--bench", "mutex", "--rounds", "10"]);
    assert_eq!(code, Some(0), "{table}");
    assert_eq!(table.matches("left out: mutex:").count(), 4, "{table}");
    let nothing = said(&lab, &["--bench", "mutex:slower"]);
    assert!(nothing.contains("nothing left to compare"), "{nothing}");
}

#[test]
fn a_version_that_fails_is_an_error_and_the_others_are_compared() {
    let mut lab = Lab::new();
    // A second subject, of which the new one dies.
    let list = format!("{LIST}\nspin: spin locks\nlocks\n  turnwise  ours\nscenarios (name, group)\n  same  spin\n");
    lab.old = pretender(lab.folder.path(), "old", OLD, &list);
    lab.new = pretender(lab.folder.path(), "newer", NEW, &list);
    let text = std::fs::read_to_string(&lab.new).unwrap();
    let dies = "count=0; [ \"$2\" = spin ] && { echo torn; exit 1; }\n";
    std::fs::write(&lab.new, text.replacen("count=", &(dies.to_owned() + "count="), 1)).unwrap();
    let (code, table, errors) = lab.run(&["--bench", "mutex:same", "spin", "--rounds", "10"]);
    assert_eq!(code, Some(2), "{table}{errors}");
    assert!(table.contains("FAILED: spin:same: the new one") && table.contains("fails: torn"), "{table}");
    assert!(table.contains("\nmutex:same "), "{table}");
    assert!(errors.contains("1 of the measurements failed"), "{errors}");
}

/// Returns the processes whose command line says that they are busy alongside this one.
fn busy_beside(parent: u32) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let wanted = format!("\0busy\0{parent}\0");
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).ends_with(&wanted)).count()
}

fn until(what: &str, done: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < limit, "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn busy_processes_end_with_the_run_even_if_it_is_killed() {
    let lab = Lab::new();
    let quiet = Stdio::null;
    let args = ["--bench", "mutex:same", "--beside", "2", "--rounds"];
    let mut killed = lab.command(&[&args[..], &["1000"]].concat()).stdout(quiet()).stderr(quiet()).spawn().unwrap();
    let parent = killed.id();
    until("busy processes", || busy_beside(parent) == 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    until("their end", || busy_beside(parent) == 0);

    let mut ends = lab.command(&[&args[..], &["6"]].concat()).stdout(quiet()).stderr(quiet()).spawn().unwrap();
    let parent = ends.id();
    assert_eq!(ends.wait().unwrap().code(), Some(0));
    assert_eq!(busy_beside(parent), 0);
}

#[test]
fn nobody_is_busy_beside_a_stranger() {
    let mut alone = Command::new(env!("CARGO_BIN_EXE_xtask-all"));
    alone.env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR")).args(["busy", "1"]);
    let Output { status, stderr, .. } = alone.output().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(String::from_utf8(stderr).unwrap().contains("cargo xtask perf --beside"));
}
