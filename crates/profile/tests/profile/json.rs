//! The JSON round trip, and the handling of other files.

use super::fixture;
use serde_json::{Value, json};
use turnwise_profile::advice::advise;
use turnwise_profile::model::{Profile, SCHEMA};
use turnwise_profile::output::{by_flag, json};

fn value(profile: &Profile) -> Value {
    let mut bytes = Vec::new();
    by_flag("json").expect("there is JSON").write(profile, &mut bytes).expect("it can be written");
    assert_eq!(json::read(&bytes).expect("it is read back"), *profile);
    serde_json::from_slice(&bytes).expect("it is JSON")
}

fn refusal(value: &Value) -> String {
    format!("{:#}", json::read(value.to_string().as_bytes()).expect_err("it is refused"))
}

#[test]
fn a_profile_comes_back_as_it_was() {
    let mut profile = fixture::server();
    profile.locks[0].name = "</script>\u{fffd}\"\\ \u{2028}".to_owned();
    profile.locks[0].address = u64::MAX;
    let value = value(&profile);
    assert_eq!(value["schema"], SCHEMA);
    assert_eq!(value["locks"][0]["usage"]["contended"], profile.locks[0].usage.contended);
    assert_eq!(value["program"]["ending"]["exited"], 0);
}

#[test]
fn other_schemas_and_broken_files_get_a_remedy() {
    let good = value(&fixture::server());
    let mut newer = good.clone();
    newer["schema"] = (SCHEMA + 1).into();
    assert!(refusal(&newer).contains("newer turnwise"));
    let mut older = good.clone();
    older["schema"] = 0.into();
    assert!(refusal(&older).contains("record the program again"));
    let mut cut = good.clone();
    cut["sites"] = Value::Null;
    assert!(refusal(&cut).contains("turnwise profile --json FILE"));
    for text in ["", "{", "[]", "null", "{\"schema\": \"1\"}", "\u{0}\u{1}"] {
        let error = json::read(text.as_bytes()).expect_err("it is refused");
        assert!(format!("{error:#}").contains("not a profile"), "{text}: {error:#}");
    }
}

#[test]
fn figures_that_cannot_be_added_up_are_refused() {
    let good = value(&fixture::server());
    for place in [
        "/locks/0/usage/acquisitions",
        "/sites/1/usage/wait/sum_ns",
        "/sites/0/stacks/0/waits",
        "/threads/0/ended_ns",
        "/locks/0/step_ns",
        "/locks/0/over_time/3/wait_ns",
        "/locks/0/usage/hold/buckets/0/1",
        "/episodes/5/acquired_ns",
        "/blocked/0/wait_ns",
        "/conditions/0/woken_for_nothing",
        "/program/duration_ns",
    ] {
        let mut broken = good.clone();
        *broken.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = (u64::MAX - 7).into();
        assert!(refusal(&broken).contains("which no run can have"), "{place}: {}", refusal(&broken));
    }
}

#[test]
fn the_advice_has_the_words_of_the_report_and_its_locks_by_name() {
    let profile = fixture::server();
    let (advice, written) = (advise(&profile), value(&profile)["advice"].clone());
    assert_eq!((&written["verdict"], &written["left_out"]), (&advice.verdict.into(), &advice.left_out.into()));
    let findings = written["findings"].as_array().unwrap();
    assert_eq!(findings.len(), advice.findings.len());
    for (written, finding) in findings.iter().zip(&advice.findings) {
        assert_eq!(written["rule"], finding.rule);
        assert_eq!((&written["title"], &written["evidence"]), (&json!(finding.title), &json!(finding.evidence)));
        assert_eq!(written["change"], json!(finding.change));
    }
    let lock = &profile.locks[0];
    let first = &findings[0];
    assert_eq!((&first["lock_names"], &first["wait_ns"]), (&json!([lock.name]), &json!(lock.usage.wait.sum_ns)));
    assert!(first["wait_share"].as_f64().is_some_and(|share| share > 0.01 && share < 1.0), "{first}");
}

#[test]
fn what_is_named_must_be_there() {
    let mut profile = fixture::server();
    profile.deadlocks.push(fixture::deadlock());
    let good = value(&profile);
    assert!(good["headlines"][0].as_str().unwrap().starts_with("DEADLOCK: 2 threads"), "{}", good["headlines"]);
    assert_eq!(good["advice"]["findings"][0]["rule"], "deadlock");
    for (place, error) in [
        ("/sites/0/lock", "site 0 names lock 999999"),
        ("/sites/0/frames/0", "site 0 names frame 999999"),
        ("/sites/0/stacks/0/stack", "site 0 names stack 999999"),
        ("/stacks/0/0", "stack 0 names frame 999999"),
        ("/locks/1/created", "lock 1 names stack 999999"),
        ("/episodes/3/thread", "wait 3 names thread 999999"),
        ("/episodes/3/holder/1", "wait 3 names site 999999"),
        ("/blocked/0/holder", "blocked pair 0 names site 999999"),
        ("/conditions/0/mutex", "condition variable 0 names lock 999999"),
        ("/cycles/0/steps/1/taken_at", "cycle 0 names site 999999"),
        ("/cycles/0/steps/0/threads/0", "cycle 0 names thread 999999"),
        ("/deadlocks/0/waits/0/lock_id", "deadlock 0 names lock 999999"),
        ("/shared_lines/0/locks/0", "shared line 0 names lock 999999"),
    ] {
        let mut broken = good.clone();
        *broken.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = 999_999.into();
        assert!(refusal(&broken).contains(error), "{place}: {}", refusal(&broken));
    }
}
