//! `turnwise-lab sim`: sweeps, parts of sweeps, outputs and refusals.

use crate::common::{expect, expect_complaint, expect_of, scratch, shown, turnwise};
use serde_json::Value;
use std::path::Path;

/// A sweep of six cells that takes a moment.
const SWEEP: &[&str] =
    &["sim", "--lock", "mutex,ticket", "--cpus", "1,4,12", "--duration", "100us", "--warm-up", "10us", "--seed", "5"];

/// Also runs the sweep with these flags; returns its output.
fn sweep(flags: &[&str]) -> String {
    expect(0, &[SWEEP, flags].concat()).0
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("turnwise wrote it")
}

#[test]
fn a_sweep_prints_curves_details_and_profiles() {
    let text = sweep(&[]);
    for part in [
        "Simulated: westmere-ex-80 (80 CPUs, 8 nodes)",
        "workload: tight, 100us after a warm-up of 10us, seed 5",
        "provisional: ",
        "coherence.load_modified",
        "last/peak",
        "b ticket",
        "mutex at 12 CPUs: where the CPUs' time went",
        "x-node",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let wide = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "all lines fit 100 columns");
    let words = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).map(str::to_owned);
    let repeat = words("repeat: ").expect("a command");
    assert!(repeat.contains("turnwise-lab sim --machine westmere-ex-80"), "{repeat}");
}

#[test]
fn the_report_depends_on_the_seed_and_not_on_the_jobs() {
    let directory = scratch();
    let file = |name: &str| directory.path().join(name);
    let run = |name: &str, flags: &[&str]| {
        let (json, html) = (file(&format!("{name}.json")), file(&format!("{name}.html")));
        let text = sweep(&[flags, &["--json", shown(&json), "--html", shown(&html)]].concat());
        [text, read(&json), read(&html)]
    };
    let one = run("one", &["--jobs", "1"]);
    assert_eq!(one, run("two", &["--jobs", "2"]));
    assert_eq!(one, run("again", &[]));
    let report: Value = serde_json::from_str(&one[1]).expect("JSON");
    assert_eq!(report["format"], "turnwise-sim/1");
    assert_eq!(report["cells"].as_array().map(Vec::len), Some(6));
    for cell in report["cells"].as_array().expect("cells") {
        assert!(cell["result"]["Ok"]["ops"].as_u64() > Some(0), "{cell}");
    }
    let other = expect(0, &[&SWEEP[..SWEEP.len() - 1], &["6"]].concat()).0;
    assert_ne!(one[0], other, "another seed is another run");
}

#[test]
fn the_command_in_a_report_repeats_it() {
    let directory = scratch();
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    sweep(&["--threads", "3,20", "--perturb", "stalls", "--json", shown(&first)]);
    let report: Value = serde_json::from_str(&read(&first)).expect("JSON");
    let command = report["command"].as_str().expect("a command");
    let words = shlex_words(command);
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    expect(0, &[&words, ["--json", shown(&second)].as_slice()].concat());
    assert_eq!(read(&first), read(&second), "{command}");
}

/// Returns its words: there are no quotes in it.
fn shlex_words(command: &str) -> Vec<String> {
    assert!(!command.contains(['\'', '"', '\\']), "{command}");
    command.split(' ').map(str::to_owned).collect()
}

#[test]
fn parts_merge_to_the_whole_byte_for_byte() {
    let directory = scratch();
    let file = |name: &str| directory.path().join(name);
    let (whole, merged) = (file("whole.json"), file("merged.json"));
    let (whole_page, page) = (file("whole.html"), file("merged.html"));
    let text = sweep(&["--json", shown(&whole), "--html", shown(&whole_page)]);
    let parts: Vec<_> = (1..=4).map(|k| file(&format!("part{k}.json"))).collect();
    for (k, part) in parts.iter().enumerate() {
        let printed = sweep(&["--partition", &format!("{}/4", k + 1), "--json", shown(part)]);
        assert_eq!(printed, "", "the part goes to the file alone");
    }
    let mut merge: Vec<&str> = vec!["sim", "merge"];
    merge.extend(parts.iter().rev().map(|part| shown(part)));
    let (printed, _) = expect(0, &[&merge, ["--json", shown(&merged), "--html", shown(&page)].as_slice()].concat());
    assert_eq!(printed, text);
    assert_eq!(read(&merged), read(&whole));
    assert_eq!(read(&page), read(&whole_page));
    // Without --json a part goes to standard output.
    assert_eq!(sweep(&["--partition", "2/4"]), read(&parts[1]));
    expect_complaint(2, &merge[..5], &["2 of 6 cells", "part 1/4", "part3.json"]);
    expect_complaint(2, &[&merge, [shown(&parts[0])].as_slice()].concat(), &["part1.json", "both have cell 0"]);
    let other = file("other.json");
    expect(0, &["sim", "--lock", "mcs", "--cpus", "1", "--duration", "10us", "--json", shown(&other)]);
    expect_complaint(2, &["sim", "merge", shown(&parts[0]), shown(&other)], &["other.json is of another sweep than"]);
}

#[test]
fn a_stuck_cell_is_reported_first_and_the_others_all_the_same() {
    let directory = scratch();
    let json = directory.path().join("stuck.json");
    let flags = ["--starvation", "1us", "--json", shown(&json)];
    let (text, error) = expect(3, &[SWEEP, &flags].concat());
    assert!(text.starts_with("stuck: starvation"), "{text}");
    assert!(error.contains("of 6 cells got stuck"), "{error}");
    let report: Value = serde_json::from_str(&read(&json)).expect("JSON");
    let cells = report["cells"].as_array().expect("cells");
    let (stuck, fine): (Vec<&Value>, Vec<&Value>) = cells.iter().partition(|cell| cell["result"]["Err"].is_object());
    assert!(!stuck.is_empty() && fine.len() >= 2, "{} stuck, {} fine", stuck.len(), fine.len());
    assert!(text.contains("last/peak") && text.contains("b ticket"), "{text}");
    // The replay shows the same, on the same seed.
    let replay = stuck[0]["result"]["Err"]["replay"].as_str().expect("a command");
    assert!(text.contains(&format!("replay: {replay}")), "{text}");
    let words = shlex_words(replay);
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let (again, _) = expect(3, &words);
    let who = stuck[0]["result"]["Err"]["who"].as_str().expect("who waits");
    let first = who.lines().next().expect("a line");
    assert!(!first.is_empty() && again.contains(first), "{first}\n{again}");
}

#[test]
fn a_trace_shows_the_lock_on_its_way() {
    let directory = scratch();
    let file = directory.path().join("trace.json");
    let flags = ["--cpus", "12", "--duration", "20us", "--warm-up", "0s", "--trace", shown(&file)];
    expect(0, &[["sim", "--lock", "ticket", "--workload", "tight"].as_slice(), &flags].concat());
    let trace: Value = serde_json::from_str(&read(&file)).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let mut before = 0.0;
    let mut open = std::collections::BTreeMap::<(u64, u64), i64>::new();
    for event in events.iter().filter(|event| event["ph"] != "M") {
        let time = event["ts"].as_f64().expect("a time");
        assert!(time >= before, "times rise: {event}");
        before = time;
        let track = (event["pid"].as_u64().expect("a group"), event["tid"].as_u64().expect("a track"));
        let depth = open.entry(track).or_default();
        *depth += match event["ph"].as_str() {
            Some("B") => 1,
            Some("E") => -1,
            _ => 0,
        };
        assert!(*depth >= 0, "ended before it began: {event}");
    }
    assert!(open.values().all(|&depth| depth == 0), "everything ends: {open:?}");
    let count = |ph: &str, name: &str| {
        events.iter().filter(|e| e["ph"] == ph && e["name"].as_str().is_some_and(|n| n.contains(name))).count()
    };
    assert!(count("B", "holds ticket") > 10 && count("B", "waits for ticket") > 10);
    assert!(count("s", "ticket") > 10, "the lock goes from CPU to CPU");
    assert_eq!(count("s", "ticket"), count("f", "ticket"), "every arrow has two ends");
}

#[test]
fn a_validation_needs_a_benchmark_of_mutexes() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("bench.json");
    let name = file.to_str().expect("its name is text");
    let refused = |parts: &[&str]| expect_complaint(2, &["sim", "validate", "--bench", name], parts);
    refused(&["--bench", "cannot read", "bench.json"]);
    let two = ["--machine", "desktop-4", "--machine", "osv-4"];
    let arguments = [&["sim", "validate", "--bench", name][..], &two].concat();
    expect_complaint(2, &arguments, &["--machine: 2 given for 1 by --bench: give one for each, in order"]);
    std::fs::write(&file, "{}").expect("it can be written");
    refused(&["--bench", "not a report of `turnwise-lab bench --json`"]);
    expect_complaint(
        2,
        &["sim", "validate", "--markdown", "/nowhere/page.md"],
        &["cannot write --markdown=/nowhere/page.md"],
    );
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_runs() {
    let refused = |flags: &[&str], parts: &[&str]| expect_complaint(2, &[&["sim"], flags].concat(), parts);
    refused(&["--lock", "mutx"], &["'mutx'", "similar value", "mutex"]);
    refused(&["--machine", "westmere"], &["'westmere'", "westmere-ex-80"]);
    refused(&["--machine", "./none.toml"], &["cannot read the machine file ./none.toml"]);
    refused(&["--lock", "mcs,mcs"], &["names mcs twice"]);
    refused(&["--cpus", "4-1"], &["4 is above 1"]);
    refused(&["--cpus", "1,x"], &["not a whole number", "1,2,4-8"]);
    refused(&["--cpus", "0"], &["above zero"]);
    refused(&["--cpus", "81"], &["westmere-ex-80 has 80 CPUs, not 81"]);
    refused(&["--nodes", "9"], &["has 8 nodes, not 9"]);
    refused(&["--cpus", "1", "--nodes", "1"], &["cannot be used with"]);
    refused(&["--threads", "20000"], &["at most 16384"]);
    refused(&["--duration", "20"], &["--duration", "20ms"]);
    refused(&["--duration", "0s"], &["above zero"]);
    refused(&["--workload", "thight"], &["thight"]);
    refused(&["--workload", "100/100,writers=2", "--lock", "rwsem", "--cpus", "1"], &["more than 1 threads"]);
    refused(&["--perturb", "much"], &["none, stalls, pct"]);
    refused(&["--partition", "3/2"], &["no part 3", "1/2 to 2/2"]);
    refused(&["--partition", "0/2"], &["no part 0"]);
    refused(&["--partition", "two"], &["k/n"]);
    refused(&["--seed", "9007199254740992"], &["--seed"]);
    refused(&["--trace", "x.json"], &["--trace shows one cell", "name one lock"]);
    refused(&["--json", "/no/such/directory/x.json"], &["cannot write --json"]);
    refused(&["--html", "/tmp"], &["is a directory"]);
    refused(&["--jobs", "0"], &["--jobs"]);
    refused(&["merge"], &["<FILE>"]);
    refused(&["merge", "/no/such/file"], &["cannot read /no/such/file"]);
}

#[test]
fn machine_files_are_taken_by_their_path_and_the_calibrated_one_by_here() {
    let directory = scratch();
    let (_, text) = turnwise_sim::spec::builtin().iter().find(|(name, _)| *name == "desktop-4").expect("it is there");
    let folder = directory.path().join("turnwise");
    let file = folder.join("here.toml");
    let here = || {
        let mut command = turnwise(&["sim", "--machine", "here", "--lock", "mcs", "--cpus", "4", "--duration", "10us"]);
        command.env("XDG_CONFIG_HOME", directory.path());
        command
    };
    let (_, complaint) = expect_of(2, &mut here());
    assert!(complaint.contains("here.toml") && complaint.contains("turnwise-lab calibrate"), "{complaint}");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(&file, text).expect("it can be written");
    let (report, _) = expect_of(0, &mut here());
    assert!(report.contains("Simulated: desktop-4") && report.contains("--machine here"), "{report}");
    let (report, _) =
        expect(0, &["sim", "--machine", shown(&file), "--lock", "mcs", "--cpus", "4", "--duration", "10us"]);
    assert!(report.contains("Simulated: desktop-4"), "{report}");
    std::fs::write(&file, text.replace("line_bytes", "line_bites")).expect("it can be written");
    expect_complaint(
        2,
        &["sim", "--machine", shown(&file)],
        &["here.toml cannot be used", "no such key: `line_bites`", "did you mean `line_bytes`?"],
    );
}

#[test]
fn help_and_lists_name_what_there_is() {
    let (help, _) = expect(0, &["sim", "--help"]);
    for part in ["Examples:", "--partition", "westmere-ex-80", "1,2,4-8,10-80:10", "merge", "linux-mutex-baseline"] {
        assert!(help.contains(part), "no {part} in\n{help}");
    }
    let (list, _) = expect(0, &["sim", "--list"]);
    for part in ["mesh-1024", "here", "linux-mutex-patch1-and-2", "100/4000,read=90"] {
        assert!(list.contains(part), "no {part} in\n{list}");
    }
    let (numbers, _) = expect(0, &["sim", "--machine", "westmere-ex-80", "--describe"]);
    assert!(numbers.contains("coherence.load_modified"), "{numbers}");
}

#[test]
fn another_number_of_waiting_holds_and_is_reported() {
    let with = |flags: &[&str]| {
        let flags = [&["--cpus", "12", "--lock", "mutex", "--workload", "tight"], flags].concat();
        expect(0, &[&["sim", "--duration", "200us", "--warm-up", "10us"], &flags[..]].concat()).0
    };
    let (ships, shipped, short) =
        (with(&[]), with(&["--set", "spin_ns_per_cpu=500000"]), with(&["--set", "spin_ns_per_cpu=1,still_ns=1"]));
    let figures = |text: &str| text.split_once("Operations per simulated second").expect("a table").1.to_owned();
    assert!(shipped.contains("--set spin_ns_per_cpu=500000"), "{shipped}");
    assert!(short.contains("--set spin_ns_per_cpu=1") && short.contains("--set still_ns=1"), "{short}");
    assert_eq!(figures(&ships), figures(&shipped), "what ships was set");
    assert_ne!(figures(&ships), figures(&short), "spinners give up at once");
    for subcommand in ["sim", "bench"] {
        let complaint = |value: &str, parts: &[&str]| expect_complaint(2, &[subcommand, "--set", value], parts);
        complaint("spin=1", &["waiting has no number spin", "handoff_after_ns"]);
        complaint("poll_ns=0", &["poll_ns is from 1 to 1000000"]);
        assert!(expect(0, &[subcommand, "--list"]).0.contains("\n  handoff_after_ns=4000000 "));
    }
    expect_complaint(2, &["sim", "--set", "spin_ns_per_cpu=1,spin_ns_per_cpu=2"], &["--set has spin_ns_per_cpu twice"]);
}

#[test]
fn recordings_that_cannot_be_replayed_are_refused() {
    let directory = scratch();
    let file = directory.path().join("run.tw");
    let refused = |flags: &[&str], parts: &[&str]| {
        expect_complaint(2, &[&["sim", "--record", shown(&file)], flags].concat(), parts);
    };
    refused(&[], &["--record", "run.tw", "cannot read it"]);
    std::fs::write(&file, "hello").unwrap();
    refused(&[], &["run.tw", "not a turnwise recording"]);
    refused(&["--threads", "4"], &["--record", "--threads"]);
    expect_complaint(2, &["sim", "--machine", "graviton4", "--machine", "mesh-1024"], &["a sweep has one machine"]);
    expect_complaint(2, &["sim", "--lock", "libc"], &["no lock 'libc' can be simulated"]);
    expect_complaint(2, &["sim", "--recorded-on", "graviton4"], &["--record"]);
}
