//! A policy file's settings, from the program to readers: this process is both.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use turnwise_live::layout::{FILE_RULES_START, LOCKS_START, POLICY_FILE};
use turnwise_live::settings::FILE_RULES;
use turnwise_live::writer::{self, End, FileRule, Hooks, Me, Start};
use turnwise_live::{Channel, Key, Kind, Rule, Setting, Target, Values};

/// More than a page has room for.
const RULES: usize = 70;

/// Returns rule number `n`, which lets waiters spin for `n` ns; every third has no settings.
fn rule(number: usize) -> Option<FileRule> {
    let mut values = Values::default();
    if !number.is_multiple_of(3) {
        assert!(values.set(Setting::Spin, number as u32));
    }
    (number < RULES).then_some(FileRule { values, label: b"server.toml:3 (symbol cache)" })
}

/// Waits for a lock to which the rule of this number applies; none applies to lock 0.
fn wait_for(lock: usize, rule: u32) -> Option<Values> {
    let me = Me { generation: 0, events: [0; 3] };
    let start = Start { key: Key::new(0x7f00_0000_1000 + lock, Kind::Mutex), site: 0x40_1234, owner: 0, rule, me };
    let begun = writer::begin(&start).expect("a view");
    let values = writer::settings(&begun, &start);
    writer::end(&begun, End::Owner, &me);
    values
}

fn wait() -> Option<Values> {
    wait_for(0, 0)
}

/// Returns the rule of each lock, in the order of their addresses.
fn rules_of_locks(channel: &Channel) -> Vec<Option<u32>> {
    let mut locks = channel.snapshot().expect("sound").locks;
    locks.sort_by_key(|lock| lock.address);
    locks.iter().map(|lock| lock.rule).collect()
}

#[test]
fn readers_see_what_a_policy_file_sets_and_tuners_leave_it_alone() {
    let folder = tempfile::tempdir().expect("a folder for the file");
    writer::set_hooks(&Hooks { rules: rule, may_be_filtered: || false });
    writer::start(Some(&CString::new(folder.path().to_str().expect("UTF-8")).expect("a path")), false, POLICY_FILE);
    assert_eq!(wait(), None, "the program goes by the policy file");
    let mut files = fs::read_dir(folder.path().join("turnwise")).expect("a folder");
    let channel = Channel::open(&files.next().expect("a view").expect("readable").path()).expect("sound");
    let shown = channel.rules().expect("sound");
    let set = |rule: &Rule| (rule.target.clone(), rule.values.get(Setting::Spin), rule.label.clone());
    let expected = (0..RULES as u32).filter(|n| !n.is_multiple_of(3));
    let expected = expected.map(|n| (Target::FileRule(n), Some(n), "server.toml:3 (symbol cache)".to_owned()));
    let expected: Vec<_> = expected.collect();
    assert_eq!(shown.iter().map(set).collect::<Vec<_>>(), expected);
    assert!(shown.iter().all(|rule| !rule.target.covers(0x7f00_0000_1000, 0x40_1234)));
    assert_eq!(channel.snapshot().expect("sound").rules, shown);

    // More locks than a thread's block has room for: some move to the table.
    (1..40).for_each(|lock| assert_eq!(wait_for(64 * lock, 2), None));
    wait();
    assert_eq!(rules_of_locks(&channel), [None].into_iter().chain([Some(1); 39]).collect::<Vec<_>>());

    let tuner = channel.tuner().expect("ours");
    let spin = |ns| {
        let mut values = Values::default();
        assert!(values.set(Setting::Spin, ns));
        values
    };
    let all = Rule { target: Target::All, values: spin(9), label: "*".to_owned() };
    let seen = tuner.change(|now| {
        let seen = now.len();
        now.extend([shown[0].clone(), all.clone()]);
        seen
    });
    assert_eq!(seen.expect("room"), 0, "a tuner has those that it can change");
    let both = channel.rules().expect("sound");
    assert_eq!((both.len(), both.last()), (shown.len() + 1, Some(&all)));
    assert_eq!(wait(), Some(spin(9)));
    assert_eq!(tuner.change(Vec::clear).map(|()| channel.rules().expect("sound")).expect("room"), shown);

    // Whatever the file contains: rules with sound values, or none.
    let file = OpenOptions::new().write(true).open(channel.path()).expect("ours");
    let mut random = fastrand::Rng::with_seed(26);
    for round in 0..500 {
        let mut bytes = vec![0; LOCKS_START - FILE_RULES_START];
        random.fill(&mut bytes);
        for rule in bytes.chunks_exact_mut(128).filter(|_| round % 2 == 0) {
            rule[..4].copy_from_slice(&random.u32(3..5).to_ne_bytes());
            rule[4..8].copy_from_slice(&1_u32.to_ne_bytes());
            rule[24..28].copy_from_slice(&random.u32(..11_000_000).to_ne_bytes());
        }
        file.write_all_at(&bytes, FILE_RULES_START as u64).expect("room");
        let rules = channel.rules().expect("data");
        assert!(rules.len() <= FILE_RULES && rules.iter().all(|rule| matches!(rule.target, Target::FileRule(_))));
    }
}
