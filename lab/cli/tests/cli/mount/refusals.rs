//! What cannot be mounted, and the program's messages then.

use super::*;
use crate::common::{expect_complaint, shown};

#[test]
fn directories_that_will_not_do() {
    let scratch = scratch();
    let missing = scratch.path().join("missing");
    expect_complaint(2, &["mount", shown(&missing)], &["missing", "no such directory", "mkdir -p"]);
    let file = scratch.path().join("file");
    std::fs::write(&file, "").unwrap();
    expect_complaint(2, &["mount", shown(&file)], &["file", "is not a directory"]);
    expect_complaint(2, &["mount", shown(scratch.path())], &["is not empty", "use an empty directory"]);
    expect_complaint(2, &["mount", "/proc"], &["/proc", "something is mounted there already"]);
}

#[test]
fn arguments_that_will_not_do() {
    expect_complaint(2, &["mount"], &["<DIRECTORY>"]);
    expect_complaint(2, &["mount", "--size", "many", "/x"], &["'many'", "--size"]);
    expect_complaint(2, &["mount", "--size", "1KiB", "/x"], &["--size 1.0 KiB", "a page"]);
    expect_complaint(2, &["mount", "--locks", "linux99", "/x"], &["linux99", "today"]);
    expect_complaint(2, &["mount", "--threads", "0", "/x"], &["1..=256"]);
    expect_complaint(2, &["mount", "--kernel-cache", "long", "/x"], &["'long'", "--kernel-cache"]);
}

#[test]
fn what_is_mounted_is_not_mounted_again() {
    let Some(mounted) = mount(&[]) else { return };
    let again = shown(&mounted.directory);
    expect_complaint(2, &["mount", again], &[again, "something is mounted there already", "umount"]);
}
