//! What may explain the misses of each paper: a sentence of physics, and the experiment that would settle it. A
//! sentence is shown if something that it is about is missed. They are written in `words.toml` of each paper.

use crate::report::{Claim, PaperReport, Row, Verdict};
use serde::{Deserialize, Serialize};

pub use crate::words::whys as of;

/// A sentence of physics.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The rows that it is about: how their keys begin.
    pub rows: Vec<String>,
    /// The claims that it is about: a part of their wording.
    pub claims: Vec<String>,
    /// What differs here.
    pub physics: String,
    /// What would settle it.
    pub experiment: String,
}

impl Explanation {
    /// Returns whether it is about this row.
    #[must_use]
    pub fn covers(&self, row: &Row) -> bool {
        self.rows.iter().any(|key| row.key.starts_with(key.as_str()))
    }

    /// Returns whether it is about this claim.
    #[must_use]
    pub fn is_about(&self, claim: &Claim) -> bool {
        self.claims.iter().any(|part| claim.what.contains(part.as_str()))
    }
}

/// What a sentence has to explain.
#[derive(Clone, Debug, Serialize)]
pub struct Miss<'a> {
    /// The sentence.
    pub why: &'a Explanation,
    /// Claims that do not hold, or only in direction.
    pub claims: Vec<&'a Claim>,
    /// Rows that were missed.
    pub missed: usize,
    /// Rows that were judged.
    pub judged: usize,
}

impl PaperReport {
    /// Returns the sentences that have a miss to explain. A row or a claim belongs to the first that is about it.
    #[must_use]
    pub fn misses(&self) -> Vec<Miss<'_>> {
        let mut rows: Vec<(&Row, Verdict)> = self.rows().filter_map(|row| Some((row, row.judged()?))).collect();
        let mut claims: Vec<&Claim> = self.claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
        let mut misses = Vec::new();
        for why in &self.whys {
            let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(row, _)| why.covers(row));
            let (about, rest): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claim| why.is_about(claim));
            (rows, claims) = (others, rest);
            let missed = own.iter().filter(|(_, verdict)| *verdict == Verdict::Fails).count();
            if missed > 0 || !about.is_empty() {
                misses.push(Miss { why, claims: about, missed, judged: own.len() });
            }
        }
        misses
    }
}
