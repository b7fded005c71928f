//! `turnwise-lab aim7`: on metal, simulated, and what it refuses.

use crate::common::{expect, expect_complaint, scratch, shown};
use serde_json::Value;

/// A run on metal that takes a moment.
const METAL: &[&str] = &["aim7", "--workfile", "alltests", "--users", "2,4", "--scale", "50", "--compute", "10us"];

/// The same in the simulator.
const SIMULATED: &[&str] = &[
    "aim7",
    "-w",
    "fserver",
    "-u",
    "12",
    "--machine",
    "desktop-4",
    "--warm-up",
    "500us",
    "--duration",
    "2ms",
    "--compute",
    "200us",
    "--journal",
    "50",
    "--directories",
    "4",
    "--file-systems",
    "2",
];

#[test]
fn users_run_on_this_machine() {
    let folder = scratch();
    let file = folder.path().join("aim7.json");
    let json = shown(&file);
    let (text, _) = expect(0, &[METAL, &["--locks", "linux-3.10,today", "--json", json]].concat());
    for part in ["AIM7 alltests on this machine: 98 jobs a user", "linux-3.10", "today", "JPM", "JTI", "voluntary"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&file).expect("written")).expect("JSON");
    assert_eq!(report["format"], "turnwise-aim7/1");
    assert_eq!(report["jobs_per_user"], 98);
    let series = report["series"].as_array().expect("a series for each set");
    assert_eq!(series.len(), 2);
    for of in series {
        let users: Vec<u64> =
            of["outcomes"].as_array().expect("runs").iter().map(|o| o["users"].as_u64().expect("N")).collect();
        assert_eq!(users, [2, 4]);
        assert_eq!(of["outcomes"][1]["jobs"], 4 * 98);
        assert!(of["outcomes"][1]["jpm"].as_f64().expect("JPM") > 0.0);
        assert!(of["outcomes"][1]["jti"].as_f64().expect("JTI") <= 100.0);
    }
}

#[test]
fn a_simulated_run_has_a_profile_and_repeats() {
    let run = || expect(0, SIMULATED).0;
    let text = run();
    for part in [
        "AIM7 fserver on desktop-4, simulated (1 of 1 nodes)",
        "each a 50th of AIM7's with 0.20 ms of computing",
        "4 directories on 2 file systems, a journal with a commit after 50 handles; a window of 2 ms, seed 1",
        "today, 12 users: where the CPUs' time went",
        "Child::compute",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert_eq!(text, run());
    let whole = ["aim7", "-w", "short", "-u", "3", "--machine", "desktop-4", "--whole", "--compute", "100us"];
    let (text, _) = expect(0, &whole);
    assert!(text.contains("whole runs"), "{text}");
}

#[test]
fn lists_name_workfiles_jobs_and_locks() {
    let (text, _) = expect(0, &["aim7", "--list"]);
    for part in ["new_fserver        98 jobs a user", "linux-3.7-patch-2", "sync_disk_update"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn a_users_own_workfile_is_read_and_its_errors_have_places() {
    let folder = scratch();
    let file = folder.path().join("mine");
    std::fs::write(&file, "# mine\nFILESIZE: 4K\n3 disk_cp\n1 fork_test\n").expect("it can be written");
    let path = shown(&file);
    let (text, _) = expect(0, &["aim7", "-w", path, "-u", "2", "--scale", "20", "--compute", "10us"]);
    assert!(text.contains("100 jobs a user"), "{text}");
    std::fs::write(&file, "3 disk_cp\n1 frok_test\n").expect("it can be written");
    expect_complaint(2, &["aim7", "-w", path], &["mine:2:3: no job `frok_test`: did you mean `fork_test`?"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    expect_complaint(2, &["aim7"], &["--workfile is missing"]);
    expect_complaint(2, &["aim7", "-w", "fservr"], &["no such workfile. Did you mean fserver?"]);
    expect_complaint(2, &["aim7", "-w", "short", "-u", "9..3"], &["9 is above 3"]);
    expect_complaint(2, &["aim7", "-w", "short", "--locks", "linux-3.9"], &["linux-3.7"]);
    expect_complaint(2, &["aim7", "-w", "short", "--nodes", "2"], &["--machine"]);
    expect_complaint(2, &["aim7", "-w", "short", "--duration", "1ms"], &["--machine"]);
    expect_complaint(2, &["aim7", "-w", "short", "--machine", "desktop-4", "--nodes", "2"], &["desktop-4 has 1 nodes"]);
    expect_complaint(2, &["aim7", "-w", "short", "--journal", "0"], &["expected off or a number"]);
    expect_complaint(2, &["aim7", "-w", "short", "--json", "/no/such/place.json"], &["cannot write --json"]);
    expect_complaint(2, &["aim7", "-w", "short", "--compute", "5s"], &["more than 4 s"]);
}
