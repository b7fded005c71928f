//! Figures as dots on an axis, each with its range, as SVG.

use std::fmt::Write;
use turnwise_present::chart::Axis;
use turnwise_present::stats::Spread;
use turnwise_profile::output::page::escaped;

const WIDTH: f64 = 1000.0;
/// Where labels end, and where the axis lies.
const LABEL: f64 = 240.0;
const LEFT: f64 = 256.0;
const RIGHT: f64 = 880.0;
const ROW: f64 = 21.0;
/// Above the rows.
const HEAD: f64 = 40.0;

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
    let kind = if axis.log { ", logarithmic" } else { "" };
    let bottom = HEAD + ROW * dots.len() as f64;
    let title = escaped(title);
    let mut text = format!(
        "<div class=\"chart\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">\n\
         <text class=\"title\" x=\"0\" y=\"14\">{title}{kind}</text>\n",
        bottom + 4.0,
        title.replace('"', "&quot;")
    );
    let at = |figure: f64| LEFT + axis.at(figure) * (RIGHT - LEFT);
    let lines = [("grid", axis.low), ("grid", axis.high)].into_iter().chain(mark.map(|mark| ("cross", mark)));
    for (class, figure) in lines {
        let (x, said) = (at(figure), show(figure));
        let _ = writeln!(text, "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEAD}\" y2=\"{bottom}\"/>");
        let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"32\" text-anchor=\"middle\">{said}</text>");
    }
    for (place, dot) in dots.iter().enumerate() {
        let (y, class) = (HEAD + ROW * (place as f64 + 0.5), if dot.ours { "here" } else { "there" });
        let [from, middle, to] = ends(dot).map(at);
        let (label, said, down) = (escaped(&dot.label), show(dot.figure.median), y + 4.0);
        let range = format!("{said} [{} .. {}]", show(dot.figure.min), show(dot.figure.max));
        let _ = writeln!(
            text,
            "<g class=\"row\"><title>{label}: {range}</title>\n\
             <text class=\"label\" x=\"{LABEL}\" y=\"{down}\" text-anchor=\"end\">{label}</text>\n\
             <line class=\"range {class}\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"/>\n\
             <circle class=\"{class}\" cx=\"{middle:.1}\" cy=\"{y}\" r=\"4.5\"/>\n\
             <text class=\"label\" x=\"{WIDTH}\" y=\"{down}\" text-anchor=\"end\">{said}</text></g>"
        );
    }
    text + "</svg></div>\n"
}

/// What the signs are.
pub(super) const LEGEND: &str = "<div class=\"legend\"><span><b style=\"color:var(--c0)\">\u{25cf}</b>ours, or a \
     plugin under test</span><span><b style=\"color:var(--c1)\">\u{25cb}</b>peers</span><span><b \
     style=\"color:var(--c0);opacity:.4\">\u{25ac}</b>from the least to the most of the samples</span></div>\n";
