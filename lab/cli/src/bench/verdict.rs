//! The verdict on each of our locks, as a table.

use super::text::{Style, dash, draw, spread, times, title};
use turnwise_bench::report::Report;
use turnwise_bench::verdict::{Score, Share, ShareOf, Verdict};
use turnwise_present::figures::time;

/// Summarises all cells; empty where none of our locks ran alongside a peer.
pub(super) fn render(report: &Report, style: Style) -> String {
    let rows: Vec<_> = report.verdicts.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head =
        ["lock", "against", "cells", "mean", "worst cell", "its speed", "least fair", "share", "longest wait", "in"];
    title("verdict", style) + &draw(head.map(str::to_owned).to_vec(), rows, 2, style)
}

/// Returns a row against the reference, and one against the best peer; shares and waits stand in the first.
fn rows(verdict: &Verdict) -> Vec<Vec<String>> {
    let scores = [("the reference", &verdict.reference), ("the best peer", &verdict.best_peer)];
    let scores = scores.into_iter().filter_map(|(what, score)| Some((what, score.as_ref()?)));
    scores.enumerate().map(|(index, (what, score))| row(verdict, what, score, index == 0)).collect()
}

fn row(verdict: &Verdict, what: &str, score: &Score, first: bool) -> Vec<String> {
    let fair = verdict.least_fair.as_ref().filter(|_| first);
    let wait = verdict.longest_wait.as_ref().filter(|_| first);
    let missing = match score.missing.len() {
        0 => String::new(),
        _ => format!(", none of {}", score.missing.join(", ")),
    };
    vec![
        verdict.lock.clone(),
        what.to_owned(),
        format!("{}{missing}", score.cells),
        times(score.mean),
        score.worst.scenario.clone(),
        format!("{} ({})", spread(score.worst.speed), score.worst.against),
        fair.map_or_else(dash, |fair| fair.scenario.clone()),
        fair.map_or_else(dash, share),
        wait.map_or_else(dash, |wait| time(wait.ns as f64)),
        wait.map_or_else(dash, |wait| wait.scenario.clone()),
    ]
}

/// Formats "0.09 (the few)".
fn share(share: &Share) -> String {
    let whose = match share.of {
        ShareOf::Threads => "threads",
        ShareOf::TheFew => "the few",
        ShareOf::TheDisturbed => "the disturbed",
    };
    format!("{:.2} ({whose})", share.share)
}
