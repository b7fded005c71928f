//! `turnwise check`: what it finds in one run, what it accepts, and its exit status.

use crate::common::{compiled, expect, expect_complaint, scratch, shown};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the seeded orders of the recorder's tests.
fn orders(folder: &Path) -> PathBuf {
    let program = folder.join("orders");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../recorder/tests/c/orders.c");
    let mut compiler = Command::new("cc");
    assert!(compiler.args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(source).status().unwrap().success());
    program
}

#[test]
fn a_cycle_is_reported_once_with_places_and_threads() {
    let folder = scratch();
    let program = orders(folder.path());
    let (report, _) = expect(0, &["check", "--", shown(&program), "three"]);
    for part in [
        "CYCLE of 3 locks: ",
        "wait for one another forever",
        "  a is taken in take (orders.c:",
        "    while the thread holds c, taken in take (orders.c:",
        "    by orders; taken there ",
        "\n1 hazard found among 3 locks.\n",
    ] {
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    }
    assert_eq!(report.matches("CYCLE").count(), 1, "{report}");
    let (report, _) = expect(0, &["check", "--", shown(&program), "in a child"]);
    assert_eq!(report.matches("CYCLE").count(), 1, "children are checked too: {report}");
}

#[test]
fn the_exit_status_is_the_programs_unless_a_check_failed() {
    let folder = scratch();
    let program = orders(folder.path());
    let (_, complaint) = expect(1, &["check", "--fail", "--", shown(&program), "pair"]);
    assert!(complaint.contains("turnwise: check: 1 hazard found"), "{complaint}");
    let (report, complaint) = expect(0, &["check", "--fail", "--", shown(&program), "gate"]);
    assert!(report.contains("Nothing found") && complaint.is_empty(), "{report}{complaint}");
    let (_, complaint) = expect(2, &["check", "--fail", "--", shown(&program), "unknown"]);
    assert!(!complaint.contains("turnwise: check"), "{complaint}");
    expect(7, &["check", "--", "sh", "-c", "exit 7"]);
}

#[test]
fn where_nothing_can_be_found_a_sentence_says_why() {
    let folder = scratch();
    let program = orders(folder.path());
    let (report, _) = expect(0, &["check", "--", "true"]);
    assert_eq!(report, "The program took no locks of pthread: there was nothing to check.\n");
    let (report, _) = expect(0, &["check", "--", shown(&program), "one thread"]);
    assert_eq!(report, "No process had two threads that took locks: none could wait for another.\n");
}

#[test]
fn what_is_accepted_needs_a_reason() {
    let folder = scratch();
    let program = orders(folder.path());
    let file = folder.path().join("accepted");
    let check = |text: &str, status: i32| {
        std::fs::write(&file, text).unwrap();
        expect(status, &["check", "--fail", "--suppress", shown(&file), "--", shown(&program), "two pairs"])
    };
    let (report, _) = check("lock a because its threads never run together\nlock x* because of nothing\n", 1);
    assert!(
        report.contains("suppressed: cycle of a, b: ") || report.contains("suppressed: cycle of b, a: "),
        "{report}"
    );
    assert!(report.contains("accepted:1: lock a because its threads never run together"), "{report}");
    assert!(report.contains("covers nothing: ") && report.contains("accepted:2: lock x*"), "{report}");
    assert!(report.contains("CYCLE of 2 locks") && report.contains("1 hazard found"), "{report}");
    let (report, _) = check("site take (orders.c:*) because it is a test\n", 0);
    assert!(report.ends_with("Nothing else found among 3 locks.\n"), "{report}");
    let (_, complaint) = check("# what we know\nlock b\n", 2);
    assert!(complaint.contains("accepted:2: no reason is given"), "{complaint}");
    expect_complaint(2, &["check", "--suppress", "/nowhere", "--", "true"], &["--suppress /nowhere"]);
}

#[test]
fn runs_that_never_meet_find_cycles_together() {
    let folder = scratch();
    let program = orders(folder.path());
    let file = folder.path().join("learned.json");
    let check = |scenario: &str, status: i32| {
        expect(status, &["check", "--fail", "--learn", shown(&file), "--", shown(&program), scenario]).0
    };
    assert!(check("one thread", 0).contains("No process had two threads"));
    assert!(check("one order", 0).contains("Nothing found"), "one run has both orders of each pair");
    let report = check("c above a", 1);
    for part in
        ["CYCLE of 2 locks: a, c.", ", in process ", " of this run\n", ", in an earlier run of ", "orders one order\n"]
    {
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    }
    assert!(report.contains("1 hazard found") && check("readers", 0).contains("Nothing found"), "{report}");
    std::fs::write(&file, "{}").unwrap();
    let parts =
        ["--learn ", "learned.json: `turnwise check --learn` did not write this; remove it, or name another file"];
    expect_complaint(2, &["check", "--learn", shown(&file), "--", "true"], &parts);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}");
}

#[test]
fn json_has_the_same() {
    let folder = scratch();
    let program = orders(folder.path());
    let file = folder.path().join("accepted");
    std::fs::write(&file, "lock c because it is accepted\n").unwrap();
    let arguments = ["check", "--json", "--suppress", shown(&file), "--", shown(&program), "two pairs"];
    let value: Value = serde_json::from_str(&expect(0, &arguments).0).unwrap();
    let hazards = value["hazards"].as_array().unwrap();
    assert_eq!((hazards.len(), &value["schema"], &value["processes"]), (1, &1.into(), &1.into()));
    let mut locks: Vec<&str> = hazards[0]["locks"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    locks.sort_unstable();
    assert_eq!((locks, &hazards[0]["kind"]), (vec!["a", "b"], &"cycle".into()));
    let step = &hazards[0]["steps"][0];
    assert_eq!((&step["threads"], step["taken"] == step["held"]), (&serde_json::json!({ "orders": 1 }), false));
    assert!(step["taken_at"].as_str().unwrap().starts_with("take (orders.c:"), "{step}");
    assert!(value["suppressed"][0]["by"].as_str().unwrap().ends_with(":1: lock c because it is accepted"));
}

#[test]
fn sarif_has_results_with_locations_and_suppressions() {
    let folder = scratch();
    let (program, accepted, file) =
        (orders(folder.path()), folder.path().join("accepted"), folder.path().join("found.sarif"));
    std::fs::write(&accepted, "lock c because it is accepted\n").unwrap();
    let arguments =
        ["check", "--sarif", shown(&file), "--suppress", shown(&accepted), "--", shown(&program), "two pairs"];
    let (report, _) = expect(0, &arguments);
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&value["version"], value["runs"].as_array().map(Vec::len)), (&"2.1.0".into(), Some(1)));
    let rules = value["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let rules: Vec<&str> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
    assert_eq!(rules, ["cycle", "deadlock", "misuse"]);
    let results = value["runs"][0]["results"].as_array().unwrap();
    assert_eq!((results.len(), &results[0]["ruleId"], &results[0]["level"]), (2, &"cycle".into(), &"warning".into()));
    let message = results[0]["message"]["text"].as_str().unwrap();
    assert!(message.starts_with("CYCLE of 2 locks") && report.contains(message), "{message}");
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("/tests/c/orders.c"), "{place}");
    assert!(place["region"]["startLine"].as_u64() > Some(1), "{place}");
    let accepted = serde_json::json!([{ "kind": "external", "justification": "it is accepted" }]);
    assert_eq!((&results[0]["suppressions"], &results[1]["suppressions"]), (&serde_json::json!([]), &accepted));
}

#[test]
fn a_deadlock_that_happened_and_misuse_are_hazards() {
    let folder = scratch();
    let (report, _) = expect(1, &["check", "--fail", "--", shown(&orders(folder.path())), "released by another"]);
    let said = "MISUSE: orders releases a in release (orders.c:";
    assert!(report.contains(said) && report.contains("), which orders has, taken in take (orders.c:"), "{report}");
    let program = compiled(folder.path(), "deadlock");
    let (report, _) = expect(1, &["check", "--fail", "--", shown(&program), "own"]);
    assert!(report.contains("DEADLOCK: a thread waits for a lock that it has itself"), "{report}");
}
