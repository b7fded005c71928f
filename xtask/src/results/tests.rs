//! Pages and pictures of reports on record, and of some that are made up.

use super::*;
use serde_json::json;

/// A folder of reports with pages and pictures next to it, made by
/// `cargo xtask results --from xtask/tests/results/2026-11-24-amd-epyc-2-0123456789ab --to xtask/tests/results`.
const FIXTURE: &str = "tests/results";
const RECORD: &str = "2026-11-24-amd-epyc-2-0123456789ab";

#[test]
fn pages_and_pictures_are_made_again_byte_for_byte() {
    let copy = tempfile::tempdir().unwrap();
    let (fixture, runs) = (Path::new(FIXTURE), copy.path().join(RECORD));
    std::fs::create_dir(&runs).unwrap();
    for file in fixture.join(RECORD).read_dir().unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), runs.join(file.file_name())).unwrap();
    }
    for name in ["mutex", "reproduction", "programs"] {
        rewrite(&runs, Subject::named(name).unwrap(), copy.path()).unwrap();
        // The page of the reproduction links pages of docs, which lie elsewhere from here.
        let kinds = if name == "reproduction" { &["svg"][..] } else { &["svg", "md"] };
        for kind in kinds {
            let file = format!("{name}.{kind}");
            let text = |folder: &Path| std::fs::read_to_string(folder.join(&file)).unwrap();
            assert!(text(copy.path()) == text(fixture), "{file} is now:\n{}", text(copy.path()));
        }
    }
}

#[test]
fn the_picture_on_record_is_that_of_the_reports_on_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let newest = record::newest_of_each(&root.join(RUNS), "programs.json", None).unwrap();
    let on_record = std::fs::read_to_string(root.join(PAGES).join("programs.svg")).unwrap();
    let drawn = picture(Subject::named("programs").unwrap(), &newest[0]).unwrap();
    assert!(drawn == on_record, "draw it again: cargo xtask results --from FOLDER programs");
}

fn drawn(programs: &[Value]) -> Result<String> {
    let report = json!({
        "format": "turnwise-programs/1", "date": "2026-11-22", "commit": "fc7c03365d3b", "names": [], "runs": 6,
        "programs": programs,
    });
    Subject::named("programs")?.picture(&[report])
}

fn program(name: &str, bound: bool, speed: [f64; 3]) -> Value {
    let machine =
        json!({ "cpus": 2, "cpu_model": "Intel(R) Xeon(R) Processor", "kernel": "6.18", "libc": "glibc 2.36" });
    let measured = json!({ "medians": [1.0, 1.0], "spread": [0.0, 0.0], "speed": speed, "machine": machine });
    json!({ "name": name, "bound": bound, "lower": true, "is_test": false, "outcome": { "measured": measured } })
}

#[test]
fn a_report_is_drawn_with_its_machine_and_losers() {
    let gone = json!({ "name": "gone", "bound": true, "lower": true, "is_test": false,
        "outcome": { "skipped": "not here" } });
    let programs = [program("b", false, [0.58, 0.39, 1.1]), gone, program("a", true, [1.5, 1.25, 2.0])];
    let drawn = drawn(&programs).unwrap();
    assert!(drawn.contains("2 x Intel Xeon, 2026-11-22, commit fc7c033, 6 interleaved runs each"), "{drawn}");
    let names: Vec<&str> = drawn.lines().filter(|line| line.contains("x=\"200\"")).collect();
    assert!(names.len() == 2 && names[0].ends_with(">a</text>") && names[0].contains("bound"), "{names:?}");
    assert!(names[1].ends_with(">b</text>"), "{names:?}");
}

#[test]
fn the_axis_reaches_as_far_as_the_intervals() {
    let drawn = drawn(&[program("a", false, [9.0, 0.1, 95.0])]).unwrap();
    let dot = drawn.lines().find(|line| line.starts_with("<g class=\"m0\">")).unwrap();
    let end = |name: &str| -> f64 {
        let value = dot.split(&format!(" {name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().parse().unwrap()
    };
    assert!(end("x1") >= 210.0 && end("x1") < end("x2") && end("x2") <= 815.0, "{dot}");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    assert!(format!("{:#}", drawn(&[]).unwrap_err()).contains("no program with a speed"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("programs.json"), "{}").unwrap();
    let refused = picture(Subject::named("programs").unwrap(), folder.path()).unwrap_err();
    assert!(format!("{refused:#}").contains("not a report of `cargo xtask programs`"), "{refused:#}");
}
