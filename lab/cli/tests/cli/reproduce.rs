//! `turnwise-lab reproduce`: one paper in all forms, and refusals.

use crate::common::{expect, expect_complaint, scratch, shown};
use serde_json::Value;

#[test]
fn a_paper_is_reproduced_in_all_forms() {
    let directory = scratch();
    let file = |name: &str| shown(&directory.path().join(name)).to_owned();
    let (json, html, markdown) = (file("r.json"), file("r.html"), file("r.md"));
    let command = ["reproduce", "spin_backoff", "--quick", "--seed", "7"];
    let outputs = ["--json", &json, "--html", &html, "--markdown", &markdown];
    let (text, errors) = expect(0, &[&command[..], &outputs].concat());
    let written: String = [&json, &html, &markdown].map(|file| format!("wrote {file}\n")).concat();
    assert_eq!(errors, written, "no bars without a terminal");
    for part in ["altix-64", "Fitted: ", "64 CPUs, inode-lock-backoff, user", "967.31", "\nLeft out\n", "seed 7"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert_eq!(text.lines().find(|line| line.chars().count() > 120), None, "all fits 120 columns");

    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).expect("it was written");
    let report: Value = serde_json::from_str(&read("r.json")).expect("a JSON document");
    assert_eq!(report["format"], "turnwise-reproduction/3");
    assert_eq!((&report["seed"], &report["quick"]), (&Value::from(7), &Value::from(true)));
    assert_eq!(report["score"]["claims"].as_u64(), report["documents"][0]["claims"].as_array().map(|c| c.len() as u64));
    assert_eq!(report["documents"][0]["tables"][0]["rows"].as_array().map(Vec::len), Some(24));
    let page = read("r.html");
    assert!(page.contains("<svg") && page.contains("default-src 'none'") && !page.contains("<script"), "{page}");
    assert!(page.contains("All open and read the same file: wall time"));
    let page = read("r.md");
    assert!(page.starts_with("# The papers, reproduced\n"), "{page}");
    let fitted = "acquisitions between two barriers: ";
    let reported = page.lines().find(|line| line.contains(fitted)).expect(fitted);
    assert!(reported.contains("on \"8 CPUs, inode-lock-spin, user\""), "the row's label, not its key: {reported}");
    let (held, claims) = (&report["score"]["claims_held"], &report["score"]["claims"]);
    for form in [&text, &page] {
        assert!(form.contains(&format!("{held} of {claims} claims hold")), "{form}");
        let (answer, _) = form.split_once("Appendix: every row").expect("an appendix");
        assert!(answer.contains("To settle it:") && answer.contains("back-off") && !answer.contains("967.31"));
        assert!(answer.lines().count() < 60, "one of five documents: {answer}");
    }
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| 8 CPUs, inode-lock-spin, wall |")).collect();
    let [judged, today] = rows[..] else {
        panic!("the row and, in a table of its own, that of today's lock: {rows:?}")
    };
    assert!(judged.contains("| 3.99 |") && judged.contains("fitted") && !today.contains("fitted"), "{page}");
    assert!(page.contains("turnwise-lab reproduce spin_backoff --quick --seed 7"), "{page}");
    let (text_again, _) = expect(0, &["reproduce", "--from", &json, "--markdown", &file("again.md")]);
    assert!(text_again == text && read("again.md") == page, "the report can be shown again");
}

#[test]
fn bands_stand_beside_the_rows_and_parts_of_them_give_the_same() {
    let directory = scratch();
    let file = |name: &str| shown(&directory.path().join(name)).to_owned();
    let (whole, report, parted) = (file("whole.json"), file("report.json"), file("parted.json"));
    let command = ["reproduce", "rwsem_stealing", "--quick"];
    let bands = [&command[..], &["--bands", "--samples", "6"]].concat();
    let (text, _) = expect(0, &[&bands[..], &["--json", &whole]].concat());
    for part in ["What the papers leave open", "throughput, ratio", "hold_ns, 150 to 1000: derived", "| in draws"] {
        assert!(text.contains(part.trim_start_matches("| ")), "no {part} in\n{text}");
    }
    expect(0, &[&command[..], &["--json", &report]].concat());
    let part = |k: &str| {
        let json = file(&format!("part{k}.json"));
        expect(0, &[&bands[..], &["--partition", &format!("{k}/2"), "--json", &json]].concat());
        json
    };
    let parts = [part("1"), part("2")];
    expect(0, &["reproduce", "--from", &report, "--draws", &parts[1], &parts[0], "--json", &parted]);
    let read = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(name).expect("it was written")).expect("a JSON document")
    };
    let (whole, parted) = (read(&whole), read(&parted));
    assert_eq!((&whole["documents"], &whole["score"]), (&parted["documents"], &parted["score"]));
    let bands = |verdict: &str| whole["score"][verdict].as_u64().expect("a count");
    assert!(bands("rows_inside") + bands("rows_outside") + bands("rows_open") > 2, "{}", whole["score"]);
    let missing = ["reproduce", "--from", &report, "--draws", &parts[0]];
    expect_complaint(2, &missing, &["rwsem_stealing", "missing or there twice: 3 of 6"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    expect_complaint(2, &["reproduce", "spin_backof"], &["invalid value 'spin_backof'", "similar", "'spin_backoff'"]);
    expect_complaint(2, &["reproduce", "--samples", "9"], &["--bands"]);
    expect_complaint(2, &["reproduce", "--bands", "--partition", "3/2", "--json", "p.json"], &["no part 3 of 2"]);
    expect_complaint(2, &["reproduce", "--jobs", "0"], &["--jobs", "1.."]);
    expect_complaint(2, &["reproduce", "--from", "r.json", "--quick"], &["cannot be used with"]);
    expect_complaint(2, &["reproduce", "--from", "/no/such/r.json"], &["cannot read /no/such/r.json"]);
    expect_complaint(2, &["reproduce", "--markdown", "/no/such/folder/r.md"], &["cannot write --markdown"]);
}
