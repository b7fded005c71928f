//! How much of a reproduction is right: rows and claims.

use crate::report::{Inside, PaperReport, Row, Verdict};
use serde::{Deserialize, Serialize};

/// How many were right, of how many.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Score {
    /// Rows inside their bands.
    pub rows_inside: usize,
    /// Rows outside.
    pub rows_outside: usize,
    /// Rows whose band is so wide that it says nothing.
    pub rows_open: usize,
    /// Claims that hold in direction and in size.
    pub claims_held: usize,
    /// Claims that hold in direction only.
    pub claims_in_direction: usize,
    /// Claims that a choice decides.
    pub claims_open: usize,
    /// Claims that noise decides.
    pub claims_unclear: usize,
    /// All claims.
    pub claims: usize,
    /// Of the rows about changes.
    pub changes: Skill,
}

/// Our figures beside the answer that nothing changes.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Skill {
    /// Rows that are compared.
    pub rows: usize,
    /// The roots of the mean squares of both errors, points.
    pub error: [f64; 2],
}

impl Score {
    /// Returns the score of these papers together.
    #[must_use]
    pub fn of(documents: &[PaperReport]) -> Score {
        let rows = |verdict| documents.iter().map(|document| document.count(verdict)).sum();
        let claims = || documents.iter().flat_map(|document| &document.claims);
        let claimed = |verdict| claims().filter(|claim| claim.verdict == verdict).count();
        Score {
            rows_inside: rows(Inside::Inside),
            rows_outside: rows(Inside::Outside),
            rows_open: rows(Inside::Nothing),
            claims_held: claimed(Verdict::Holds),
            claims_in_direction: claimed(Verdict::Direction),
            claims_open: claimed(Verdict::Open),
            claims_unclear: claimed(Verdict::CannotTell),
            claims: claims().count(),
            changes: Skill::of(documents),
        }
    }
}

impl Skill {
    fn of(documents: &[PaperReport]) -> Skill {
        let tables = documents.iter().flat_map(|document| &document.tables).filter(|table| table.changes);
        let figures = |row: &Row| row.published.zip(row.ours).filter(|_| row.is_compared());
        let rows: Vec<(f64, f64)> = tables.flat_map(|table| &table.rows).filter_map(figures).collect();
        let error = |said: fn(f64) -> f64| {
            let squares: f64 = rows.iter().map(|(published, ours)| (said(*ours) - published).powi(2)).sum();
            (squares / rows.len().max(1) as f64).sqrt()
        };
        Skill { rows: rows.len(), error: [error(|ours| ours), error(|_| 0.0)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Table;

    #[test]
    fn nothing_changes_is_an_answer_too() {
        let row = |published, ours| Row { published: Some(published), ours: Some(ours), ..Row::default() };
        let table = |changes, rows| Table { title: String::new(), unit: "%".to_owned(), today: None, changes, rows };
        let tables = vec![table(true, vec![row(34.0, 30.0), row(2.0, 14.0)]), table(false, vec![row(9.0, 9.0)])];
        let score = Score::of(&[PaperReport { tables, ..PaperReport::default() }]);
        assert_eq!((score.rows_inside, score.changes.rows), (0, 2));
        let [ours, nothing] = score.changes.error;
        assert!((ours - 80.0_f64.sqrt()).abs() < 1e-9 && (nothing - 580.0_f64.sqrt()).abs() < 1e-9);
    }
}
