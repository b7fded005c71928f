//! Curves drawn with letters: one for each, dots between its points. What is far apart has a logarithmic axis.

use turnwise_reproduce::report::{Plot, figure};

const WIDTH: usize = 84;
const HEIGHT: usize = 13;
/// Columns left of the axis.
const LABEL: usize = 9;
/// Values that differ by more than this factor have a logarithmic axis.
const LINEAR_MAX: f64 = 20.0;

/// From values to places.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    places: usize,
}

impl Scale {
    fn of(values: &[f64], from_zero: bool, places: usize) -> Scale {
        let (least, most) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
        let log = least > 0.0 && most > LINEAR_MAX * least;
        Scale { low: if from_zero && !log { least.min(0.0) } else { least }, high: most, log, places }
    }

    fn place(&self, value: f64) -> usize {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)
        };
        (share.clamp(0.0, 1.0) * (self.places as f64 - 1.0)).round() as usize
    }

    fn value(&self, place: usize) -> f64 {
        let share = place as f64 / (self.places as f64 - 1.0);
        if self.log { self.low * (self.high / self.low).powf(share) } else { self.low + share * (self.high - self.low) }
    }
}

/// The curves as lines of text; nothing if there are none.
pub(crate) fn lines(plot: &Plot) -> Vec<String> {
    let points: Vec<(f64, f64)> = plot.series.iter().flat_map(|series| series.points.iter().copied()).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let x = Scale::of(&points.iter().map(|point| point.0).collect::<Vec<_>>(), false, WIDTH);
    let y = Scale::of(&points.iter().map(|point| point.1).collect::<Vec<_>>(), true, HEIGHT);
    let mut cells = vec![[' '; WIDTH]; HEIGHT];
    for series in &plot.series {
        for pair in series.points.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|(a, b)| (x.place(a), y.place(b)));
            let steps = to.0.saturating_sub(from.0);
            for step in 0..steps {
                let share = step as f64 / steps as f64;
                let row = from.1 as f64 + share * (to.1 as f64 - from.1 as f64);
                cells[row.round() as usize][from.0 + step] = '\u{b7}';
            }
        }
    }
    for (series, letter) in plot.series.iter().zip(('a'..='z').cycle()) {
        for (a, b) in &series.points {
            let cell = &mut cells[y.place(*b)][x.place(*a)];
            *cell = if cell.is_ascii_lowercase() || *cell == '*' { '*' } else { letter };
        }
    }
    let mut lines = vec![format!("{:LABEL$} {}", "", plot.y)];
    for (row, cells) in cells.iter().enumerate().rev() {
        let label = if row % 4 == 0 { figure(y.value(row)) } else { String::new() };
        lines.push(format!("{label:>LABEL$} \u{2502}{}", cells.iter().collect::<String>().trim_end()));
    }
    lines.push(ticks(plot, &x));
    lines.push(legend(plot));
    lines
}

/// The values of the x axis, each below its place, and what they are.
fn ticks(plot: &Plot, x: &Scale) -> String {
    let mut line = String::new();
    for (value, _) in plot.series.first().map_or(&[][..], |series| &series.points) {
        let (text, at) = (figure(*value), LABEL + 2 + x.place(*value));
        if at >= line.chars().count() {
            line = format!("{line:at$}{text} ");
        }
    }
    format!("{line}{}", plot.x)
}

fn legend(plot: &Plot) -> String {
    let names = plot.series.iter().zip(('a'..='z').cycle()).map(|(series, letter)| format!("{letter} {}", series.name));
    format!("{:LABEL$} {}; * several", "", names.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_reproduce::report::Series;

    #[test]
    fn points_lie_where_their_values_are() {
        let series = |name: &str, points: &[(f64, f64)]| Series {
            name: name.to_owned(),
            published: false,
            points: points.to_vec(),
        };
        let rising = series("rising", &[(1.0, 1.0), (32.0, 10.0), (1024.0, 100.0)]);
        let flat = series("flat", &[(1.0, 1.0), (32.0, 1.0), (1024.0, 1.0)]);
        let plot =
            Plot { title: "t".to_owned(), x: "CPUs".to_owned(), y: "jobs/s".to_owned(), series: vec![rising, flat] };
        let lines = lines(&plot);
        let cell = |line: usize, column: usize| lines[line].chars().nth(LABEL + 2 + column);
        assert_eq!(cell(1, WIDTH - 1), Some('a'), "{lines:#?}");
        assert_eq!(cell(1 + HEIGHT / 2, WIDTH.div_ceil(2)).filter(|c| *c == 'a'), Some('a'), "{lines:#?}");
        assert_eq!((cell(HEIGHT, 0), cell(HEIGHT, WIDTH - 1)), (Some('*'), Some('b')), "{lines:#?}");
        assert!(lines[HEIGHT + 1].ends_with("1024 CPUs"), "{lines:#?}");
        assert!(lines[1].starts_with("      100 ") && lines[HEIGHT].starts_with("        1 "), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 120), "{lines:#?}");
    }
}
