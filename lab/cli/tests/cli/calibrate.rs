//! `turnwise-lab calibrate`: a real run, and what it refuses. Nothing here depends on how fast the machine is.

use crate::common::{expect_complaint, expect_of, scratch, shown, turnwise};
use serde_json::Value;

/// Returns the number of a key: the first, whatever it holds for.
fn number(report: &Value, key: &str) -> Option<f64> {
    let figures = report["figures"].as_array().expect("figures are a list");
    figures.iter().find(|figure| figure["key"] == key)?["value"].as_f64()
}

#[test]
fn a_quick_run_measures_plausible_numbers_and_writes_a_machine() {
    // Next to other programs one of the two CPUs may be away in most of a measurement.
    assert!((0..5).any(|_| a_quick_run_is_plausible()), "near is dearer than far");
}

fn a_quick_run_is_plausible() -> bool {
    let directory = scratch();
    let mut command = turnwise(&["calibrate", "--quick", "--json", "-"]);
    let (json, _) = expect_of(0, command.env("XDG_CONFIG_HOME", directory.path()));
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["format"], "turnwise-calibrate/1");
    let figures = report["figures"].as_array().expect("figures are a list");
    assert!(figures.iter().all(|f| f["value"].as_f64().is_some_and(|v| v > 0.0 && v < 1e12)), "{json}");
    let measured = figures.iter().filter(|f| f["spread"].is_object()).count();
    let marked = figures.iter().filter(|f| f["spread"].is_null() && f["provisional"] == true).count();
    assert_eq!(measured + marked, figures.len(), "neither measured nor marked: {json}");
    assert!(measured > 8, "{json}");
    let cpus = report["grid"]["cpus"].as_array().expect("CPUs are a list");
    let cores: std::collections::BTreeSet<_> = cpus.iter().map(|cpu| cpu["core"].as_u64()).collect();
    let value = |key| number(&report, key).unwrap_or_else(|| panic!("no {key} in {json}"));
    let mut plausible = value("system.syscall") > value("cpu.load_hit");
    plausible &= value("coherence.memory") > value("cpu.load_hit");
    // The host of a virtual machine may run both of its CPUs as threads of one core, whose cache they share.
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").expect("the kernel describes the CPUs");
    let is_virtual = cpuinfo.split_whitespace().any(|flag| flag == "hypervisor");
    let least = if is_virtual { 0.8 } else { 1.0 };
    if cores.len() > 1 {
        let far = |key: &str| {
            let figure = figures.iter().rfind(|f| f["key"] == key).expect("a distance");
            figure["value"].as_f64().expect("a number")
        };
        plausible &= far("coherence.rmw_modified") > least * value("cpu.rmw_hit");
        plausible &= far("coherence.load_modified") > least * value("cpu.load_hit");
    }
    println!("{json}");
    let file = std::fs::read_to_string(directory.path().join("turnwise/here.toml")).expect("the file is there");
    assert!(file.contains("name = \"here\"") && file.contains("[coherence]"), "{file}");
    plausible
}

#[test]
fn one_cpu_is_enough_and_what_it_cannot_tell_is_marked() {
    let directory = scratch();
    let file = directory.path().join("one.toml");
    let mut command = std::process::Command::new("taskset");
    command.args(["-c", &first_allowed_cpu(), crate::PROGRAM, "calibrate", "--quick", "--output"]);
    let (text, _) = expect_of(0, command.arg(&file));
    assert!(text.contains("CPUs: 1;") && text.contains("needs a second CPU"), "{text}");
    let file = std::fs::read_to_string(file).expect("the file is there");
    let table = file.lines().find(|line| line.starts_with("rmw_modified")).expect("a table");
    assert!(table.contains("provisional = true"), "{table}");
}

/// Returns the number of a CPU that this process may use: CPU 0 may belong to another process.
fn first_allowed_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux says it");
    list.trim().chars().take_while(char::is_ascii_digit).collect()
}

#[test]
fn places_that_cannot_be_written_are_found_out_first() {
    let args = ["calibrate", "--output", "/no/such/directory/x.toml"];
    expect_complaint(2, &args, &["/no/such/directory/x.toml", "may write"]);
    let directory = scratch();
    let blocked = directory.path().join("file");
    std::fs::write(&blocked, "").expect("a file");
    let mut command = turnwise(&["calibrate"]);
    let (_, complaint) = expect_of(2, command.env("XDG_CONFIG_HOME", &blocked));
    assert!(complaint.contains(shown(&blocked)) && complaint.contains("--output"), "{complaint}");
    let mut command = turnwise(&["calibrate"]);
    let (_, complaint) = expect_of(2, command.env_remove("XDG_CONFIG_HOME").env_remove("HOME"));
    assert!(complaint.contains("HOME") && complaint.contains("--output"), "{complaint}");
}
