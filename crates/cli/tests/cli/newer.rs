//! Files of a turnwise that is newer than this one, as far as this one can imitate them: they are read, or reported as
//! newer, with the file's number and ours.

use crate::common::{expect, expect_complaint, expect_of, output, scratch, shown, text};
use crate::top::{LONG, Running};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The offset of each kind's format number: after the eight bytes that identify the kind. That is permanent.
const NUMBER_AT: u64 = 8;

/// Adds one to the number of the file's format; returns the expected message.
fn raise(file: &Path) -> [String; 2] {
    let open = File::options().read(true).write(true).open(file).unwrap();
    let mut number = [0; 4];
    open.read_exact_at(&mut number, NUMBER_AT).unwrap();
    let number = u32::from_ne_bytes(number);
    open.write_all_at(&(number + 1).to_ne_bytes(), NUMBER_AT).unwrap();
    [format!("layout {},", number + 1), format!("this turnwise reads layout {number};")]
}

#[test]
fn a_newer_recording_is_refused_with_its_number_whatever_follows() {
    let directory = scratch();
    let file = directory.path().join("recording");
    expect(0, &["profile", "--recording", shown(&file), "--", "@sample", "-t", "2", "-s", "0.1"]);
    let [theirs, ours] = raise(&file);
    let parts = [shown(&file), &theirs, &ours, "read it with the one that made it"];
    expect_complaint(2, &["profile", "--from", shown(&file)], &parts);
    // The layout is up to the newer version: a shorter file is not called damaged.
    File::options().write(true).open(&file).unwrap().set_len(4096).unwrap();
    expect_complaint(2, &["profile", "--from", shown(&file)], &parts);
}

#[test]
fn a_profile_with_new_keys_is_read_and_one_of_a_newer_schema_refused() {
    let directory = scratch();
    let file = directory.path().join("p.json");
    expect(0, &["profile", "--json", shown(&file), "--", "@sample", "-t", "2", "-s", "2"]);
    let (report, _) = expect(0, &["profile", "--from", shown(&file)]);
    let mut profile: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    profile["made_up"] = serde_json::json!({ "of": 1 });
    profile["program"]["made_up"] = true.into();
    profile["locks"][0]["made_up"] = 7.into();
    std::fs::write(&file, profile.to_string()).unwrap();
    assert_eq!(expect(0, &["profile", "--from", shown(&file)]).0, report);
    let schema = profile["schema"].as_u64().unwrap();
    let newer = serde_json::json!({ "schema": schema + 1, "made_up": [] });
    std::fs::write(&file, newer.to_string()).unwrap();
    let (theirs, ours) = (format!("schema {}", schema + 1), format!("schema {schema}"));
    expect_complaint(2, &["profile", "--from", shown(&file)], &[shown(&file), &theirs, &ours, "newer turnwise"]);
}

#[test]
fn a_newer_live_view_is_refused_with_its_number_by_each_command() {
    let running = Running::sample();
    running.contended();
    let folder = running.folder.path().join("turnwise");
    let views = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pid = running.pid();
    let is_its = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().starts_with(&format!("{pid}-"));
    let file = views.filter(|file| file.extension().is_some_and(|end| end == "live")).find(is_its).unwrap();
    let [theirs, ours] = raise(&file);
    let commands: [&[&str]; 5] = [
        &["top", "--once", &pid],
        &["top", "--once", "--json"],
        &["why", &pid],
        &["tune", &pid, "--undo"],
        &["profile", "--pid", &pid, "--for", "1s"],
    ];
    for command in commands {
        // Without a named program, those of others are shown, as long as there are some.
        let begun = Instant::now();
        let found = loop {
            let found = output(&mut running.turnwise(command));
            if !found.status.success() {
                break found;
            }
            assert!(!command.contains(&pid.as_str()) && begun.elapsed() < LONG, "{command:?} shows something");
        };
        let said = text(&found.stderr);
        assert_eq!(found.status.code(), Some(2), "{command:?}: {said}");
        for part in [shown(&file), &theirs, &ours, "use the one that runs the program"] {
            assert!(said.contains(part), "{command:?}: no {part:?} in:\n{said}");
        }
    }
    let (line, _) = expect_of(0, &mut running.turnwise(&["status", "--json", &pid]));
    let status: Value = serde_json::from_str(&line).unwrap();
    let note = status["processes"][0]["live_view_note"].as_str().unwrap();
    assert!(note.contains(&theirs) && status["processes"][0]["policy"] == "adaptive", "{line}");
}

#[test]
fn a_policy_file_with_a_newer_key_or_lock_is_refused_with_the_place() {
    let directory = scratch();
    let file = directory.path().join("newer.toml");
    let rule = "[[rule]]\nsymbol = \"cache\"\nlock = \"queued\"\nmade-up = 3\n";
    std::fs::write(&file, rule).unwrap();
    for command in [&["policy", "check", shown(&file)][..], &["run", "--policy", shown(&file), "--", "true"]] {
        expect_complaint(2, command, &["newer.toml:4:1", "no such key: `made-up`", "known here", "`lock`"]);
    }
    std::fs::write(&file, "default = \"made-up\"\n").unwrap();
    expect_complaint(2, &["policy", "check", shown(&file)], &["newer.toml:1:11", "no such lock", "`adaptive`"]);
}
