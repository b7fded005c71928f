//! `turnwise profile`.

use crate::common::{executable, expect, expect_complaint, scratch, shown};
use turnwise_profile::model::Profile;

fn json(path: &std::path::Path) -> Profile {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_sample_has_one_hot_lock() {
    let directory = scratch();
    let (file, recording) = (directory.path().join("p.json"), directory.path().join("recording"));
    let arguments = ["profile", "--json", shown(&file), "--recording", shown(&recording), "--"];
    let (stdout, _) = expect(0, &[&arguments[..], &["@sample", "-t", "4", "-s", "0.3"]].concat());
    let (own, report) = stdout.split_once("@sample -t 4 -s 0.3: ").expect("the report follows the program's output");
    assert!(own.contains("ops_per_second"), "{own}");
    assert!(report.contains("4 threads, libc locks") && report.contains("cache.c:"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 100), "{report}");
    let profile = json(&file);
    assert_eq!(profile.locks[0].name, "cache");
    assert!(profile.locks[0].usage.acquisitions > 1000);
    assert_eq!(profile.recording.acquisitions_unattributed, 0);
    for source in [&file, &recording] {
        let (again, _) = expect(0, &["profile", "--from", shown(source)]);
        assert_eq!(again.split_once(": ").unwrap().1, report, "from {}", source.display());
    }
}

#[test]
fn it_works_on_other_locks() {
    let directory = scratch();
    let file = directory.path().join("p.json");
    expect(0, &["profile", "--lock", "adaptive", "--json", shown(&file), "--", "@sample", "-s", "0.2"]);
    let profile = json(&file);
    assert_eq!((profile.program.policy.as_str(), profile.locks[0].name.as_str()), ("adaptive", "cache"));
}

#[test]
fn the_exit_status_is_the_programs() {
    let (stdout, _) = expect(7, &["profile", "--", "sh", "-c", "exit 7"]);
    assert!(stdout.contains("It took no pthread lock"), "{stdout}");
    assert!(stdout.contains("exit status 7"), "{stdout}");
    let (stdout, _) = expect(137, &["profile", "--", "sh", "-c", "kill -9 $$"]);
    assert!(stdout.contains("ended by signal 9"), "{stdout}");
}

#[test]
fn files_that_are_no_profiles_are_refused() {
    let directory = scratch();
    let text = directory.path().join("text");
    std::fs::write(&text, "hello").unwrap();
    expect_complaint(2, &["profile", "--from", shown(&text)], &["neither a recording", "nor a JSON profile"]);
    std::fs::write(&text, "{\"schema\": 1}").unwrap();
    expect_complaint(2, &["profile", "--from", shown(&text)], &[shown(&text)]);
    std::fs::write(&text, b"TWISErec\x01").unwrap();
    expect_complaint(2, &["profile", "--from", shown(&text)], &[shown(&text), "cut off"]);
    expect_complaint(2, &["profile", "--from", "/no/such/file"], &["/no/such/file"]);
}

#[test]
fn what_cannot_be_recorded_is_said_beforehand() {
    let directory = scratch();
    let damaged = executable(directory.path(), "damaged", b"\x7fELF\x02\x01\x01");
    expect_complaint(2, &["profile", "--", shown(&damaged)], &["damaged"]);
    expect_complaint(2, &["profile", "--json", "/no/such/dir/x", "--", "true"], &["--json"]);
}
