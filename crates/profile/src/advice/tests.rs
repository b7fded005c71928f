use super::sample::{cycle, lock_with_site, quiet, usage};
use super::*;
use turnwise_present::others::Others;

#[test]
fn without_contention_nothing_is_found_and_that_is_said() {
    let mut profile = quiet();
    lock_with_site(&mut profile, usage(1_000_000, 0, 0, 100));
    let advice = advise(&profile);
    assert!(advice.findings.is_empty());
    assert!(advice.verdict.starts_with("No thread waited"), "{}", advice.verdict);
    assert!(advise(&Profile::default()).verdict.starts_with("The recording has no lock to judge"));
    lock_with_site(&mut profile, usage(1_000_000, 100, 1_000, 100));
    assert!(advise(&profile).verdict.starts_with("Locks do not slow this program: threads waited 100 us"));
    profile.recording.others = Some(Others { programs: 0.05, host: 0.45 });
    let verdict = advise(&profile).verdict;
    assert!(verdict.contains("Meanwhile the host of this virtual machine took 45% of the CPUs: whether"), "{verdict}");
    profile.recording.others = Some(Others { programs: 0.05, host: 0.05 });
    assert!(advise(&profile).verdict.starts_with("Locks do not slow this program"));
}

#[test]
fn a_few_waits_are_not_judged() {
    let mut profile = quiet();
    lock_with_site(&mut profile, usage(1_000_000, 99, 1_000_000, 100));
    let advice = advise(&profile);
    assert!(advice.findings.is_empty() && advice.verdict.contains("in 99 waits: too few to judge"), "{advice:?}");
    profile.locks[0].usage = usage(1_000_000, 100, 1_000_000, 100);
    assert!(!advise(&profile).findings.is_empty());
}

#[test]
fn the_five_most_hopeful_are_kept_and_a_hazard_always() {
    let mut profile = quiet();
    for number in 1..=7 {
        lock_with_site(&mut profile, usage(1_000_000, 10_000 * number, 50_000, 90));
    }
    let advice = advise(&profile);
    assert_eq!((advice.findings.len(), advice.left_out), (5, 2));
    assert!(advice.findings.is_sorted_by_key(|finding| std::cmp::Reverse(finding.hoped_ns)));
    assert_eq!(advice.findings[0].locks, [6]);
    profile.cycles = vec![cycle(&[0, 1])];
    let advice = advise(&profile);
    assert_eq!((advice.findings.len(), advice.left_out), (5, 3));
    assert_eq!(advice.findings[4].rule, "cycle");
}

#[test]
fn the_lock_that_costs_most_is_named_with_its_share() {
    let mut profile = quiet();
    assert_eq!(most_waited(&profile), None);
    lock_with_site(&mut profile, usage(1_000, 10, 1_000_000, 100));
    lock_with_site(&mut profile, usage(1_000, 100, 10_000_000, 100));
    let (share, sentence) = most_waited(&profile).unwrap();
    assert_eq!(share, 0.25);
    assert!(sentence.starts_with("`lock1`: threads waited 1.00 s for it, 25% of their time; "), "{sentence}");
    assert!(sentence.ends_with("; most of it at function1 (file1.c:7)"), "{sentence}");
}

#[test]
fn an_experiment_is_proposed_once() {
    let mut profile = quiet();
    // Short holds, and a convoy.
    lock_with_site(&mut profile, usage(10_000, 9_500, 90_000, 900));
    let advice = advise(&profile);
    let experiments = advice.findings.iter().filter(|finding| finding.experiment.is_some()).count();
    assert_eq!(experiments, 1, "{advice:?}");
}

#[test]
fn the_text_fits_100_columns() {
    let mut profile = quiet();
    lock_with_site(&mut profile, usage(100_000, 20_000, 30_000, 900));
    profile.locks[0].name = format!("std::map<{}>\u{1b}[31m", "std::string, ".repeat(100));
    profile.frames[0].function = "x".repeat(3000);
    let text = text(&advise(&profile), &profile);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("\n1. `std::map<") && text.contains("   try: the policy `adaptive` for"), "{text}");
    assert!(!text.contains('\u{1b}'));
}
