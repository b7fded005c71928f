//! Curves drawn with letters: one letter for each, dots between its points.

use super::curves::Curves;
use turnwise_present::chart::Axis;
use turnwise_present::figures::short;
use turnwise_simbench::report::SimReport;

const WIDTH: usize = 80;
const HEIGHT: usize = 16;
/// Characters left of the axis.
const LABEL: usize = 9;

/// Curves that differ by more than this factor are drawn with a logarithmic axis.
const LINEAR_MAX: f64 = 30.0;

/// Draws operations per second over CPUs or threads; nothing if no curve has two points.
pub(crate) fn draw(report: &SimReport, curves: &Curves) -> Option<String> {
    let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
    for line in &curves.series {
        let points = line.points(report, curves.axis);
        lines.push(points.iter().map(|&(x, figures)| (f64::from(x), figures.ops_per_s)).collect());
    }
    let xs = curves.xs(report);
    let x_max = f64::from(*xs.last()?);
    let top = lines.iter().flatten().map(|point| point.1).fold(0.0, f64::max);
    if top <= 0.0 || lines.iter().all(|line| line.len() < 2) {
        return None;
    }
    let least = lines.iter().flatten().map(|point| point.1).filter(|y| *y > 0.0).fold(top, f64::min);
    let bottom = if top > least * LINEAR_MAX { 10_f64.powf(least.log10().floor()) } else { 0.0 };
    let (x, y) = (Axis { low: 0.0, high: x_max, log: false }, Axis { low: bottom, high: top, log: bottom > 0.0 });
    let mut canvas = Canvas { cells: vec![[' '; WIDTH]; HEIGHT], x, y };
    for line in &lines {
        canvas.dots(line);
    }
    for (line, letter) in lines.iter().zip(('a'..='z').cycle()) {
        canvas.letters(line, letter);
    }
    Some(canvas.text(curves.axis.title(), &xs) + &legend(curves))
}

struct Canvas {
    cells: Vec<[char; WIDTH]>,
    x: Axis,
    y: Axis,
}

impl Canvas {
    fn place(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let row = (HEIGHT as f64 - 1.0) * (1.0 - self.y.at(y));
        (row.round() as usize, self.column(x))
    }

    fn column(&self, x: f64) -> usize {
        self.x.cell(x, WIDTH)
    }

    fn dots(&mut self, line: &[(f64, f64)]) {
        for pair in line.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            for column in self.column(x0)..=self.column(x1) {
                let x = (column as f64 / (WIDTH as f64 - 1.0) * self.x.high).clamp(x0, x1);
                let (row, column) = self.place((x, y0 + (y1 - y0) * (x - x0) / (x1 - x0)));
                self.cells[row][column] = '·';
            }
        }
    }

    /// Draws the letters of a line; points of two curves in one place are a star.
    fn letters(&mut self, line: &[(f64, f64)], letter: char) {
        for &point in line {
            let (row, column) = self.place(point);
            let cell = &mut self.cells[row][column];
            *cell = if matches!(*cell, ' ' | '·') || *cell == letter { letter } else { '*' };
        }
    }

    fn text(&self, x_title: &str, xs: &[u32]) -> String {
        let axis = if self.y.log { "ops/s, logarithmic" } else { "ops/s" };
        let mut text = format!("{:>LABEL$} {axis}\n", "");
        for (row, cells) in self.cells.iter().enumerate() {
            let label = match row {
                0 => short(self.y.high),
                _ if row == HEIGHT / 2 => short(self.y.value(1.0 - row as f64 / (HEIGHT as f64 - 1.0))),
                _ => String::new(),
            };
            let line = format!("{label:>LABEL$} │{}", cells.iter().collect::<String>());
            text += &format!("{}\n", line.trim_end());
        }
        text += &format!("{:>LABEL$} └{}\n", short(self.y.low), "─".repeat(WIDTH));
        text + &self.x_labels(x_title, xs)
    }

    /// Draws as many of the x values as fit, the last among them.
    fn x_labels(&self, title: &str, xs: &[u32]) -> String {
        let mut line = vec![' '; WIDTH + 12];
        let mut free = line.len();
        for &x in xs.iter().rev() {
            let label = x.to_string();
            let start = (self.column(f64::from(x)) + 1).saturating_sub(label.len());
            if start + label.len() < free {
                line.splice(start..start + label.len(), label.chars());
                free = start;
            }
        }
        let labels: String = line.into_iter().collect();
        format!("{:>LABEL$}  {} {title}\n", "", labels.trim_end())
    }
}

fn legend(curves: &Curves) -> String {
    let mut text = String::new();
    let mut column = 0;
    for (line, letter) in curves.series.iter().zip(('a'..='z').cycle()) {
        let entry = format!("  {letter} {}", line.name);
        if column > 0 && column + entry.len() > WIDTH {
            text += "\n";
            column = 0;
        }
        if column == 0 {
            text += &" ".repeat(LABEL);
        }
        column += entry.len();
        text += &entry;
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn every_curve_is_there_and_fits() {
        let report = fixture::report(&["a", "bb", "c"], &[(1, 1), (10, 10), (20, 20), (40, 40), (80, 80)]);
        let plot = draw(&report, &Curves::of(&report)).unwrap();
        for part in ["a a", "b bb", "c c", " 80 CPUs", " 40 ", "└─", "·", "ops/s"] {
            assert!(plot.contains(part), "{part}\n{plot}");
        }
        assert!(plot.lines().all(|line| line.chars().count() <= 100), "{plot}");
        let top = plot.lines().nth(1).unwrap();
        assert!(top.contains('│') && top.chars().any(|letter| "abc*".contains(letter)), "the peak is on top: {top}");
    }

    #[test]
    fn curves_that_differ_widely_have_a_logarithmic_axis() {
        let mut report = fixture::report(&["a"], &[(1, 1), (2, 2), (4, 4)]);
        for (cell, speed) in report.cells.iter_mut().zip([1e8, 1e6, 2e5]) {
            cell.result.as_mut().unwrap().ops_per_s = speed;
        }
        let plot = draw(&report, &Curves::of(&report)).unwrap();
        assert!(plot.contains("ops/s, logarithmic") && plot.contains("100 M") && plot.contains("100 k └"), "{plot}");
        let rows: Vec<usize> =
            (0..).zip(plot.lines()).filter(|(_, line)| line.contains("│") && line.contains('a')).map(|r| r.0).collect();
        assert_eq!(rows.len(), 3, "each point on a row of its own: {plot}");
    }

    #[test]
    fn a_point_is_no_curve() {
        let report = fixture::report(&["a"], &[(4, 4)]);
        assert_eq!(draw(&report, &Curves::of(&report)), None);
    }
}
