//! The page as a file: it loads no resource, no name escapes, its size is bounded. The browser's test covers the rest.

use super::fixture;
use serde_json::Value;
use turnwise_profile::model::Profile;
use turnwise_profile::output::{FORMATS, by_flag};

fn page(profile: &Profile) -> String {
    let mut bytes = Vec::new();
    by_flag("html").expect("there is a page").write(profile, &mut bytes).expect("it can be written");
    String::from_utf8(bytes).expect("it is text")
}

fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("it has data");
    let (data, _) = rest.split_once("</script>").expect("they end");
    serde_json::from_str(data).expect("they are JSON")
}

#[test]
fn the_page_asks_for_nothing() {
    let page = page(&fixture::server());
    assert!(page.contains("default-src 'none'"));
    let addresses: Vec<&str> =
        page.match_indices("http").map(|(at, _)| page[at..].split(['"', ';']).next().unwrap_or_default()).collect();
    assert!(addresses.iter().all(|at| *at == "http-equiv=" || *at == "http://www.w3.org/2000/svg"), "{addresses:?}");
    for request in ["src=", "fetch(", "import(", "@import", "url(", "XMLHttp", "sendBeacon", "innerHTML", "eval("] {
        assert!(!page.contains(request), "{request}");
    }
}

#[test]
fn no_name_ends_the_script_or_fills_a_place() {
    let page = page(&fixture::hostile());
    assert_eq!(page.matches("</script>").count(), 2, "the page's own");
    assert!(!page.contains("<img") && !page.contains("<!--"));
    let data = data(&page);
    let name = data["locks"][0]["name"].as_str().expect("a name");
    let start: String = fixture::NASTY.chars().take(90).collect();
    assert!(name.starts_with(&start) && name.contains('…'), "cut, but what it was: {name}");
}

#[test]
fn a_large_profile_has_a_page_of_bounded_size_that_says_what_is_left_out() {
    let profile = fixture::large();
    let page = page(&profile);
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    let data = data(&page);
    let omitted: Vec<&str> = data["omitted"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let shown = omitted.join(" ");
    for part in [
        "The table of call sites has the first 2,000 of 10,000.",
        "The table of pairs",
        "Timelines are for the 16 locks",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    assert_eq!(data["sites"].as_array().map(Vec::len), Some(2_000));
    assert_eq!(data["totals"]["sites"], 10_000);
    assert!(self::data(&self::page(&fixture::server()))["omitted"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn where_single_waits_are_left_out_all_of_them_are_drawn_from_afar() {
    let mut profile = fixture::server();
    assert!(data(&page(&profile))["timelines"][0].get("afar").is_none());
    let again = profile.episodes.clone();
    profile.episodes.extend(again.iter().chain(&again));
    let (all, waited) = profile
        .episodes
        .iter()
        .filter(|wait| profile.sites[wait.site as usize].lock == 0)
        .fold((0, 0), |(all, waited), wait| (all + 1, waited + wait.acquired_ns - wait.began_ns));
    assert!(all > 10_000);
    let timeline = &data(&page(&profile))["timelines"][0];
    assert_eq!((timeline["waits"].as_array().map(Vec::len), timeline["kept"].as_u64()), (Some(10_000), Some(all)));
    let bins = timeline["afar"]["wait_ns"].as_array().expect("bins");
    assert_eq!((bins.len(), bins.iter().filter_map(Value::as_u64).sum::<u64>()), (600, waited));
}

#[test]
fn a_program_without_locks_gets_the_remark_of_the_text() {
    let data = data(&page(&fixture::program(5_000_000)));
    let verdict = data["verdict"].as_str().expect("a verdict");
    assert!(verdict.contains("--futex") && !verdict.contains("other locks"), "{verdict}");
    assert!(data["headlines"][0].as_str().is_some_and(|line| line.starts_with("It took no pthread lock.")));
    assert_eq!(
        (data["headlines"].as_array().map(Vec::len), data["limits"].as_array().map(Vec::len)),
        (Some(1), Some(0))
    );
}

#[test]
fn a_flame_graph_of_nothing_tells_no_time() {
    let mut bytes = Vec::new();
    by_flag("flame").expect("there is one").write(&fixture::program(0), &mut bytes).expect("it can be written");
    let graph = String::from_utf8(bytes).expect("it is text");
    assert!(graph.contains("no thread waited for a lock (0 us)") && !graph.contains("(1 us"), "{graph}");
}

#[test]
fn every_form_takes_every_profile() {
    for profile in [fixture::hostile(), fixture::program(0), Profile::default()] {
        for format in FORMATS {
            let mut bytes = Vec::new();
            format.write(&profile, &mut bytes).unwrap_or_else(|error| panic!("{}: {error:#}", format.flag));
        }
    }
}

#[test]
fn no_more_threads_wait_than_there_are() {
    let profile = turnwise_profile::output::json::read(include_bytes!("recorded.json")).expect("it is a profile");
    let data = data(&page(&profile));
    let charts = &data["locks"][0]["charts"];
    let waits: Vec<u64> = charts["wait_ns"].as_array().expect("steps").iter().filter_map(Value::as_u64).collect();
    let step = charts["step_ns"].as_u64().expect("a length");
    assert!(waits.iter().all(|&wait| wait <= step * profile.threads.len() as u64), "{step} {waits:?}");
    let (sum, all) = (waits.iter().sum::<u64>(), profile.locks[0].usage.wait.sum_ns);
    assert!(sum.abs_diff(all) < 100, "all waiting is there: {sum} of {all}");
}
