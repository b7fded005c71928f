//! What may explain the misses of each paper: a sentence of physics, and the experiment that would settle it. A
//! sentence is shown if a claim that it is about does not hold. They are written in `words.toml` of each paper.

use crate::Paper;
use crate::report::{Claim, PaperReport, Verdict};
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// A sentence of physics.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The claims that it is about: a part of their wording.
    pub claims: Vec<String>,
    /// What differs here.
    pub physics: String,
    /// What would settle it.
    pub experiment: String,
}

impl Explanation {
    /// Returns whether it is about this claim.
    #[must_use]
    pub fn is_about(&self, claim: &Claim) -> bool {
        self.claims.iter().any(|part| claim.what.contains(part.as_str()))
    }
}

/// Returns what is known about a paper's misses.
///
/// # Errors
/// There is no such paper.
pub fn of(document: &str) -> Result<Vec<Explanation>> {
    #[derive(Deserialize)]
    struct Words {
        why: Vec<Explanation>,
    }
    Ok(toml::from_str::<Words>(Paper::named(document)?.words)?.why)
}

/// What a sentence has to explain.
#[derive(Clone, Debug, Serialize)]
pub struct Miss<'a> {
    /// The sentence.
    pub why: &'a Explanation,
    /// Claims that do not hold, or only in direction.
    pub claims: Vec<&'a Claim>,
}

impl PaperReport {
    /// Returns the sentences that have a miss to explain. A claim belongs to the first that is about it.
    #[must_use]
    pub fn misses(&self) -> Vec<Miss<'_>> {
        let mut claims: Vec<&Claim> = self.claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
        let mut misses = Vec::new();
        for why in &self.whys {
            let (about, rest): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claim| why.is_about(claim));
            claims = rest;
            if !about.is_empty() {
                misses.push(Miss { why, claims: about });
            }
        }
        misses
    }
}
