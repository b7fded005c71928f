//! `turnwise-lab bench`: names, files and formats. (Its measurements are tested in lab/bench.)

use crate::common::{expect, expect_complaint, scratch, shown};

#[test]
fn unknown_names_are_refused_and_the_nearest_suggested() {
    expect_complaint(2, &["bench", "rwlok"], &["similar value exists: 'rwlock'", "lineage"]);
    expect_complaint(2, &["bench", "rwlock", "--lock", "pthread-writer"], &["similar value exists: 'pthread-writers'"]);
    expect_complaint(2, &["bench", "--lock", "pthread-writers"], &["parking_lot"]);
    expect_complaint(2, &["bench", "spin", "--scenario", "tight-3"], &["similar value exists: 'tight-2'"]);
    expect_complaint(2, &["bench", "--samples", "0"], &["--samples"]);
    let args = ["bench", "seqlock", "--lock", "seqrwlock", "--json", "/no/such/directory/x.json"];
    expect_complaint(2, &args, &["/no/such/directory/x.json"]);
    let args = ["bench", "seqlock", "--lock", "seqrwlock", "--html", "/no/such/directory/x.html"];
    expect_complaint(2, &args, &["cannot write --html=/no/such/directory/x.html"]);
}

#[test]
fn every_subject_is_in_the_help_and_has_a_list() {
    let (help, _) = expect(0, &["bench", "--help"]);
    for subject in ["mutex", "rwlock", "seqlock", "refcount", "spin", "lineage"] {
        assert!(help.contains(&format!("- {subject}:")), "{help}");
        let (list, _) = expect(0, &["bench", subject, "--list"]);
        assert!(list.starts_with(subject) && list.contains("scenarios (name, group)"), "{list}");
    }
}

#[test]
fn a_short_run_writes_all_files() {
    let directory = scratch();
    let [json, markdown, html] = ["r.json", "r.md", "r.html"].map(|name| directory.path().join(name));
    let args = ["bench", "seqlock", "--scenario", "read", "--samples", "1", "--sample-ms", "2"];
    let files = ["--json", shown(&json), "--markdown", shown(&markdown), "--html", shown(&html)];
    let (text, _) = expect(0, &[args.as_slice(), &files].concat());
    assert!(text.contains("speed / seqlock"), "{text}");
    let again = directory.path().join("again.md");
    let page_again = directory.path().join("again.html");
    let files = ["--markdown", shown(&again), "--html", shown(&page_again)];
    let (text_again, _) = expect(0, &[["bench", "--from", shown(&json)].as_slice(), &files].concat());
    assert_eq!(text_again, text, "the report can be shown again");
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&markdown).unwrap());
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page == std::fs::read_to_string(&page_again).unwrap());
    assert!(page.starts_with("<!doctype html>") && page.contains("<h2>read: 1 reader"), "{page}");
    expect_complaint(2, &["bench", "--from", shown(&markdown)], &["r.md", "not a report"]);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["format"], "turnwise-bench/3");
    assert_eq!(report["subject"], "seqlock");
    assert_eq!(report["scenarios"][0]["locks"][0]["name"], "seqrwlock");
    let markdown = std::fs::read_to_string(markdown).unwrap();
    assert!(markdown.contains("## read: 1 reader") && markdown.contains("| seqrwlock"), "{markdown}");
}
