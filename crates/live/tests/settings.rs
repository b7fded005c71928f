//! Settings from the tuner to the program: this process is both. A hostile writer is in between.

use std::ffi::CString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{process, thread};
use turnwise_live::layout::{Header, LOCKS_START, SETTINGS_START};
use turnwise_live::settings::{RULES, SETTINGS};
use turnwise_live::writer::{self, End, Me, Start};
use turnwise_live::{Channel, Fault, Key, Kind, Rule, Setting, Target, Tuner, Values};

const SITE: usize = 0x40_1234;
const LOCK: usize = 0x7f00_0000_1000;
const ME: Me = Me { generation: 0, events: [0; 3] };

/// The folder of this process's view. A static one is not removed at the end, so it is the same in each run.
static FOLDER: LazyLock<&Path> = LazyLock::new(|| {
    let folder = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/settings"));
    let _ = fs::remove_dir_all(folder);
    DirBuilder::new().mode(0o700).create(folder).expect("a folder for the file");
    let path = CString::new(folder.to_str().expect("UTF-8")).expect("a path");
    writer::start(Some(&path), false, 1);
    in_force(LOCK, SITE);
    folder
});

/// The tests share a view: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test on this process's own view, without settings.
fn with_view(test: impl FnOnce(&Channel, &Tuner)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut files = fs::read_dir(FOLDER.join("turnwise")).expect("a view").map(|file| file.unwrap().path());
    let path = files.find(|path| path.to_str().is_some_and(|p| p.contains(&process::id().to_string())));
    let channel = Channel::open(&path.expect("this process's")).expect("a sound file");
    let tuner = channel.tuner().expect("this process runs, and the file is ours");
    tuner.change(Vec::clear).expect("can be written");
    test(&channel, &tuner);
}

/// Returns the settings that the program uses for a wait.
fn in_force(lock: usize, site: usize) -> Option<Values> {
    let start = Start { key: Key::new(lock, Kind::Mutex), site, owner: 3, rule: 0, me: ME };
    let begun = writer::begin(&start)?;
    let values = writer::settings(&begun, &start);
    writer::end(&begun, End::Owner, &ME);
    values
}

fn values(set: &[(Setting, u32)]) -> Values {
    let mut values = Values::default();
    assert!(set.iter().all(|(setting, ns)| values.set(*setting, *ns)));
    values
}

fn rule(target: Target, set: &[(Setting, u32)]) -> Rule {
    Rule { target, values: values(set), label: "evil\u{1b}[2J".to_owned() }
}

#[test]
fn a_lock_goes_before_its_call_site_and_this_before_all() {
    with_view(|channel, tuner| {
        assert_eq!(channel.policy().map(|policy| policy.name()), Some("adaptive"));
        assert_eq!(in_force(LOCK, SITE), None);
        let lock = Target::Locks((LOCK as u64, LOCK as u64 + 1));
        let rules = [
            rule(lock.clone(), &[(Setting::Spin, 0)]),
            rule(Target::All, &[(Setting::Spin, 1), (Setting::FairAfter, 2), (Setting::YieldAfter, 10_000)]),
            rule(Target::Sites((SITE as u64 - 0x10, SITE as u64)), &[(Setting::Spin, 4), (Setting::FairAfter, 5)]),
        ];
        tuner.change(|now| now.extend(rules)).expect("room");
        let [spin, fair, yields] = [Setting::Spin, Setting::FairAfter, Setting::YieldAfter];
        assert_eq!(in_force(LOCK, SITE), Some(values(&[(spin, 0), (fair, 5), (yields, 10_000)])));
        assert_eq!(in_force(LOCK + 1, SITE), Some(values(&[(spin, 4), (fair, 5), (yields, 10_000)])));
        assert_eq!(
            in_force(LOCK + 1, SITE + 1),
            Some(values(&[(spin, 1), (fair, 2), (yields, 10_000)])),
            "the next function"
        );
        assert_eq!(in_force(LOCK, 0), Some(values(&[(spin, 0), (fair, 2), (yields, 10_000)])));
        let shown = channel.snapshot().expect("sound").rules;
        assert_eq!(shown, channel.rules().expect("sound"));
        assert_eq!((shown.len(), shown[2].target.clone(), shown[2].label.as_str()), (3, lock, "evil\u{fffd}[2J"));
        tuner.change(|now| now.retain(|rule| rule.target != Target::All)).expect("room");
        assert_eq!(in_force(LOCK + 1, SITE + 1), None);
        tuner.change(Vec::clear).expect("room");
        assert_eq!((in_force(LOCK, SITE), channel.rules().expect("sound")), (None, Vec::new()));
    });
}

#[test]
fn what_does_not_fit_changes_nothing() {
    with_view(|channel, tuner| {
        let many = |count| (0..count).map(|n| rule(Target::Locks((n, n + 1)), &[(Setting::Spin, 7)]));
        tuner.change(|now| now.extend(many(RULES as u64))).expect("room");
        assert_eq!(in_force(RULES - 1, 0), Some(values(&[(Setting::Spin, 7)])));
        let error = tuner.change(|now| *now = many(RULES as u64 + 1).collect()).expect_err("no room");
        assert!(matches!(error.fault, Fault::TooManyRules(33, 32)) && error.to_string().contains("--undo"), "{error}");
        assert_eq!(channel.rules().expect("sound").len(), RULES);
    });
}

#[test]
fn several_may_change_settings_at_once() {
    with_view(|channel, _| {
        const EACH: u64 = 25;
        thread::scope(|scope| {
            for hand in 0..4_u64 {
                scope.spawn(move || {
                    // A separate open file: the lock belongs to it.
                    let tuner = channel.tuner().expect("ours");
                    for turn in 0..EACH {
                        let target = Target::Locks((hand, hand + 1));
                        let change = |now: &mut Vec<Rule>| {
                            now.retain(|rule| rule.target != target);
                            now.push(rule(target, &[(Setting::FairAfter, turn as u32)]));
                        };
                        tuner.change(change).expect("room");
                    }
                });
            }
            for _ in 0..2_000 {
                let found = in_force(2, SITE);
                assert!(found.is_none_or(|found| found.get(Setting::FairAfter) < Some(EACH as u32)), "{found:?}");
            }
        });
        let last = values(&[(Setting::FairAfter, EACH as u32 - 1)]);
        let rules = channel.rules().expect("sound");
        assert!(rules.len() == 4 && rules.iter().all(|rule| rule.values == last), "{rules:?}");
    });
}

#[test]
fn whatever_the_region_holds_the_program_takes_sound_values_or_none() {
    with_view(|channel, tuner| {
        let file = OpenOptions::new().write(true).open(channel.path()).expect("ours");
        let word = core::mem::offset_of!(Header, settings) as u64;
        let mut random = fastrand::Rng::with_seed(26);
        let (mut none, mut some) = (0, 0);
        for round in 0..3_000 {
            let mut bytes = vec![0; LOCKS_START - SETTINGS_START];
            // Half of the rounds have rules of sound kinds, so that the rest is read.
            random.fill(&mut bytes);
            for rule in bytes.chunks_exact_mut(128).filter(|_| round % 2 == 0) {
                rule[..4].copy_from_slice(&random.u32(0..4).to_ne_bytes());
                rule[4..8].copy_from_slice(&(1_u32 << random.u32(0..=SETTINGS as u32)).to_ne_bytes());
                rule[8..16].copy_from_slice(&random.u64(..LOCK as u64 * 2).to_ne_bytes());
                (0..8).for_each(|n| {
                    rule[24 + 4 * n..28 + 4 * n].copy_from_slice(&random.u32(..11_000_000).to_ne_bytes())
                });
            }
            file.write_all_at(&bytes, SETTINGS_START as u64).expect("room");
            let number = [1, 2, random.u64(..)][round % 3];
            file.write_all_at(&number.to_ne_bytes(), word).expect("room");
            match in_force(LOCK, SITE) {
                None => none += 1,
                Some(found) => {
                    some += 1;
                    let sound = |(setting, ns): (Setting, u32)| (setting.bounds().0..=setting.bounds().1).contains(&ns);
                    assert!(found.iter().all(sound) && !found.is_empty(), "{found:?}");
                }
            }
            channel.snapshot().expect("data");
        }
        assert!(none > 500 && some > 100, "{none} without, {some} with");
        tuner.change(|now| *now = vec![rule(Target::All, &[(Setting::Spin, 0)])]).expect("it can be set again");
        assert_eq!(in_force(LOCK, SITE), Some(values(&[(Setting::Spin, 0)])));
    });
}
