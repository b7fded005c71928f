//! Hostile reports, which `--from` shows again.

use super::text::{page, render};
use crate::document::Style;
use crate::hostile::named;
use std::path::Path;
use turnwise_bench::report::Report;
use turnwise_fuzz::check;

#[test]
fn fuzz_bench_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bench.json");
    check("bench-report", 1000, Vec::new(), |input| {
        std::fs::write(&file, input).expect("room");
        match Report::read(&file) {
            Ok(report) => {
                std::hint::black_box([Style::Plain, Style::Markdown].map(|style| render(&report, style).len()));
                assert!(!page(&report).contains("<script"), "a page without a script");
            }
            Err(error) => named(format!("{error:#}"), "bench.json"),
        }
    });
}

/// A refused report would stop the target at once.
#[test]
fn the_corpus_has_a_sound_report() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof/fuzz/corpus/bench-report");
    let report = Report::read(&kept.join("readers-and-writers.json")).expect("it is one");
    assert!(render(&report, Style::Plain).contains("rwsem"));
}
