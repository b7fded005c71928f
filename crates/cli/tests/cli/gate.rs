//! `turnwise profile --for` and `--fail-above`: when a program is stopped, and what the exit status tells.

use crate::common::{expect, expect_complaint, scratch, shown};
use std::time::{Duration, Instant};

#[test]
fn a_program_is_stopped_when_its_time_is_up() {
    let began = Instant::now();
    for way in [&["--for", "400ms"][..], &["--waits", "--for", "400ms"]] {
        let (report, complaint) = expect(124, &[&["profile"], way, &["--", "@sample", "-s", "600"]].concat());
        assert!(report.contains("LOCKS BY WAIT TIME") && report.contains("ended by signal 15"), "{way:?}: {report}");
        assert!(complaint.contains("the time of --for is up"), "{way:?}: {complaint}");
    }
    assert!(began.elapsed() < Duration::from_secs(120));
    let (report, _) = expect(7, &["profile", "--for", "600s", "--", "sh", "-c", "exit 7"]);
    assert!(report.contains("exit status 7"), "{report}");
    let obedient = "trap 'exit 3' TERM; while :; do sleep 0.05; done";
    let (report, _) = expect(124, &["profile", "--for", "400ms", "--", "sh", "-c", obedient]);
    assert!(report.contains("exit status 3"), "{report}");
}

#[test]
fn so_is_what_it_has_started_and_what_ignores_the_request() {
    let directory = scratch();
    let pid = directory.path().join("pid");
    let starts = format!("sleep 600 & echo $! >{}; wait", shown(&pid));
    expect(124, &["profile", "--for", "1s", "--", "sh", "-c", &starts]);
    let pid = std::fs::read_to_string(pid).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.as_ref().map_or(true, |stat| stat.contains(") Z ")), "{stat:?}");
    let stubborn = "trap '' TERM; while :; do sleep 0.05; done";
    let (report, complaint) = expect(137, &["profile", "--for", "300ms", "--", "sh", "-c", stubborn]);
    assert!(report.contains("ended by signal 9") && complaint.contains("SIGKILL"), "{report}\n{complaint}");
}

#[test]
fn the_exit_status_tells_whether_threads_waited_too_long_for_a_lock() {
    let directory = scratch();
    let file = directory.path().join("p.json");
    let json = ["profile", "--fail-above", "0%", "--json", shown(&file)];
    let (report, complaint) = expect(1, &[&json[..], &["--", "@sample", "-t", "4", "-s", "0.4"]].concat());
    assert!(report.contains("LOCKS BY WAIT TIME"), "{report}");
    let line = complaint.lines().find_map(|line| line.strip_prefix("turnwise: --fail-above 0%: `cache`: "));
    let line = line.unwrap_or_else(|| panic!("{complaint}"));
    assert!(
        line.starts_with("threads waited ") && line.contains("% of their time") && line.contains("cache.c:"),
        "{line}"
    );
    let from = ["profile", "--from", shown(&file), "--fail-above"];
    expect(0, &[&from[..], &["100%"]].concat());
    expect(1, &[&from[..], &["0"]].concat());
    expect(0, &["profile", "--for", "300ms", "--fail-above", "5%", "--", "sleep", "600"]);
    expect(7, &["profile", "--fail-above", "0%", "--", "sh", "-c", "exit 7"]);
    expect_complaint(2, &["profile", "--fail-above", "6 s", "--", "true"], &["as 5% or 0.5%, and not `6 s`"]);
    expect_complaint(2, &["profile", "--fail-above", "5%", "--futex", "--", "true"], &["cannot be used with"]);
}
