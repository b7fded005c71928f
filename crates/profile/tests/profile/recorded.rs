//! A profile that `turnwise profile` recorded, through every form: the real case that the fixture only imitates.
//!
//! `recorded.json` is of `turnwise profile --json FILE -- @sample -t 6 -s 0.025 -k 500` on two CPUs. If the model
//! changes, record it again until some threads have waited.

use turnwise_profile::advice::advise;
use turnwise_profile::model::Profile;
use turnwise_profile::output::{FORMATS, by_flag, headlines, json};

fn recorded() -> Profile {
    json::read(include_bytes!("recorded.json")).expect("it is a profile; else record it again, as said above")
}

#[test]
fn its_parts_agree() {
    let profile = recorded();
    let waited: u64 = profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
    assert!(waited > 0);
    assert_eq!(waited, profile.sites.iter().map(|site| site.usage.wait.sum_ns).sum::<u64>());
    assert_eq!(waited, profile.threads.iter().map(|thread| thread.usage.wait.sum_ns).sum::<u64>());
    let episodes: u64 = profile.episodes.iter().map(|wait| wait.acquired_ns - wait.began_ns).sum();
    let rounding = 2 * profile.episodes.len() as u64;
    assert!(episodes.abs_diff(waited) <= rounding, "all waits were kept: {episodes} of {waited} ns");
}

#[test]
fn every_form_takes_it() {
    let profile = recorded();
    for format in FORMATS {
        let mut bytes = Vec::new();
        format.write(&profile, &mut bytes).unwrap_or_else(|error| panic!("{}: {error:#}", format.flag));
        assert!(!bytes.is_empty(), "{}", format.flag);
    }
    let mut folded = Vec::new();
    by_flag("folded").expect("there is such a form").write(&profile, &mut folded).expect("it can be written");
    assert!(String::from_utf8_lossy(&folded).starts_with("clone3;start_thread;work;[cache] "));
}

#[test]
fn its_lock_is_named_and_its_few_waits_are_not_judged() {
    let profile = recorded();
    let lines = headlines(&profile);
    assert!(lines[1].starts_with("The lock that costs most is `cache`: "), "{lines:?}");
    let advice = advise(&profile);
    assert!(advice.findings.is_empty() && advice.verdict.contains(", in 14 waits: too few to judge"), "{advice:?}");
}
