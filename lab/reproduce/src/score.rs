//! How much of a reproduction is right: rows and claims.

use crate::report::{PaperReport, Verdict};
use serde::{Deserialize, Serialize};

/// How many were right, of how many.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Score {
    /// Rows that kept their bounds.
    pub rows_met: usize,
    /// Rows that were judged.
    pub rows_judged: usize,
    /// Claims that hold in direction and in size.
    pub claims_held: usize,
    /// Claims that hold in direction only.
    pub claims_in_direction: usize,
    /// All claims.
    pub claims: usize,
}

impl Score {
    /// Returns the score of these papers together.
    #[must_use]
    pub fn of(documents: &[PaperReport]) -> Score {
        let mut score = Score::default();
        for document in documents {
            let (met, judged) = document.judged();
            let claims = |verdict| document.claims.iter().filter(|claim| claim.verdict == verdict).count();
            score.rows_met += met;
            score.rows_judged += judged;
            score.claims_held += claims(Verdict::Holds);
            score.claims_in_direction += claims(Verdict::Direction);
            score.claims += document.claims.len();
        }
        score
    }
}
