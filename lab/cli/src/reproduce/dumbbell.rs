//! A paper's informative rows as dots on an axis for each table: published figures, simulated ones, and the range of
//! seeds.

use serde::Serialize;
use turnwise_present::chart::Axis;
use turnwise_reproduce::report::{PaperReport, Row, figure};

/// Rows of a paper that fit in text.
const MOST: usize = 12;
/// Columns of text.
const WIDTH: usize = 118;
const LABEL_MAX: usize = 52;
/// Columns of the two figures and the verdict behind the dots.
const FIGURES: usize = 33;

/// The rows of a table.
#[derive(Serialize)]
pub(crate) struct Panel<'a> {
    title: String,
    rows: Vec<&'a Row>,
    axis: Axis,
}

/// Returns the tables of a paper that have such rows.
pub(crate) fn panels(document: &PaperReport) -> Vec<Panel<'_>> {
    let panel = |table: &'_ turnwise_reproduce::report::Table| format!("{} [{}]", table.title, table.unit);
    let tables = document.tables.iter().map(|table| {
        let rows: Vec<&Row> = table.rows.iter().filter(|row| row.informative()).collect();
        (panel(table), rows)
    });
    tables.filter(|(_, rows)| !rows.is_empty()).map(|(title, rows)| Panel::new(title, rows)).collect()
}

/// Returns our least and greatest figure: of all seeds, else by the standard error.
pub(crate) fn range(row: &Row) -> Option<(f64, f64)> {
    row.range.or_else(|| row.ours.zip(row.standard_error).map(|(ours, error)| (ours - error, ours + error)))
}

impl<'a> Panel<'a> {
    fn new(title: String, rows: Vec<&'a Row>) -> Panel<'a> {
        let values = rows.iter().flat_map(|row| {
            let ends = range(row).map(|(low, high)| [low, high]);
            row.published.into_iter().chain(row.ours).chain(ends.into_iter().flatten())
        });
        let axis = Axis::of(values);
        let title = if axis.log { format!("{title}, logarithmic") } else { title };
        Panel { title, rows, axis }
    }
}

/// Returns the panels as lines of text, at most this many rows of them all; of each table the first.
pub(crate) fn lines(panels: &[Panel<'_>]) -> Vec<String> {
    let shares = shares(&panels.iter().map(|panel| panel.rows.len()).collect::<Vec<_>>());
    let shown = panels.iter().zip(&shares).flat_map(|(panel, share)| &panel.rows[..*share]);
    let label = shown.map(|row| row.label.chars().count()).max().unwrap_or(0).min(LABEL_MAX);
    let label = panels.iter().map(|panel| panel.title.chars().count()).max().unwrap_or(0).min(LABEL_MAX).max(label);
    let width = WIDTH - label - FIGURES;
    let mut lines = Vec::new();
    for (panel, share) in panels.iter().zip(shares) {
        let (low, high) = (figure(panel.axis.low), figure(panel.axis.high));
        let gap = width.saturating_sub(low.chars().count());
        let title = cut(&panel.title, label);
        lines.push(format!("{title:label$}  {low}{high:>gap$}  {:>10} {:>10}", "published", "simulated"));
        lines.extend(panel.rows[..share].iter().map(|row| line(panel, row, label, width)));
    }
    let (all, shown) = (panels.iter().map(|panel| panel.rows.len()).sum::<usize>(), lines.len() - panels.len());
    if shown < all {
        lines.push(format!("... and {} more informative rows in the appendix", all - shown));
    }
    lines
}

/// Returns how many rows of each table are shown: one of each in turn while there is room.
fn shares(rows: &[usize]) -> Vec<usize> {
    let mut shares = vec![0; rows.len()];
    let mut left = MOST;
    while left > 0 && shares.iter().zip(rows).any(|(share, rows)| share < rows) {
        for (share, rows) in shares.iter_mut().zip(rows) {
            if left > 0 && *share < *rows {
                (*share, left) = (*share + 1, left - 1);
            }
        }
    }
    shares
}

fn line(panel: &Panel<'_>, row: &Row, label: usize, width: usize) -> String {
    let place = |value: f64| panel.axis.cell(value, width);
    let (published, ours) = (row.published.unwrap_or(0.0), row.ours.unwrap_or(0.0));
    let mut cells = vec![' '; width];
    let mut draw = |from: usize, to: usize, sign: char| cells[from.min(to)..=from.max(to)].fill(sign);
    if let Some(zero) = panel.axis.zero() {
        let zero = (zero * (width as f64 - 1.0)).round() as usize;
        draw(zero, zero, '\u{2502}');
    }
    let (there, here) = (place(published), place(ours));
    draw(there, here, '\u{b7}');
    if let Some((low, high)) = range(row) {
        draw(place(low), place(high), '\u{2500}');
    }
    draw(there, there, 'o');
    draw(here, here, if there == here { '\u{25c9}' } else { '\u{25cf}' });
    let dots: String = cells.into_iter().collect();
    let (name, there, here) = (cut(&row.label, label), figure(published), figure(ours));
    format!("{name:label$}  {dots}  {there:>10} {here:>10}  {}", row.verdict())
}

/// Returns as much of a text as fits.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_reproduce::report::Bound;

    fn row(published: f64, ours: f64) -> Row {
        let (label, bound) = ("a row".to_owned(), Some(Bound::Share(0.25)));
        Row { label, published: Some(published), ours: Some(ours), bound, ..Row::default() }
    }

    #[test]
    fn dots_lie_where_their_figures_are() {
        let (near, far) = (row(100.0, 100.0), Row { range: Some((0.0, 25.0)), ..row(50.0, 0.0) });
        let lines = lines(&[Panel::new("t [s]".to_owned(), vec![&near, &far])]);
        let dots = |line: &str| line.chars().skip(5 + 2).take(WIDTH - 5 - FIGURES).collect::<Vec<char>>();
        let (first, second) = (dots(&lines[1]), dots(&lines[2]));
        assert_eq!(first.iter().position(|c| *c == '\u{25c9}'), Some(first.len() - 1), "{lines:#?}");
        assert_eq!(second[0], '\u{25cf}');
        let published = second.iter().position(|c| *c == 'o').expect("it is there");
        assert!(published.abs_diff(second.len() / 2) <= 1 && second[second.len() / 8] == '\u{2500}', "{lines:#?}");
        assert!(lines[1].ends_with("met") && lines[2].ends_with("missed"), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
    }

    #[test]
    fn each_table_has_its_share_of_the_rows() {
        assert_eq!(shares(&[30, 1, 2]), [9, 1, 2]);
        assert_eq!(shares(&[2, 0, 3]), [2, 0, 3]);
        assert_eq!(shares(&[30, 30, 30]), [4, 4, 4]);
    }
}
