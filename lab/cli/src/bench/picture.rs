//! Figures as dots on an axis, each with its range, as SVG.

use crate::document;
use serde::Serialize;
use serde_json::json;
use turnwise_present::chart::Axis;
use turnwise_present::stats::Spread;

/// A figure of a lock.
#[derive(Serialize)]
pub(super) struct Dot {
    pub(super) label: String,
    pub(super) figure: Spread,
    /// Whether it is one of ours.
    pub(super) ours: bool,
}

/// Draws the picture, with its legend if it is of ratios: `mark` is the one with a line of its own. Others are times.
pub(super) fn dots(title: &str, dots: &[Dot], mark: Option<f64>) -> String {
    let axis = Axis::of(dots.iter().flat_map(|dot| [dot.figure.min, dot.figure.median, dot.figure.max]).chain(mark));
    let picture = json!({ "title": title, "axis": axis, "mark": mark, "dots": dots });
    document::filled("spreads.jinja", include_str!("../picture/spreads.jinja"), picture)
}
