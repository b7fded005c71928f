//! The informative rows of a paper as SVG: published figures as rings, simulated ones as dots, seeds as a bar.

use super::dumbbell::{Panel, range};
use crate::svg;
use serde_json::{Value, json};
use turnwise_present::chart::Axis;
use turnwise_reproduce::report::Row;

/// Returns the picture with its legend.
pub(crate) fn figure(panels: &[Panel<'_>]) -> String {
    let panel = |Panel { title, rows, axis }: &Panel<'_>| {
        let rows: Vec<Value> = rows.iter().map(|row| dumbbell(row, *axis)).collect();
        json!({ "title": title, "low": axis.low, "high": axis.high, "zero": axis.zero(), "rows": rows })
    };
    let panels: Vec<Value> = panels.iter().map(panel).collect();
    svg::drawn(include_str!("../svg/dots.jinja"), json!({ "panels": panels }))
}

fn dumbbell(row: &Row, axis: Axis) -> Value {
    let (published, ours) = (row.published.unwrap_or(0.0), row.ours.unwrap_or(0.0));
    json!({
        "label": row.label,
        "published": published,
        "ours": ours,
        "verdict": row.verdict(),
        "missed": row.met() == Some(false),
        "there": axis.at(published),
        "here": axis.at(ours),
        "range": range(row).map(|(low, high)| [axis.at(low), axis.at(high)]),
    })
}
