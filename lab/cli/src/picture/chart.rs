//! Curves as SVG: published ones dashed, ours solid.

use crate::document;
use serde_json::json;
use turnwise_present::chart::Axis;
use turnwise_reproduce::report::Plot;

/// Returns a figure with its legend; nothing but that if there are no points. `kinds` names published curves and ours.
pub(crate) fn figure(plot: &Plot, kinds: [&str; 2]) -> String {
    let points = || plot.series.iter().flat_map(|series| series.points.iter().copied());
    let mut xs: Vec<f64> = points().map(|point| point.0).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let (first, last) = (xs.first().copied().unwrap_or(0.0), xs.last().copied().unwrap_or(0.0));
    let top = points().map(|point| point.1).fold(0.0, f64::max);
    let least = points().map(|point| point.1).filter(|y| *y > 0.0).fold(top, f64::min);
    let log = top > 30.0 * least;
    let across = Axis { low: first, high: last, log: first > 0.0 && last > 8.0 * first };
    let upward = Axis { low: if log { 10_f64.powf(least.log10().floor()) } else { 0.0 }, high: top, log };
    let ys = ticks(upward);
    let picture = json!({ "plot": plot, "kinds": kinds, "across": across, "upward": upward, "xs": xs, "ys": ys });
    document::filled("chart.jinja", include_str!("chart.jinja"), picture)
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
