//! The informative rows of a paper as SVG: published figures as rings, simulated ones as dots, seeds as a bar.

use super::dumbbell::{Panel, range};
use std::fmt::Write;
use turnwise_profile::output::page::escaped;
use turnwise_reproduce::report::{Row, figure as digits};

const WIDTH: f64 = 1000.0;
/// Where labels end, and where the axis lies.
const LABEL: f64 = 350.0;
const LEFT: f64 = 366.0;
const RIGHT: f64 = 800.0;
/// Where the figures and the verdict end.
const PUBLISHED: f64 = 874.0;
const SIMULATED: f64 = 944.0;
const VERDICT: f64 = 952.0;
const ROW: f64 = 21.0;
/// Above the rows of a table, and below them.
const HEAD: f64 = 40.0;
const FOOT: f64 = 8.0;
/// The most characters of a label that fit.
const LABEL_MAX: usize = 54;

/// Returns the picture with its legend.
pub(crate) fn figure(panels: &[Panel<'_>]) -> String {
    let height: f64 = panels.iter().map(|panel| HEAD + FOOT + ROW * panel.rows.len() as f64).sum();
    let mut text = "<div class=\"legend\"><span><b style=\"color:var(--c1)\">\u{25cb}</b>published</span>\
                    <span><b style=\"color:var(--c0)\">\u{25cf}</b>simulated</span>\
                    <span><b style=\"color:var(--c0);opacity:.4\">\u{25ac}</b>from seed to seed, or standard \
                    error</span></div>\n<div class=\"chart dots\">"
        .to_owned();
    let _ = writeln!(
        text,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Published and simulated figures of the \
         informative rows\">"
    );
    let mut top = 0.0;
    for panel in panels {
        text += &drawn(panel, top);
        top += HEAD + FOOT + ROW * panel.rows.len() as f64;
    }
    text + "</svg></div>\n"
}

fn drawn(panel: &Panel<'_>, top: f64) -> String {
    let (title, ends, first) = (top + 14.0, top + 32.0, top + HEAD);
    let bottom = first + ROW * panel.rows.len() as f64;
    let mut text = format!("<text class=\"title\" x=\"0\" y=\"{title}\">{}</text>\n", escaped(&panel.title));
    let columns = [(LEFT, "start", digits(panel.axis.low)), (RIGHT, "end", digits(panel.axis.high))];
    let heads = [(PUBLISHED, "end", "published".to_owned()), (SIMULATED, "end", "simulated".to_owned())];
    for (x, anchor, words) in columns.into_iter().chain(heads) {
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{ends}\" text-anchor=\"{anchor}\">{words}</text>");
    }
    let zero = panel.axis.zero().map(|share| (LEFT + share * (RIGHT - LEFT), "axis"));
    for (x, class) in [(LEFT, "grid"), (RIGHT, "grid")].into_iter().chain(zero) {
        let _ = writeln!(text, "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{first}\" y2=\"{bottom}\"/>");
    }
    for (place, row) in panel.rows.iter().enumerate() {
        text += &dumbbell(panel, row, first + ROW * (place as f64 + 0.5));
    }
    text
}

fn dumbbell(panel: &Panel<'_>, row: &Row, y: f64) -> String {
    let at = |value: f64| LEFT + panel.axis.at(value) * (RIGHT - LEFT);
    let (published, ours) = (row.published.unwrap_or(0.0), row.ours.unwrap_or(0.0));
    let (there, here, down) = (at(published), at(ours), y + 4.0);
    let mut label: String = row.label.chars().take(LABEL_MAX).collect();
    if label.len() < row.label.len() {
        label.push('\u{2026}');
    }
    let mut text = format!(
        "<g class=\"row\"><title>{}: published {}, simulated {}, {}</title>\n",
        escaped(&row.label),
        digits(published),
        digits(ours),
        row.verdict()
    );
    let class = if row.met() == Some(false) { "missed" } else { "label" };
    let _ = writeln!(
        text,
        "<text class=\"label\" x=\"{LABEL}\" y=\"{down}\" text-anchor=\"end\">{}</text>",
        escaped(&label)
    );
    let _ = writeln!(text, "<line class=\"between\" x1=\"{there:.1}\" x2=\"{here:.1}\" y1=\"{y}\" y2=\"{y}\"/>");
    if let Some((low, high)) = range(row) {
        let (low, high) = (at(low), at(high));
        let _ = writeln!(text, "<line class=\"range\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y}\" y2=\"{y}\"/>");
    }
    let _ = writeln!(text, "<circle class=\"here\" cx=\"{here:.1}\" cy=\"{y}\" r=\"4.5\"/>");
    let _ =
        writeln!(text, "<circle class=\"there\" cx=\"{there:.1}\" cy=\"{y}\" r=\"4.5\" style=\"fill-opacity:.4\"/>");
    for (x, anchor, words) in [
        (PUBLISHED, "end", digits(published)),
        (SIMULATED, "end", digits(ours)),
        (VERDICT, "start", row.verdict().to_owned()),
    ] {
        let _ =
            writeln!(text, "<text class=\"{class}\" x=\"{x}\" y=\"{down}\" text-anchor=\"{anchor}\">{words}</text>");
    }
    text + "</g>\n"
}
