//! The pages of `turnwise-lab sim --html`, `reproduce --html` and `bench --html` in a browser, as users have them:
//! pointer, keys, light and dark.
//!
//! Skipped, with a message, where there is no Chromium.

#[path = "../../../../crates/profile/tests/browser/chromium.rs"]
mod chromium;
#[path = "../../src/sim/tests/fixture.rs"]
#[allow(dead_code, reason = "the program's own tests need all of it")]
mod fixture;

use chromium::Browser;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use turnwise_simbench::report::SimReport;

/// Returns the report as a page, made by the program.
fn page(directory: &Path, report: &SimReport) -> std::path::PathBuf {
    let (json, html) = (directory.join("report.json"), directory.join("report.html"));
    std::fs::write(&json, serde_json::to_string(report).expect("a report has a JSON form")).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnwise-lab"));
    command.args(["sim", "merge"]).arg(&json).arg("--html").arg(&html).stdout(Stdio::null()).stderr(Stdio::null());
    // A report with a stuck cell has a status of its own.
    let status = command.env_remove("LD_PRELOAD").status().expect("turnwise-lab starts");
    assert!(matches!(status.code(), Some(0 | 3)), "{status}");
    html
}

/// Opens the report's page and runs `look` on it; does nothing if there is no browser.
fn look(report: &SimReport, look: impl FnOnce(&mut Browser)) {
    let Some(name) = Browser::find() else {
        return eprintln!("skipped: no Chromium here; on Debian: apt-get install chromium");
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let mut browser = Browser::open(name, &page(directory.path(), report));
    look(&mut browser);
    assert_eq!(browser.complaints, Vec::<String>::new(), "the page has no errors");
}

fn report() -> SimReport {
    let mut report = fixture::report(&["mutex", "mcs", "ttas"], &[(1, 1), (10, 10), (20, 20), (80, 80)]);
    for (cell, speed) in report.cells.iter_mut().zip([1e6, 2e6, 3e6, 4e6, 1e6, 5e6, 123_456.0, 5e5, 1e6, 9e5, 8e5, 7e5])
    {
        cell.result.as_mut().expect("it ran").ops_per_s = speed;
    }
    report
}

const CURVES: &str = "document.querySelectorAll('#chart [data-line]').length";
const TIP: &str = "document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText";

#[test]
fn names_show_and_hide_their_curves() {
    look(&report(), |browser| {
        assert_eq!(browser.value(CURVES), 3);
        let top = "document.querySelector('#chart svg').textContent.includes('5M')";
        assert_eq!(browser.value(top), true, "mcs reaches 5 million");
        let mcs = "document.querySelectorAll('#legend button')[1]";
        browser.click(mcs);
        assert_eq!(browser.value(CURVES), 2);
        assert_eq!(browser.value(&format!("{mcs}.getAttribute('aria-pressed')")), "false");
        assert_eq!(browser.value("document.querySelectorAll('#chart [data-line=mcs]').length"), 0);
        assert_eq!(browser.value(top), false, "the axis fits what is left");
        // The same with the keyboard.
        browser.key(" ");
        assert_eq!(browser.value(CURVES), 3);
        assert_eq!(browser.value(&format!("{mcs}.getAttribute('aria-pressed')")), "true");
    });
}

#[test]
fn exact_values_appear_at_the_pointer_and_by_keys() {
    look(&report(), |browser| {
        assert_eq!(browser.value(TIP), "");
        browser.point("document.getElementById('chart')", -240.0);
        let tip = browser.value(TIP);
        let tip = tip.as_str().expect("a text");
        assert!(tip.contains("20 CPUs: throughput") && tip.contains("123,456"), "{tip}");
        let order: Vec<usize> = ["mutex", "ttas", "mcs"].map(|name| tip.find(name).expect(name)).to_vec();
        assert!(order.is_sorted(), "the fastest comes first: {tip}");
        browser.value("document.getElementById('chart').focus()");
        for (key, seen) in [("Home", "1 CPUs"), ("ArrowRight", "10 CPUs"), ("End", "80 CPUs"), ("ArrowLeft", "20 CPUs")]
        {
            browser.key(key);
            let tip = browser.value(TIP);
            assert!(tip.as_str().is_some_and(|tip| tip.starts_with(seen)), "{key}: {tip}");
        }
        let said = browser.value("document.getElementById('said').textContent");
        assert_eq!(said, "20 CPUs: mutex 3,000,000, ttas 800,000, mcs 123,456");
        browser.key("Escape");
        assert_eq!(browser.value(TIP), "");
    });
}

#[test]
fn metrics_and_axes_can_be_chosen() {
    look(&report(), |browser| {
        let metrics = browser.value("[...document.querySelectorAll('#metric option')].map((o) => o.value)");
        assert_eq!(metrics, json!(["ops", "p50", "p99", "max", "fairness", "across", "lines", "cpu"]));
        let height = "document.querySelector('#chart [data-line=mutex] .curve').getAttribute('d')";
        let linear = browser.value(height);
        browser.click("document.getElementById('y-log')");
        assert_ne!(browser.value(height), linear);
        browser.click("document.getElementById('x-log')");
        let ticks = "[...document.querySelectorAll('#chart text')].map((t) => t.textContent)";
        let ticks = browser.value(ticks);
        for simulated in ["1", "10", "20", "80"] {
            assert!(ticks.as_array().is_some_and(|ticks| ticks.contains(&json!(simulated))), "{simulated}: {ticks}");
        }
        browser.value(
            "(() => { const m = document.getElementById('metric'); m.value = 'fairness'; \
             m.dispatchEvent(new Event('change')); })()",
        );
        let label = browser.value("document.getElementById('chart').getAttribute('aria-label')");
        assert_eq!(label, "fairness, least/busiest thread, over CPUs");
    });
}

#[test]
fn the_table_sorts_and_the_bars_fill_the_width() {
    look(&report(), |browser| {
        let speeds = "document.querySelectorAll('#cells th button')[3]";
        let first = "document.querySelector('#cells tbody tr').innerText.split('\\t').slice(0, 2).join()";
        assert_eq!(browser.value(first), "mutex,1");
        browser.click(speeds);
        assert_eq!(browser.value(first), "mcs,20");
        browser.click(speeds);
        assert_eq!(browser.value(first), "mcs,10");
        assert_eq!(browser.value(&format!("{speeds}.parentNode.getAttribute('aria-sort')")), "descending");
        let widths = "[...document.querySelectorAll('#profile .bar > div')].map((bar) => [...bar.children].reduce( \
             (sum, part) => sum + part.offsetWidth, bar.children.length - 1) / bar.offsetWidth)";
        let widths = browser.value(widths);
        let widths: Vec<f64> = widths.as_array().expect("bars").iter().filter_map(|w| w.as_f64()).collect();
        assert_eq!(widths.len(), 4);
        assert!(widths.iter().all(|width| (0.98..1.02).contains(width)), "{widths:?}");
    });
}

#[test]
fn light_and_dark_have_enough_contrast_and_narrow_windows_no_overflow() {
    look(&report(), |browser| {
        for (scheme, dark) in [("light", false), ("dark", true)] {
            let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
            browser.ask("Emulation.setEmulatedMedia", features);
            let rates = browser.value(include_str!("../../../../crates/profile/tests/browser/contrast.js"));
            assert_eq!(rates["back"].as_f64().expect("a number") < 0.2, dark, "{scheme}: {rates}");
            for (name, rate) in rates.as_object().expect("rates").iter().filter(|(name, _)| *name != "back") {
                // As WCAG requires: 4.5 for text, 3 for graphics.
                let least = if name.starts_with("--c") { 3.0 } else { 4.5 };
                assert!(rate.as_f64().expect("a number") >= least, "{scheme} {name}: {rate}");
            }
        }
        narrow(browser, "document.querySelector('#chart svg').viewBox.baseVal.width <= 380");
    });
}

/// Checks that in a narrow window, once it has been drawn, nothing reaches beyond its side.
fn narrow(browser: &mut Browser, drawn: &str) {
    let narrow = json!({"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": false});
    browser.ask("Emulation.setDeviceMetricsOverride", narrow);
    browser.until(drawn);
    let beyond = "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll > *, svg') && \
         e.getBoundingClientRect().right > 380).map((e) => e.outerHTML.slice(0, 80))";
    assert_eq!(browser.value(beyond), json!([]));
    assert_eq!(browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0);
}

#[test]
fn what_got_stuck_is_reported_as_text() {
    let mut report = report();
    report.cells[3].result = Err(fixture::stuck());
    look(&report, |browser| {
        let shown = browser.value("document.getElementById('stuck').innerText");
        let shown = shown.as_str().expect("a text");
        for part in ["mutex on 80 CPUs", "deadlock at 1.5 ms", "waits for </script> lock", "--seed 9"] {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
        let points = "document.querySelectorAll('#chart [data-line=mutex] path').length";
        assert_eq!(browser.value(points), 4, "a line and three points");
    });
    look(&self::report(), |browser| assert_eq!(browser.value("document.getElementById('stuck').hidden"), true));
}

/// Returns the page that these arguments and `--html` write; nothing if there is no browser.
fn opened(arguments: &[&str]) -> Option<(Browser, tempfile::TempDir)> {
    let Some(name) = Browser::find() else {
        eprintln!("skipped: no Chromium here; on Debian: apt-get install chromium");
        return None;
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let html = directory.path().join("report.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnwise-lab"));
    command.args(arguments).arg("--html").arg(&html);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).env_remove("LD_PRELOAD").status();
    assert!(status.expect("turnwise-lab starts").success());
    Some((Browser::open(name, &html), directory))
}

#[test]
fn figures_of_a_benchmark_lie_on_their_axes_and_in_their_colours() {
    let arguments = ["bench", "--scenario", "2x50/100,8x50/100", "--lock", "mutex,std", "--samples", "3"];
    let Some((mut browser, _directory)) = opened(&[arguments.as_slice(), &["--sample-ms", "5"]].concat()) else {
        return;
    };
    let rows = "[...document.querySelectorAll('.chart .row')]";
    assert_eq!(browser.value(&format!("{rows}.length")), 6, "2 scenarios with 2 locks, and both of ours over all");
    let at = "(c) => +c.getAttribute('cx')";
    let outside = format!("[...document.querySelectorAll('circle')].map({at}).filter(x => !(x >= 256 && x <= 880))");
    assert_eq!(browser.value(&outside), json!([]));
    let inside = "(row => { const place = (e) => row.querySelector(e).getBoundingClientRect(); \
         const [line, dot] = [place('line'), place('circle')]; \
         return line.left <= dot.right && dot.left <= line.right; })";
    assert_eq!(browser.value(&format!("{rows}.every({inside})")), true, "a median lies in its range");
    let colours = "new Set([...document.querySelectorAll('.range')].map(line => getComputedStyle(line).stroke)).size";
    assert_eq!(browser.value(colours), 2, "ours and peers");
    for (scheme, dark) in [("light", false), ("dark", true)] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.ask("Emulation.setEmulatedMedia", features);
        let rates = browser.value(include_str!("../../../../crates/profile/tests/browser/contrast.js"));
        assert_eq!(rates["back"].as_f64().expect("a number") < 0.2, dark, "{scheme}: {rates}");
    }
    narrow(&mut browser, "document.querySelector('.chart svg').getBoundingClientRect().width <= 380");
    assert_eq!(browser.complaints, Vec::<String>::new(), "the page has no errors");
}

#[test]
fn curves_of_the_case_studies_have_colours_of_their_own() {
    let Some((mut browser, _directory)) = opened(&["reproduce", "handoff_spin", "--quick"]) else { return };
    let strokes = "[...document.querySelectorAll('.chart polyline')].map(line => getComputedStyle(line).stroke)";
    let colours = format!("new Set({strokes}.filter(stroke => stroke.startsWith('rgb'))).size");
    assert_eq!(browser.value(&format!("{strokes}.length")), 9, "2 published curves, 7 locks");
    assert_eq!(browser.value(&colours), 8, "as many as the page has");
    let score = "document.querySelector('.score').textContent";
    assert!(browser.value(score).as_str().is_some_and(|line| line.contains(" of 5 claims hold")));
    for (scheme, dark) in [("light", false), ("dark", true)] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.ask("Emulation.setEmulatedMedia", features);
        let rates = browser.value(include_str!("../../../../crates/profile/tests/browser/contrast.js"));
        assert_eq!(rates["back"].as_f64().expect("a number") < 0.2, dark, "{scheme}: {rates}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new(), "the page has no errors");
}
