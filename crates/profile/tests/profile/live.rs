//! A profile of a program that was inspected while it ran: unknown figures appear nowhere.

use super::fixture;
use serde_json::Value;
use turnwise_profile::advice::advise;
use turnwise_profile::model::{Method, Profile};
use turnwise_profile::output::{FORMATS, by_flag, json};
use turnwise_profile::text::report;

/// Returns the server's profile, without what the recorder inside it does not see.
fn profile() -> Profile {
    let mut profile = fixture::server();
    profile.recording.method = Method::Live;
    let locks = profile.locks.iter_mut().map(|lock| &mut lock.usage);
    let sites = profile.sites.iter_mut().map(|site| &mut site.usage);
    for usage in locks.chain(sites).chain(profile.threads.iter_mut().map(|thread| &mut thread.usage)) {
        (usage.acquisitions, usage.reads, usage.hold_total_ns) = (0, 0, 0);
        usage.events.sleeps = Some(3);
        usage.events.spins_won = None;
    }
    profile
}

#[test]
fn what_is_not_known_is_absent_in_json_and_what_is_known_comes_back() {
    let profile = profile();
    let mut bytes = Vec::new();
    by_flag("json").expect("there is JSON").write(&profile, &mut bytes).expect("it can be written");
    let value: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    assert_eq!(value["recording"]["method"], "live");
    let usage = &value["locks"][0]["usage"];
    for unknown in ["acquisitions", "reads", "hold_total_ns"] {
        assert!(usage.get(unknown).is_none(), "{unknown} in {usage}");
    }
    assert!(usage["hold"]["count"].as_u64() > Some(0) && usage["events"]["sleeps"] == 3, "{usage}");
    let again = json::read(&bytes).expect("it is read back");
    assert_eq!((&again.locks[0].usage, report(&again)), (&profile.locks[0].usage, report(&profile)));
}

#[test]
fn every_output_has_it_and_the_report_says_who_held() {
    let profile = profile();
    for format in FORMATS {
        let mut bytes = Vec::new();
        format.write(&profile, &mut bytes).expect("it can be written");
        assert!(!bytes.is_empty(), "--{}", format.flag);
    }
    let text = report(&profile);
    for part in ["LOCKS BY WAIT TIME", "Most of it for: cache_lock", "held by ", "sleeps", "Waited for locks: "] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    for unknown in ["acquisition was", "contended", "FUTEXES", "woken by"] {
        assert!(!text.contains(unknown), "{unknown} in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn no_rule_judges_it_and_the_advice_says_so() {
    let advice = advise(&profile());
    assert!(advice.findings.is_empty() && advice.verdict.contains("turnwise profile -- CMD"), "{advice:?}");
    let mut idle = profile();
    idle.locks.iter_mut().for_each(|lock| lock.usage.wait = Default::default());
    assert!(advise(&idle).verdict.contains("other locks would change nothing"));
    assert!(report(&idle).contains("No thread waited for a lock."));
}
