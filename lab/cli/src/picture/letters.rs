//! Curves drawn with letters: one for each, dots between its points. Widely spread values have a logarithmic axis.

use turnwise_present::chart::Axis;
use turnwise_reproduce::report::figure;

const WIDTH: usize = 84;
const HEIGHT: usize = 13;
/// Columns of the text.
const COLUMNS: usize = 100;
/// Columns left of the axis.
const LABEL: usize = 9;

/// A curve's name, and its points.
pub(crate) type Curve<'a> = (&'a str, Vec<(f64, f64)>);

/// Returns the curves as lines of text; nothing if there are no points.
pub(crate) fn lines(title: &str, curves: &[Curve<'_>]) -> Vec<String> {
    let points: Vec<(f64, f64)> = curves.iter().flat_map(|(_, points)| points.iter().copied()).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let x = Axis::between(points.iter().map(|point| point.0));
    let y = Axis::of(points.iter().map(|point| point.1));
    let place = |(a, b): (f64, f64)| (x.cell(a, WIDTH), y.cell(b, HEIGHT));
    let mut cells = vec![[' '; WIDTH]; HEIGHT];
    for (_, points) in curves {
        for pair in points.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(place);
            let steps = to.0.saturating_sub(from.0);
            for step in 0..steps {
                let share = step as f64 / steps as f64;
                let row = from.1 as f64 + share * (to.1 as f64 - from.1 as f64);
                cells[row.round() as usize][from.0 + step] = '\u{b7}';
            }
        }
    }
    let lettered = || curves.iter().zip(('a'..='z').cycle());
    for ((_, points), letter) in lettered() {
        for point in points {
            let (column, row) = place(*point);
            let cell = &mut cells[row][column];
            *cell = if cell.is_ascii_lowercase() || *cell == '*' { '*' } else { letter };
        }
    }
    let mut lines = vec![format!("{:LABEL$} {title}", "")];
    for (row, cells) in cells.iter().enumerate().rev() {
        let label = if row % 4 == 0 { figure(y.value(row as f64 / (HEIGHT as f64 - 1.0))) } else { String::new() };
        lines.push(format!("{label:>LABEL$} \u{2502}{}", cells.iter().collect::<String>().trim_end()));
    }
    lines.push(ticks(&curves[0].1, x));
    let names: Vec<String> = lettered().map(|((name, _), letter)| format!("{letter} {name}")).collect();
    let legend = format!("{:LABEL$} {}; * several", "", names.join(", "));
    let options = textwrap::Options::new(COLUMNS).subsequent_indent("          ");
    lines.extend(textwrap::wrap(&legend, options).into_iter().map(std::borrow::Cow::into_owned));
    lines
}

/// Returns the values of the x axis, each below its place.
fn ticks(points: &[(f64, f64)], x: Axis) -> String {
    let mut line = String::new();
    for (value, _) in points {
        let (text, at) = (figure(*value), LABEL + 2 + x.cell(*value, WIDTH));
        if at > line.chars().count() {
            line = format!("{line:at$}{text}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_where_their_values_are() {
        let rising = ("rising", vec![(1.0, 1.0), (32.0, 10.0), (1024.0, 100.0)]);
        let flat = ("flat", vec![(1.0, 1.0), (32.0, 1.0), (1024.0, 1.0)]);
        let lines = lines("jobs/s, by CPUs", &[rising, flat]);
        let cell = |line: usize, column: usize| lines[line].chars().nth(LABEL + 2 + column);
        assert_eq!(cell(1, WIDTH - 1), Some('a'), "{lines:#?}");
        assert_eq!(cell(1 + HEIGHT / 2, WIDTH.div_ceil(2)).filter(|c| *c == 'a'), Some('a'), "{lines:#?}");
        assert_eq!((cell(HEIGHT, 0), cell(HEIGHT, WIDTH - 1)), (Some('*'), Some('b')), "{lines:#?}");
        assert!(lines[HEIGHT + 1].ends_with(" 1024"), "{lines:#?}");
        assert!(lines[1].starts_with("      100 ") && lines[HEIGHT].starts_with("        1 "), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 120), "{lines:#?}");
    }
}
