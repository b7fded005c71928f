//! What pthread objects do when they are used wrongly, under every policy. Each answer is the C library's, but for
//! calls that would corrupt its objects: the program asks those of ours alone.

mod harness;

use harness::{Build, POLICIES};

#[test]
fn calls_that_posix_leaves_undefined() {
    let program = Build::new("../conformance/misuse.c").program();
    let theirs = program.answers_on_libc();
    assert!(theirs.lines().count() >= 115, "sentences were left out:\n{theirs}");
    for policy in POLICIES {
        let answers = program.answers(policy);
        let (ours, both): (Vec<&str>, Vec<&str>) =
            answers.lines().partition(|answer| !theirs.lines().any(|theirs| theirs == *answer));
        assert_eq!(both.len(), theirs.lines().count(), "{policy}: answers that are not the C library's: {ours:#?}");
        assert_eq!(ours, ["unlock_of_a_free_rwlock(static): EPERM", "write_unlock_by_another(static): 0"], "{policy}");
    }
}
