//! The common parts of the pictures of results: colours, axes, and values with their intervals.

use std::fmt::Write;

pub(crate) use turnwise_present::chart::Axis as Scale;

/// Colours that can be distinguished without red and green, on a background of the picture's own.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1f2328}.bound{font-weight:600}.small{font-size:11px}.title{font-size:16px;\
font-weight:600}.ground{fill:#fff}.slower{fill:#f3f0ea}.line{stroke:#d0d7de}.one{stroke:#57606a;stroke-width:1.5}\
.m0{stroke:#0969da;fill:#0969da}.m1{stroke:#bc4c00;fill:#bc4c00}@media(prefers-color-scheme:dark){text{fill:#e6edf3}\
.ground{fill:#0d1117}.slower{fill:#1c1a17}.line{stroke:#30363d}.one{stroke:#8b949e}.m0{stroke:#58a6ff;fill:#58a6ff}\
.m1{stroke:#f0883e;fill:#f0883e}}";

/// The width of all pictures, in pixels.
const WIDTH: u32 = 840;

/// Draws a picture up to its title.
pub(crate) fn head(title: &str, heading: &str, height: f64) -> String {
    let (title, heading) = (escaped(title), escaped(heading));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{title}\
         </title>\n<style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n\
         <text x=\"16\" y=\"26\" class=\"title\">{heading}</text>\n"
    )
}

/// Escapes text so that it is not markup.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// An axis of ratios: 1 has a line of its own.
pub(crate) struct Axis {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) scale: Scale,
    /// Where lines are.
    pub(crate) lines: Vec<f64>,
}

impl Axis {
    /// Returns an axis with room for all `values`, which are above zero, and for 1. Far ones are cut off: no reader
    /// compares beyond a factor of 100.
    pub(crate) fn of(values: impl Iterator<Item = f64>, left: f64, right: f64) -> Axis {
        const FAR: f64 = 100.0;
        /// From this factor on ratios are easier to compare than differences.
        const SPREAD: f64 = 3.0;
        let (low, high) = values.fold((1.0_f64, 1.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = ((low * 0.9).max(1.0 / FAR), (high * 1.1).min(FAR));
        let log = high > SPREAD * low;
        let step = if high - low > 1.0 { 0.5 } else { 0.1 };
        let lines: Vec<f64> = match log {
            true => vec![0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0],
            false => (0..60).map(|n| f64::from(n) * step).collect(),
        };
        let lines = lines.into_iter().filter(|line| (low..=high).contains(line)).collect();
        Axis { left, right, scale: Scale { low, high, log }, lines }
    }

    /// Returns where a value lies; at an end, if it is beyond.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * self.scale.at(value)
    }

    /// Draws the ground below 1, and the lines with their values below them.
    pub(crate) fn draw(&self, top: f64, bottom: f64) -> String {
        let (left, one) = (self.left, self.at(1.0));
        let mut drawn = format!(
            "<rect class=\"slower\" x=\"{left}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
            one - left,
            bottom - top
        );
        // Labels are at most this wide; the one at 1 comes before the others.
        const LABEL: f64 = 30.0;
        let mut free_from = f64::NEG_INFINITY;
        for &line in &self.lines {
            let is_one = (line - 1.0).abs() < 1e-9;
            let (x, class) = (self.at(line), if is_one { "one" } else { "line" });
            let _ =
                writeln!(drawn, "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>");
            if !is_one && (x < free_from || (x - one).abs() < LABEL) {
                continue;
            }
            free_from = x + LABEL;
            let times = if is_one { "equal".to_owned() } else { format!("{}x", (line * 100.0).round() / 100.0) };
            let _ = writeln!(
                drawn,
                "<text class=\"small\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{times}</text>",
                bottom + 14.0
            );
        }
        drawn
    }

    /// Draws a value as a dot, and its interval as a bar.
    pub(crate) fn dot(&self, [value, low, high]: [f64; 3], class: &str, y: f64) -> String {
        format!(
            "<g class=\"{class}\"><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke-width=\"2\"/><circle \
             cx=\"{:.1}\" cy=\"{y}\" r=\"3.5\"/></g>\n",
            self.at(low),
            self.at(high),
            self.at(value)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_logarithmic_where_ratios_spread() {
        let near = Axis::of([0.9, 1.2].into_iter(), 0.0, 100.0);
        assert!(!near.scale.log && near.lines.len() == 5, "{:?}", near.lines);
        let far = Axis::of([0.001, 1.0, 4.0].into_iter(), 0.0, 100.0);
        assert!(far.scale.log && far.scale.low == 0.01 && far.lines.last() == Some(&2.0), "{:?}", far.lines);
        assert_eq!((far.at(0.0001), far.at(1e6)), (0.0, 100.0));
    }

    #[test]
    fn labels_leave_room_for_each_other() {
        let drawn = Axis::of([0.01, 5.0].into_iter(), 0.0, 240.0).draw(0.0, 10.0);
        assert_eq!(drawn.matches("<line").count(), 9);
        let places = drawn.lines().filter(|line| line.starts_with("<text"));
        let x = |line: &str| line.split(" x=\"").nth(1)?.split('"').next()?.parse::<f64>().ok();
        let places: Vec<f64> = places.filter_map(x).collect();
        assert!(places.len() > 3 && places.windows(2).all(|pair| pair[1] - pair[0] >= 30.0), "{places:?}");
        assert!(drawn.contains(">equal<"));
    }
}
