//! The Firefox profiler's format, by the requirements of its documentation.

use super::fixture;
use serde_json::Value;
use turnwise_profile::output::by_flag;

fn written() -> Value {
    let mut bytes = Vec::new();
    let format = by_flag("firefox").expect("there is such a form");
    format.write(&fixture::server(), &mut bytes).expect("it can be written");
    serde_json::from_slice(&bytes).expect("it is JSON")
}

fn list<'a>(value: &'a Value, place: &str) -> &'a [Value] {
    value.pointer(place).and_then(Value::as_array).unwrap_or_else(|| panic!("no list {place}"))
}

#[test]
fn threads_have_waits_as_markers_and_samples() {
    let (profile, json) = (fixture::server(), written());
    let threads = list(&json, "/threads");
    assert_eq!(threads.len(), profile.threads.len());
    let mut names: Vec<&str> = threads.iter().filter_map(|thread| thread["name"].as_str()).collect();
    names.sort_unstable();
    assert!(names.contains(&"worker-1"), "{names:?}");
    let markers: usize = threads.iter().map(|thread| list(thread, "/markers/data").len()).sum();
    assert_eq!(markers, 2 * profile.episodes.len(), "a wait and a hold each");
    let samples: usize = threads.iter().map(|thread| list(thread, "/samples/stack").len()).sum();
    assert_eq!(samples, profile.episodes.len());
    let weights = threads.iter().flat_map(|thread| list(thread, "/samples/weight")).filter_map(Value::as_f64);
    let waited: f64 = profile.episodes.iter().map(|one| (one.acquired_ns - one.began_ns) as f64 / 1e6).sum();
    let weights: f64 = weights.sum();
    assert!(weights > 0.9 * waited && weights <= waited, "{weights} ms of {waited} ms, whole microseconds each");
    assert_eq!(threads[0]["samples"]["weightType"], "tracing-ms");
}

#[test]
fn every_number_names_something() {
    let json = written();
    for thread in list(&json, "/threads") {
        let strings = list(thread, "/stringArray").len() as u64;
        let all = |place: &str, below: u64| {
            let numbers = list(thread, place).iter().filter_map(Value::as_u64);
            assert!(numbers.into_iter().all(|number| number < below), "{place}");
        };
        all("/funcTable/name", strings);
        all("/markers/name", strings);
        all("/frameTable/func", list(thread, "/funcTable/name").len() as u64);
        all("/stackTable/frame", list(thread, "/frameTable/func").len() as u64);
        all("/stackTable/prefix", list(thread, "/stackTable/frame").len() as u64);
        all("/samples/stack", list(thread, "/stackTable/frame").len() as u64);
    }
    let mut schemas: Vec<&str> =
        list(&json, "/meta/markerSchema").iter().filter_map(|one| one["name"].as_str()).collect();
    schemas.sort_unstable();
    assert_eq!(schemas, ["LockHold", "LockWait"]);
}

#[test]
fn holders_of_the_same_name_are_distinguished() {
    let text = written().to_string();
    assert!(text.contains("\"worker-1 4712\"") && text.contains("\"kvserver 4711\""), "the marker's holder");
}
