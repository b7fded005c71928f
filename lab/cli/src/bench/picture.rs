//! Figures as dots on an axis, each with its range, as SVG.

use crate::svg;
use serde_json::{Value, json};
use turnwise_present::chart::Axis;
use turnwise_present::stats::Spread;

/// A figure of a lock.
pub(super) struct Dot {
    pub(super) label: String,
    pub(super) figure: Spread,
    /// Whether it is one of ours.
    pub(super) ours: bool,
}

/// Draws the picture: `show` formats a figure, `mark` is a figure with a line of its own.
pub(super) fn dots(title: &str, dots: &[Dot], mark: Option<f64>, show: fn(f64) -> String) -> String {
    let ends = |dot: &Dot| [dot.figure.min, dot.figure.median, dot.figure.max];
    let axis = Axis::of(dots.iter().flat_map(ends).chain(mark));
    let lines = [("grid", axis.low), ("grid", axis.high)].into_iter().chain(mark.map(|mark| ("cross", mark)));
    let lines: Vec<Value> = lines.map(|(class, figure)| json!([class, axis.at(figure), show(figure)])).collect();
    let dot = |dot: &Dot| {
        let (at, said) = (ends(dot).map(|figure| axis.at(figure)), ends(dot).map(show));
        json!({ "label": dot.label, "ours": dot.ours, "at": at, "said": said })
    };
    let dots: Vec<Value> = dots.iter().map(dot).collect();
    let picture = json!({ "title": title, "log": axis.log, "lines": lines, "dots": dots });
    svg::drawn(include_str!("../svg/spreads.jinja"), picture)
}

/// What the signs are.
pub(super) const LEGEND: &str = "<div class=\"legend\"><span><b style=\"color:var(--c0)\">\u{25cf}</b>ours, or a \
     plugin under test</span><span><b style=\"color:var(--c1)\">\u{25cb}</b>peers</span><span><b \
     style=\"color:var(--c0);opacity:.4\">\u{25ac}</b>from the least to the most of the samples</span></div>\n";
