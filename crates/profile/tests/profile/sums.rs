//! The fixture is what a recording gives: its parts agree.

use super::fixture;

#[test]
fn the_fixture_agrees_with_itself() {
    let profile = fixture::server();
    let sum = |part: &mut dyn Iterator<Item = u64>| part.sum::<u64>();
    let locks = sum(&mut profile.locks.iter().map(|lock| lock.usage.wait.sum_ns));
    assert!(locks > 10_000_000, "there is contention: {locks}");
    assert_eq!(locks, sum(&mut profile.sites.iter().map(|site| site.usage.wait.sum_ns)));
    assert_eq!(locks, sum(&mut profile.threads.iter().map(|thread| thread.usage.wait.sum_ns)));
    assert_eq!(locks, sum(&mut profile.sites.iter().flat_map(|site| &site.stacks).map(|stack| stack.wait_ns)));
    assert_eq!(locks, sum(&mut profile.locks.iter().flat_map(|lock| &lock.over_time).map(|step| step.wait_ns)));
    assert!(profile.locks.is_sorted_by_key(|lock| std::cmp::Reverse(lock.usage.wait.sum_ns)));
    assert!(profile.sites.is_sorted_by_key(|site| std::cmp::Reverse(site.usage.wait.sum_ns)));
    let held = profile.episodes.iter().filter(|episode| episode.holder.is_some()).count();
    assert!(held * 10 > profile.episodes.len() * 9, "nearly all who waited saw a holder: {held}");
    assert!(profile.recording.episodes_dropped > 0);
}
