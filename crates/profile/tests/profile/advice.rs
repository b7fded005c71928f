//! The advice on the fixture, as a user reads it.

use super::fixture;
use turnwise_profile::advice::{advise, text};

#[test]
fn the_servers_cache_is_what_is_advised_on() {
    let profile = fixture::server();
    let advice = advise(&profile);
    assert_eq!(advice.findings[0].locks, [0], "the lock with the longest waits: {advice:#?}");
    assert!(advice.findings.iter().any(|finding| finding.rule == "cycle"));
    assert!(advice.findings.iter().all(|finding| finding.experiment.is_some() || finding.change.is_some()));
    let text = text(&advice, &profile);
    println!("{text}");
    assert!(text.contains("cache_lock") && text.lines().all(|line| line.chars().count() <= 100), "{text}");
}
