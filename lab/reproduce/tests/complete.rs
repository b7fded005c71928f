//! Each paper is reproduced completely: every published figure and claim has its row, and misses are explained.

use std::collections::HashSet;
use turnwise_bench::published;
use turnwise_present::progress::ProgressBar;
use turnwise_reproduce::pool::Pool;
use turnwise_reproduce::report::{PaperReport, Verdict};
use turnwise_reproduce::{Context, PAPERS};

fn report(name: &str) -> PaperReport {
    let bar = ProgressBar::hidden();
    let pool = Pool::new(2, &bar);
    let context = Context { seed: 1, quick: true, least: true, pool: &pool };
    let document = PAPERS.iter().find(|document| document.name == name).expect("it can be reproduced");
    document.run(&context).expect("it runs")
}

/// Every figure and claim of `published.toml` has its row; rows without ours state why; fitted are fewer than rows.
fn complete(name: &str) {
    let report = report(name);
    let rows: Vec<_> = report.tables.iter().flat_map(|table| &table.rows).collect();
    let shown: HashSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    for claim in published::claims(name) {
        assert!(shown.contains(claim.key.as_str()), "{}", claim.key);
    }
    for row in &rows {
        assert!(row.ours.is_some() || row.remark.is_some(), "{}", row.key);
        assert!(row.ours.is_none_or(f64::is_finite), "{}: {:?}", row.key, row.ours);
        let is_judged = row.bound.is_some() || row.fitted || row.unjudged.is_some();
        assert!(row.ours.is_none() || row.published.is_none() || is_judged, "{} has no bound", row.key);
    }
    let judged = rows.iter().filter(|row| row.judged().is_some()).count();
    assert!(report.fitted.len() < judged, "{} fitted, {judged} judged", report.fitted.len());
    for fitted in &report.fitted {
        let row = rows.iter().find(|row| row.key.ends_with(&fitted.on)).expect("it was fitted on a row");
        assert!(row.fitted && row.judged().is_none(), "{}", row.key);
    }
    assert!(!report.left_out.is_empty());
    for claim in report.claims.iter().filter(|claim| claim.verdict != Verdict::Holds) {
        let explained = report.whys.iter().any(|why| why.is_about(claim));
        assert!(explained, "words.toml has nothing about the claim: {}", claim.what);
    }
    for row in rows.iter().filter(|row| row.judged() == Some(Verdict::Fails)) {
        assert!(report.whys.iter().any(|why| why.covers(row)), "words.toml has nothing about the row {}", row.key);
    }
    let json = serde_json::to_string(&report).expect("it has a JSON form");
    serde_json::from_str::<PaperReport>(&json).expect("which can be read back");
}

#[test]
fn the_papers_are_those_published() {
    let names: Vec<&str> = PAPERS.iter().map(|document| document.name).collect();
    assert_eq!(names, published::PAPERS);
}

#[test]
fn each_paper_has_its_page() {
    for document in PAPERS {
        let page = format!("{}/../../docs/reproduction/{}.md", env!("CARGO_MANIFEST_DIR"), document.name);
        assert!(std::path::Path::new(&page).is_file(), "{page}");
    }
}

#[test]
fn mutex_spinners_is_complete() {
    complete("mutex_spinners");
}

#[test]
fn rwsem_stealing_is_complete() {
    complete("rwsem_stealing");
}

#[test]
fn dcache_is_complete() {
    complete("dcache");
}

#[test]
fn spin_backoff_is_complete() {
    complete("spin_backoff");
}

#[test]
fn handoff_spin_is_complete() {
    complete("handoff_spin");
}
