//! Each paper is reproduced completely: every published figure and claim has its row, and claims that do not hold are
//! explained; and what it leaves open can be drawn.

use std::collections::HashSet;
use turnwise_bench::published;
use turnwise_present::progress::ProgressBar;
use turnwise_reproduce::pool::Pool;
use turnwise_reproduce::report::{PaperReport, Verdict};
use turnwise_reproduce::{Context, PAPERS, bands};

fn report(name: &str) -> PaperReport {
    let bar = ProgressBar::hidden();
    let pool = Pool::new(2, &bar);
    let context = Context { seed: 1, quick: true, least: true, pool: &pool, draw: None };
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
    }
    let compared = rows.iter().filter(|row| row.is_compared()).count();
    assert!(report.fitted.len() < compared, "{} fitted, {compared} compared", report.fitted.len());
    for fitted in &report.fitted {
        let row = rows.iter().find(|row| row.key.ends_with(&fitted.on)).expect("it was fitted on a row");
        assert!(row.fitted && !row.is_compared(), "{}", row.key);
    }
    assert!(!report.left_out.is_empty() && report.open.iter().all(|open| !open.source.is_empty()));
    for claim in report.claims.iter().filter(|claim| claim.verdict != Verdict::Holds) {
        let explained = report.whys.iter().any(|why| why.is_about(claim));
        assert!(explained, "words.toml has nothing about the claim: {}", claim.what);
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

/// Draws have the rows that are compared, and the claims; they are the same again, however many run at a time.
#[test]
fn a_draw_has_the_rows_and_claims_of_the_report() {
    let paper = PAPERS.iter().find(|paper| paper.name == "rwsem_stealing").expect("it can be reproduced");
    let bar = ProgressBar::hidden();
    let drawn = |part, jobs| bands::draw(&[paper], (1, 4), part, jobs, &bar).expect("it runs").remove(paper.name);
    let (all, second) = (drawn((1, 1), 2).expect("four"), drawn((2, 2), 1).expect("the second and the last"));
    let json = |drawn| serde_json::to_string(drawn).expect("it has a JSON form");
    assert_eq!([json(&all[1]), json(&all[3])], [json(&second[0]), json(&second[1])]);
    let mut report = report(paper.name);
    for row in report.rows().filter(|row| row.is_compared()) {
        assert!(all.iter().all(|drawn| drawn.rows.contains_key(&row.key)), "{}", row.key);
    }
    let draws = bands::Draws {
        format: bands::FORMAT.to_owned(),
        commit: None,
        seed: 1,
        samples: 4,
        papers: [(paper.name.to_owned(), all)].into(),
    };
    draws.beside(&mut report);
    assert!(report.rows().any(|row| row.band.is_some()));
    for claim in &report.claims {
        let shares = claim.draws.expect("each claim has its shares");
        assert_eq!(shares.holds + shares.direction + shares.fails, 4, "{}", claim.what);
    }
}

/// No number that a draw may have makes a machine or a workload impossible.
#[test]
fn every_corner_of_the_ranges_is_a_machine() {
    for name in ["osv-laptop", "osv-4", "altix-64", "westmere-ex-80", "nehalem-ep-2s"] {
        for corner in 0..4 {
            let place = |range: &str| f64::from((corner >> (range.len() % 2)) & 1);
            turnwise_sim::spec::draw(name, place).unwrap_or_else(|error| panic!("{name}, corner {corner}: {error}"));
        }
    }
}
