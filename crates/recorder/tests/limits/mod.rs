//! Programs that limit themselves, and processes that lose access to their files: they run as without us, and what
//! could not be recorded is reported.

use crate::harness::{Run, lock, profile};
use std::os::unix::fs::MetadataExt;
use turnwise_profile::model::Profile;

const ROUNDS: u64 = 1000;

/// Returns a run that ended well and recorded its first process, with the recordings of the other.
#[track_caller]
fn ran(kind: &str) -> (Profile, Vec<Profile>, Run) {
    let run = Run::program("limits", kind, &[], &[]);
    assert!(run.status.success(), "{kind}: {}", run.status);
    let parent = run.profile();
    assert_eq!(lock(&parent, "parents").usage.acquisitions, ROUNDS, "{kind}");
    let others = run.others().iter().map(|file| profile(file)).collect();
    (parent, others, run)
}

#[track_caller]
fn says(parent: &Profile, words: [&str; 2]) {
    let missing = parent.recording.missing.join(" ");
    assert!(words.iter().all(|word| missing.contains(word)), "{missing}");
}

#[test]
fn a_recording_is_as_long_as_what_is_in_it() {
    let (parent, others, run) = ran("");
    assert!(parent.recording.missing.is_empty(), "{:?}", parent.recording.missing);
    assert_eq!(lock(&others[0], "childs").usage.acquisitions, ROUNDS);
    let bytes = run.file().metadata().expect("a file").len();
    assert!(bytes < 1 << 20, "{bytes} bytes");
}

#[test]
fn a_limit_is_said_by_the_recording_of_the_first_process() {
    for (kind, words) in [
        ("file-size", ["1 process could not be recorded", "RLIMIT_FSIZE"]),
        ("descriptors", ["1 process could not be recorded", "RLIMIT_NOFILE"]),
    ] {
        let (parent, others, _) = ran(kind);
        says(&parent, words);
        assert!(others.is_empty(), "{kind}");
    }
    let (parent, ..) = ran("memory");
    says(&parent, ["ran out of room", "ulimit -v"]);
}

#[test]
fn what_is_locked_in_memory_is_what_was_written() {
    let run = Run::program("limits", "locked", &[], &[]);
    if run.status.code() == Some(4) {
        println!("SKIPPED: no right to lock memory");
        return;
    }
    assert!(run.status.success(), "{}", run.status);
    let bytes = run.file().metadata().expect("a file").blocks() * 512;
    assert!(bytes < 8 << 20, "{bytes} bytes");
}

#[test]
fn who_gives_up_root_or_changes_it_is_recorded_before() {
    // SAFETY: always succeeds.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIPPED: only root can give it up");
        return;
    }
    for kind in ["user", "root"] {
        let (parent, others, _) = ran(kind);
        assert!(parent.recording.missing.is_empty(), "{kind}: {:?}", parent.recording.missing);
        assert_eq!(lock(&others[0], "childs").usage.acquisitions, ROUNDS, "{kind}");
    }
    if cfg!(target_arch = "x86_64") {
        let (parent, others, _) = ran("syscall");
        says(&parent, ["1 process could not be recorded", "another user"]);
        assert!(others.is_empty());
    }
}
