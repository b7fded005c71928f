//! The command's flags and files.

use super::text::{page, render};
use super::{BenchArgs, measured, run};
use crate::document::Style;
use clap::Parser;
use turnwise_bench::report::{LeftOut, Report};
use turnwise_bench::subject::SUBJECTS;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    bench: BenchArgs,
}

fn parse(line: &str) -> Result<BenchArgs, clap::Error> {
    Cli::try_parse_from(["bench"].into_iter().chain(line.split_whitespace()))?.bench.checked()
}

fn args(line: &str) -> BenchArgs {
    parse(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[test]
fn wrong_names_and_numbers_are_refused_with_the_right_ones() {
    let cases = [
        ("--lock turnwise", "parking_lot"),
        ("--lock parkinglot", "a similar value exists: 'parking_lot'"),
        ("rwlok", "a similar value exists: 'rwlock'"),
        ("rwlock --lock pthread-adaptive", "pthread-writers"),
        ("rwlock --scenario 8x95/4", "'8x95/5'"),
        ("seqlock --against spin", "seqlock, std"),
        ("--scenario 3x50/100", "2x50/100"),
        ("--against nobody", "pthread-adaptive"),
        ("--samples 0", "1..=10000"),
        ("--sample-ms many", "invalid digit"),
    ];
    for (line, hint) in cases {
        let error = parse(line).expect_err(line).to_string();
        assert!(error.contains(hint), "{line}: {error}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_found_out_at_once() {
    let error = run(args("--json /nowhere/at/all.json")).expect_err("there is no such folder");
    assert!(format!("{error:#}").contains("/nowhere/at/all.json"), "{error:#}");
}

#[test]
fn the_report_survives_json_and_names_everything_in_both_styles() {
    let report = measured(&args("--samples 2 --sample-ms 5 --scenario uncontended 2x50/100 --lock mutex,std,spin"));
    let report = report.unwrap_or_else(|e| panic!("{e:#}"));
    let json = serde_json::to_string(&report).expect("a report has a JSON form");
    let again: Report = serde_json::from_str(&json).expect("what was written can be read");
    assert_eq!(render(&again, Style::Plain), render(&report, Style::Plain));
    assert_eq!(again.scenarios.len(), 2);
    for scenario in &again.scenarios {
        assert_eq!(scenario.reference.as_deref(), Some("std"), "spin only spins");
        let names: Vec<_> = scenario.locks.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["mutex", "std", "spin"]);
        assert!(scenario.locks.iter().all(|l| l.rounds_ns.len() == 2), "{}", scenario.name);
    }
    assert!(again.scenarios[0].locks[0].wait.is_none(), "nobody waits alone");
    assert_eq!(again.verdicts, report.verdicts);
    let best = again.verdicts[0].best_peer.as_ref().expect("a peer ran");
    assert_eq!((again.verdicts[0].lock.as_str(), best.cells, best.worst.against.as_str()), ("mutex", 2, "std"));
    for style in [Style::Plain, Style::Markdown] {
        let text = render(&report, style);
        for part in [
            "uncontended",
            "2x50/100",
            "mutex",
            "on_cpu layer",
            "longest wait",
            "speed / std",
            "the best peer",
            "worst cell",
        ] {
            assert!(text.contains(part), "{style:?} lacks {part}:\n{text}");
        }
    }
}

#[test]
fn the_page_has_every_part_and_asks_for_nothing() {
    let report = measured(&args("--samples 2 --sample-ms 5 --scenario 2x50/100,open-25k --lock mutex,std,spin"));
    let mut report = report.unwrap_or_else(|e| panic!("{e:#}"));
    report.scenarios[0].locks[2].name = "<script>".to_owned();
    report.left_out.push(LeftOut { scenario: "quota-one".to_owned(), why: "be root".to_owned() });
    let page = page(&report);
    for part in [
        "default-src 'none'",
        "<h1>Locks on this machine, compared: mutexes</h1>",
        "<h2>verdict</h2>",
        "<h2>ours against the reference</h2>",
        "speed; right of the line ours is faster",
        "<h2>2x50/100: 2 threads",
        "time per operation",
        "99th percentile of the waits",
        "<h2>quota-one: left out</h2>\n<p class=\"hint\">be root</p>",
        "&lt;script&gt;",
        "What the figures are",
    ] {
        assert!(page.contains(part), "no {part} in:\n{page}");
    }
    for request in ["<script", "src=", "href=", "@import", "url(", "NaN"] {
        assert!(!page.contains(request), "{request}");
    }
    let tags = |tag: &str| (page.matches(&format!("<{tag}")).count(), page.matches(&format!("</{tag}>")).count());
    for tag in ["section", "table", "svg", "g ", "div"] {
        let (opened, closed) = (tags(tag).0, tags(tag.trim_end()).1);
        assert_eq!(opened, closed, "{tag}");
    }
}

#[test]
fn a_report_from_before_verdicts_is_judged_when_it_is_read() {
    let report = measured(&args("--samples 1 --sample-ms 2 --scenario 2x50/100 --lock mutex,std")).expect("it runs");
    let mut json = serde_json::to_value(&report).expect("a report has a JSON form");
    json.as_object_mut().expect("it is one").remove("verdicts");
    let file = tempfile::NamedTempFile::new().expect("there is room");
    std::fs::write(file.path(), json.to_string()).expect("it can be written");
    let again = Report::read(file.path()).expect("it can be read");
    assert_eq!((again.verdicts.len(), again.verdicts), (1, report.verdicts));
}

#[test]
fn the_lock_to_compare_with_runs_too() {
    let report = measured(&args("--samples 1 --sample-ms 2 --scenario uncontended --lock mutex --against pthread"));
    let report = report.expect("it runs");
    let scenario = &report.scenarios[0];
    assert_eq!(scenario.locks.len(), 2);
    assert_eq!(scenario.reference.as_deref(), Some("pthread"));
    assert!(scenario.locks.iter().all(|l| l.speed.is_some()), "{scenario:?}");
}

#[test]
fn reads_and_writes_are_reported_apart_and_survive_json() {
    let report = measured(&args("rwlock --samples 1 --sample-ms 5 --scenario 2x50/50,1w7r --lock rwsem,std"));
    let report = report.unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!((report.format.as_str(), report.subject.as_str()), ("turnwise-bench/3", "rwlock"));
    let json = serde_json::to_string(&report).expect("a report has a JSON form");
    let again: Report = serde_json::from_str(&json).expect("what was written can be read");
    assert_eq!(render(&again, Style::Markdown), render(&report, Style::Markdown));
    for lock in again.scenarios.iter().flat_map(|s| &s.locks) {
        let (reads, writes) = (lock.reads.as_ref().expect("some read"), lock.writes.as_ref().expect("some write"));
        assert!(reads.op_ns.is_some() && writes.op_ns.is_some() && reads.speed.is_some(), "{lock:?}");
        let sum = |w: &Option<_>| w.map_or(0, |w: turnwise_bench::report::Waits| w.count);
        assert_eq!(sum(&reads.wait) + sum(&writes.wait), sum(&lock.wait), "{lock:?}");
    }
    let text = render(&report, Style::Plain);
    for part in ["1w7r", "per read", "per write", "longest read wait", "longest write wait", "reads "] {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
}

#[test]
fn papers_are_laid_beside_what_was_measured() {
    let report = measured(&args(
        "lineage --samples 2 --sample-ms 5 --scenario rwsem-8 --lock rwsem-spinlock-fifo,rwsem-spinlock-stealing",
    ));
    let report = report.unwrap_or_else(|e| panic!("{e:#}"));
    let switches = report.documents.iter().find(|row| row.unit == "voluntary switches/s").expect("they were counted");
    let published = switches.published.as_ref().expect("the document counted them, too");
    assert_eq!((published.before, published.after), (640_595_016.0, 157_915_561.0));
    assert!(switches.before.value.is_some() && switches.after.value.is_some(), "{switches:?}");
    let json = serde_json::to_string(&report).expect("a report has a JSON form");
    let again: Report = serde_json::from_str(&json).expect("what was written can be read");
    for style in [Style::Plain, Style::Markdown] {
        let text = render(&again, style);
        for part in [
            "the papers, here and as published",
            "rwsem-spinlock-fifo -> rwsem-spinlock-stealing",
            "157915561",
            "rwsem_stealing",
        ] {
            assert!(text.contains(part), "{style:?} lacks {part}:\n{text}");
        }
    }
}

#[test]
fn every_subject_has_a_list_and_a_quick_run_that_ends() {
    let all = args("--list").lists();
    for subject in SUBJECTS.iter() {
        assert!(all.contains(&format!("{}: {}", subject.name, subject.help)), "{all}");
        let list = args(&format!("{} --list", subject.name)).lists();
        let names = subject.locks().into_iter().map(|l| l.name).chain(subject.scenarios().map(|s| s.name));
        names.for_each(|name| assert!(list.contains(name), "no {name} in {list}"));
        let first = subject.scenarios().next().expect("it has some").name;
        let report = measured(&args(&format!("{} --samples 1 --sample-ms 1 --scenario {first}", subject.name)));
        let report = report.unwrap_or_else(|e| panic!("{}: {e:#}", subject.name));
        assert!(!report.scenarios[0].locks.is_empty(), "{}", subject.name);
    }
}

#[test]
fn a_scenario_without_any_lock_asked_for_is_left_out() {
    let report = measured(&args("--samples 1 --sample-ms 1 --scenario uncontended --lock mcs")).expect("it runs");
    assert_eq!(report.scenarios[0].reference, None, "no peer ran");
}

#[test]
fn a_group_brings_its_own_locks_and_reference() {
    let report = measured(&args("--samples 1 --sample-ms 2 --scenario on-cpu-2-short")).expect("it runs");
    let names: Vec<_> = report.scenarios[0].locks.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["mutex", "mutex-blind"]);
    assert_eq!(report.scenarios[0].reference.as_deref(), Some("mutex-blind"));
}
