//! The text report: whatever the program's names are, lines are short, figures whole, and no text is a command.

use super::fixture;
use textwrap::core::display_width;
use turnwise_profile::model::{Awaited, Distribution, Lock, LockKind, Profile, Usage};
use turnwise_profile::output::headlines;
use turnwise_profile::text::report;

/// Returns the server's profile with long names everywhere.
fn named(part: &str) -> Profile {
    let mut profile = fixture::server();
    let long = |number: usize| format!("{number}{}{number}", part.repeat(200 / display_width(part)));
    profile.program.command = vec![long(0)];
    for (number, lock) in profile.locks.iter_mut().enumerate() {
        (lock.name, lock.symbol) = (long(number), Some(long(number)));
    }
    for (number, frame) in profile.frames.iter_mut().enumerate() {
        frame.function = long(number);
        (frame.file, frame.module) = (frame.file.as_ref().map(|_| long(number)), long(number));
    }
    profile.threads.iter_mut().for_each(|thread| thread.name = long(3));
    profile.conditions.iter_mut().for_each(|condition| condition.name = long(4));
    profile
}

/// Returns the beginning of a line, and the figures after its name.
fn figures(line: &str) -> Option<(&str, &str)> {
    const STARTS: [&str; 5] = ["Most of it for: ", "Most of it in: ", "while held by ", "called from ", "made by: "];
    let start = STARTS.into_iter().find(|start| line.trim_start().starts_with(start))?;
    let end = if start.starts_with("Most") { line.rfind(" (")? } else { line.rfind(": ")? };
    Some((start, &line[end..]))
}

#[test]
fn long_names_cost_no_figure_and_no_line_is_wider_than_100_columns() {
    let short = report(&fixture::server());
    assert!(short.lines().all(|line| display_width(line) <= 100), "{short}");
    let wanted: Vec<(&str, &str)> =
        short.lines().filter_map(figures).filter(|(start, _)| *start != "made by: ").collect();
    assert!(wanted.len() > 10, "{short}");
    for part in ["x", "std::vector<", "锁"] {
        let long = report(&named(part));
        for line in long.lines() {
            assert!(display_width(line) <= 100, "{} columns: {line}", display_width(line));
        }
        for (start, end) in &wanted {
            let is_there = |line: &str| line.trim_start().starts_with(start) && line.ends_with(end);
            assert!(long.lines().any(is_there), "no {start}…{end} in\n{long}");
        }
        let blocked: Vec<&str> = long.lines().skip_while(|line| !line.starts_with("Blocked by: ")).take(2).collect();
        assert!(blocked.iter().all(|line| line.contains('…')) && blocked[1].ends_with(" waited"), "{blocked:?}");
        let words = long.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("hold time are those of each site's first waits"), "the footnote is whole");
    }
}

#[test]
fn names_have_both_ends() {
    let mut profile = fixture::server();
    profile.locks[0].name = format!("made in Klass<{}>::open (file.cc:7)", "int, ".repeat(100));
    let report = report(&profile);
    let line = report.lines().find(|line| line.starts_with("Most of it for: ")).expect("there is one");
    assert!(line.contains("made in Klass<int") && line.contains(">::open (file.cc:7) ("), "{line}");
}

#[test]
fn nothing_of_the_program_reaches_the_terminal_as_a_command() {
    let mut profile = fixture::hostile();
    profile.threads[0].name = "a\u{1b}]0;title\u{7}\nTHREADS\u{9b}2J".to_owned();
    profile.threads.truncate(2);
    let report = report(&profile);
    assert!(!report.chars().any(|c| c.is_control() && c != '\n'), "{report}");
    assert!(report.contains("a ]0;title  THREADS 2J (4711)"), "{report}");
    assert!(report.lines().all(|line| display_width(line) <= 100), "{report}");
}

#[test]
fn a_program_without_locks_is_shown_its_futexes_alone() {
    let report = report(&fixture::program(5_000_000));
    assert!(
        report.starts_with("./kvserver --threads 6 --db /srv/data base: 5.00 ms, 0 threads, libc locks\nIt took no")
    );
    assert!(report.contains("`turnwise profile --futex -- CMD`"), "{report}");
    assert_eq!(report.lines().count(), 3, "{report}");
}

#[test]
fn waits_that_are_not_for_pthreads_locks_are_told_by_their_kind() {
    let mut profile = fixture::program(5_000_000);
    let wait = Distribution { count: 7, sum_ns: 7_000, max_ns: 1_000, buckets: vec![(1_000, 7)] };
    let usage = Usage { contended: 7, wait: wait.clone(), ..Usage::default() };
    let (name, kind) = ("shop::INVENTORY".to_owned(), LockKind::RustMutex);
    profile.locks.push(Lock { name, kind, usage, wake_ups: (9, 2), ..Lock::default() });
    let (name, kind) = ("items".to_owned(), LockKind::CppSemaphore);
    profile.awaited.push(Awaited { name, kind, wait, wake_ups: (80_000, 79_993), ..Awaited::default() });
    let report = report(&profile);
    assert!(report.contains("Waited for locks: 7.00 us"), "{report}");
    assert!(report.contains("shop::INVENTORY at 0x0, std::sync::Mutex\n"), "{report}");
    assert!(report.contains("9 wake-ups, 2 of which woke nobody; acquisitions, holds"), "{report}");
    let row = report.lines().find(|line| line.ends_with("std::counting_semaphore: items")).expect("its row");
    assert!(row.contains("80.0 k") && !report.contains("--futex"), "{report}");
    let lines = headlines(&profile).join("\n");
    assert!(lines.contains("Besides: 79995 wake-up calls woke nobody."), "{lines}");
    assert!(!lines.contains("holds last") && !lines.contains("acquisition"), "{lines}");
}

#[test]
fn one_thing_is_one() {
    let mut profile = fixture::program(5_000_000);
    let usage = Usage { acquisitions: 1, ..Usage::default() };
    profile.locks.push(Lock { name: "once".to_owned(), usage, ..Lock::default() });
    profile.threads.push(Default::default());
    let report = report(&profile);
    assert!(report.contains(", 1 thread, ") && report.contains("0 of 1 acquisition waited"), "{report}");
}

#[test]
fn call_sites_have_a_table() {
    let report = report(&fixture::server());
    let table: Vec<&str> = report.lines().skip_while(|line| *line != "CALL SITES BY WAIT TIME").take(10).collect();
    assert!(table[1].ends_with("contended acquisitions hold mean  call site"), "{table:#?}");
    assert!(table[2].contains("Cache::") || table[2].contains("Shard::find"), "{table:#?}");
    assert!(table[2].contains("(shard.h:77)") && !table[2].contains(" for "), "no room for both: {table:#?}");
    assert!(table[9].ends_with("count (stats.h:9) for stats+0"), "{table:#?}");
}

#[test]
fn what_only_starts_programs_is_not_reported() {
    let report = report(&fixture::server());
    let line = report.lines().find(|line| line.trim_start().starts_with("made by: ")).expect("one was made");
    assert_eq!(line, "  made by: Log::Log() (log.cc:19) < main (main.cc:70)");
}

#[test]
fn shares_of_blocking_are_of_the_waits_whose_holder_was_seen() {
    let mut profile = fixture::server();
    let line = |profile: &Profile| {
        let report = report(profile);
        report
            .lines()
            .skip_while(|line| !line.starts_with("Blocked by"))
            .find(|line| line.contains("whose holder"))
            .map(str::to_owned)
    };
    assert_eq!(line(&profile), None, "it was seen of all");
    profile.blocked.truncate(1);
    let shown = line(&profile).expect("it is shown");
    assert!(shown.contains(", 100% of the ") && shown.contains("% whose holder was seen)"), "{shown}");
    let headline = turnwise_profile::output::headlines(&profile).join(" ");
    assert!(headline.contains(", 100% of the ") && headline.contains("% whose holder was seen."), "{headline}");
}

#[test]
fn a_deadlock_is_the_first_line() {
    let mut profile = fixture::server();
    profile.deadlocks = vec![fixture::deadlock()];
    profile.recording.still_waiting = 2;
    let report = report(&profile);
    let shown = report.split("./kvserver").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        shown,
        "DEADLOCK: 2 threads wait for each other: `worker-1 4712` waits for `cache_lock`, which `worker-2 4713` has; \
         `worker-2 4713` waits for `sessions`, which `worker-1 4712` has."
    );
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("%), 2 waits had not ended Most"), "{report}");
}
