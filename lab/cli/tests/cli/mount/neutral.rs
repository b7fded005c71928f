//! The papers' neutral tests, before and after: programs that must not notice which locks are underneath.

use super::*;

#[test]
fn find_and_git_diff_on_every_set_of_locks() {
    for locks in [
        "today",
        "linux-3.7",
        "linux-3.7-patch-1",
        "linux-3.7-patch-2",
        "linux-3.10",
        "linux-3.10-dcache",
        "linux-3.12",
    ] {
        let Some(mounted) = mount(&["--locks", locks, "--kernel-cache", "0s"]) else { return };
        mounted.shell(
            "git init -q -b main tree; cd tree; for d in a b c d; do mkdir -p $d/x/y; : >$d/x/empty
             for i in $(seq 20); do echo $d$i >$d/x/y/$i; done; done
             git add .; git commit -qm all; echo changed >c/x/y/7",
        );
        assert_eq!(
            mounted.shell("cd tree; find . -size 0b -type f | sort"),
            "./a/x/empty\n./b/x/empty\n./c/x/empty\n./d/x/empty\n"
        );
        assert_eq!(mounted.shell("cd tree; git diff --numstat"), "1\t1\tc/x/y/7\n", "on {locks}");
    }
}
