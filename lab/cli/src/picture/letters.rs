//! Curves drawn with letters: one for each, dots between its points. Widely spread values have a logarithmic axis.

use turnwise_present::chart::Axis;
use turnwise_reproduce::report::{Plot, figure};

const WIDTH: usize = 84;
const HEIGHT: usize = 13;
/// Columns left of the axis.
const LABEL: usize = 9;
/// Returns the curves as lines of text; nothing if there are none.
pub(crate) fn lines(plot: &Plot) -> Vec<String> {
    let points: Vec<(f64, f64)> = plot.series.iter().flat_map(|series| series.points.iter().copied()).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let x = Axis::between(points.iter().map(|point| point.0));
    let y = Axis::of(points.iter().map(|point| point.1));
    let place = |(a, b): (f64, f64)| (x.cell(a, WIDTH), y.cell(b, HEIGHT));
    let mut cells = vec![[' '; WIDTH]; HEIGHT];
    for series in &plot.series {
        for pair in series.points.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(place);
            let steps = to.0.saturating_sub(from.0);
            for step in 0..steps {
                let share = step as f64 / steps as f64;
                let row = from.1 as f64 + share * (to.1 as f64 - from.1 as f64);
                cells[row.round() as usize][from.0 + step] = '\u{b7}';
            }
        }
    }
    for (series, letter) in plot.series.iter().zip(('a'..='z').cycle()) {
        for point in &series.points {
            let (column, row) = place(*point);
            let cell = &mut cells[row][column];
            *cell = if cell.is_ascii_lowercase() || *cell == '*' { '*' } else { letter };
        }
    }
    let mut lines = vec![format!("{:LABEL$} {}", "", plot.y)];
    for (row, cells) in cells.iter().enumerate().rev() {
        let label = if row % 4 == 0 { figure(y.value(row as f64 / (HEIGHT as f64 - 1.0))) } else { String::new() };
        lines.push(format!("{label:>LABEL$} \u{2502}{}", cells.iter().collect::<String>().trim_end()));
    }
    lines.push(ticks(plot, x));
    lines.push(legend(plot));
    lines
}

/// Returns the values of the x axis, each below its place, and what they are.
fn ticks(plot: &Plot, x: Axis) -> String {
    let mut line = String::new();
    for (value, _) in plot.series.first().map_or(&[][..], |series| &series.points) {
        let (text, at) = (figure(*value), LABEL + 2 + x.cell(*value, WIDTH));
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
