//! Curves as SVG, in the colours of the simulator's page: published ones dashed, ours solid. Each curve has its own
//! marker, so that colour is not the only distinction.

use std::fmt::Write;
use turnwise_present::chart::Axis;
use turnwise_profile::output::page::escaped;
use turnwise_reproduce::report::{Plot, Series, figure as digits};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
/// The number of colours in the page's style.
const COLOURS: usize = 8;
const SIGNS: [&str; 4] = ["●", "■", "▲", "◆"];

/// Returns a figure with its legend.
pub(crate) fn figure(plot: &Plot) -> String {
    let mut text = format!("<h3>{}</h3>\n<div class=\"legend\">", escaped(&plot.title));
    for (place, series) in plot.series.iter().enumerate() {
        let style = if series.published { "published" } else { "simulated" };
        let (sign, name) = (SIGNS[place % SIGNS.len()], escaped(&series.name));
        let _ = write!(text, "<span><b style=\"color:var(--c{})\">{sign}</b>{name} ({style})</span>", place % COLOURS);
    }
    text + "</div>\n<div class=\"chart\">" + &drawing(plot).unwrap_or_default() + "</div>\n"
}

/// From numbers to places.
struct Scale {
    from: f64,
    to: f64,
    axis: Axis,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        self.from + self.axis.at(value) * (self.to - self.from)
    }
}

fn drawing(plot: &Plot) -> Option<String> {
    let points = || plot.series.iter().flat_map(|series| series.points.iter().copied());
    let mut xs: Vec<f64> = points().map(|point| point.0).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let (first, last) = (*xs.first()?, *xs.last()?);
    let top = points().map(|point| point.1).fold(0.0, f64::max);
    let least = points().map(|point| point.1).filter(|y| *y > 0.0).fold(top, f64::min);
    let log = top > 30.0 * least;
    let across = Axis { low: first, high: last, log: first > 0.0 && last > 8.0 * first };
    let x = Scale { from: LEFT, to: WIDTH - RIGHT, axis: across };
    let low = if log { 10_f64.powf(least.log10().floor()) } else { 0.0 };
    let y = Scale { from: HEIGHT - BOTTOM, to: TOP, axis: Axis { low, high: top, log } };
    let mut text =
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n", escaped(&plot.title));
    text += &axes(plot, &x, &y, &xs);
    for (place, series) in plot.series.iter().enumerate() {
        text += &curve(series, place, &x, &y);
    }
    Some(text + "</svg>")
}

fn axes(plot: &Plot, x: &Scale, y: &Scale, xs: &[f64]) -> String {
    let mut text = String::new();
    for tick in ticks(y.axis) {
        let at = y.at(tick);
        let _ = writeln!(text, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>", x.to);
        let (left, down) = (LEFT - 8.0, at + 4.0);
        let _ = writeln!(text, "<text x=\"{left}\" y=\"{down:.1}\" text-anchor=\"end\">{}</text>", digits(tick));
    }
    for tick in xs {
        let (at, below) = (x.at(*tick), HEIGHT - BOTTOM + 18.0);
        let _ = writeln!(text, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", digits(*tick));
    }
    let _ = writeln!(text, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{1}\" y2=\"{1}\"/>", x.to, y.from);
    let (middle, bottom) = (f64::midpoint(x.from, x.to), HEIGHT - 6.0);
    let _ = writeln!(text, "<text x=\"{middle}\" y=\"{bottom}\" text-anchor=\"middle\">{}</text>", escaped(&plot.x));
    let _ = writeln!(text, "<text x=\"{LEFT}\" y=\"14\">{}</text>", escaped(&plot.y));
    text
}

/// Returns powers of ten on a logarithmic axis, else about five round numbers.
fn ticks(y: Axis) -> Vec<f64> {
    if y.log {
        let powers = y.low.log10().round() as i32..=y.high.log10().floor() as i32;
        return powers.map(|power| 10_f64.powi(power)).collect();
    }
    let raw = (y.high / 5.0).max(f64::MIN_POSITIVE);
    let unit = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit).into_iter().find(|step| *step >= raw).unwrap_or(raw);
    (0..=5).map(|n| f64::from(n) * step).filter(|tick| *tick <= y.high).collect()
}

fn curve(series: &Series, place: usize, x: &Scale, y: &Scale) -> String {
    let colour = place % COLOURS;
    let points: Vec<String> = series.points.iter().map(|(a, b)| format!("{:.1},{:.1}", x.at(*a), y.at(*b))).collect();
    let dashed = if series.published { " stroke-dasharray=\"6 4\"" } else { "" };
    let mut text =
        format!("<polyline class=\"curve\" stroke=\"var(--c{colour})\"{dashed} points=\"{}\"/>\n", points.join(" "));
    for (a, b) in &series.points {
        let (left, up) = (x.at(*a), y.at(*b) + 5.0);
        let title = format!("{}: {} at {}", escaped(&series.name), digits(*b), digits(*a));
        let sign = SIGNS[place % SIGNS.len()];
        let _ = writeln!(
            text,
            "<text x=\"{left:.1}\" y=\"{up:.1}\" text-anchor=\"middle\" \
                style=\"fill:var(--c{colour})\">{sign}<title>{title}\
             </title></text>"
        );
    }
    text
}
