//! The results of a reproduction: one type, from which the text, the JSON, the HTML and the Markdown are made.

pub use crate::bands::{Band, Inside, Shares};
pub use crate::explanations::{Explanation, Miss};
pub use crate::numbers::Open;
pub use crate::score::Score;
pub use turnwise_present::figures::plain as figure;

use super::mean::Mean;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use turnwise_bench::published;
use turnwise_present::machine::Machine;
use turnwise_simbench::report::SimMachine;

/// The format of [`Reproduction`] as JSON. Raised when a field changes its meaning or is removed.
pub const FORMAT: &str = "turnwise-reproduction/3";

/// All papers of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reproduction {
    /// [`FORMAT`].
    pub format: String,
    /// The command line that repeats it.
    pub command: String,
    /// The commit of the program, if known.
    pub commit: Option<String>,
    /// Random seed.
    pub seed: u64,
    /// Whether it is a short version.
    pub quick: bool,
    /// This machine.
    pub host: Machine,
    /// Of how many draws the bands are; 0: there are none.
    #[serde(default)]
    pub samples: u32,
    /// How many rows and claims came out.
    #[serde(default)]
    pub score: Score,
    /// The papers.
    pub documents: Vec<PaperReport>,
}

/// One paper.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct PaperReport {
    /// Its name in `published.toml`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The machine that it was measured on.
    pub published_on: String,
    /// The machine that was simulated.
    pub machine: SimMachine,
    /// What the threads do.
    pub workload: String,
    /// What it claims, in a few sentences, and whether that holds here.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What went in and was not fitted, each with its source.
    pub facts: Vec<String>,
    /// What was fitted.
    pub fitted: Vec<Fitted>,
    /// What the papers leave open and was chosen, and whether after a look at the rows: to a reader as good as fitted.
    #[serde(default)]
    pub chosen: Vec<String>,
    /// What the paper leaves open, and the bands are drawn of.
    #[serde(default)]
    pub open: Vec<Open>,
    /// The published tables, row by row.
    pub tables: Vec<Table>,
    /// Other runs: of other machines, and with other constants.
    pub listings: Vec<Listing>,
    /// Curves.
    pub plots: Vec<Plot>,
    /// What may explain the misses.
    #[serde(default)]
    pub whys: Vec<Explanation>,
    /// Notes on the figures.
    pub notes: Vec<String>,
    /// What a short version left out.
    pub left_out: Vec<String>,
}

/// A number that was fitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fitted {
    /// Its description.
    pub what: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The published figure that it was fitted on: a key.
    pub on: String,
}

/// A published table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The unit of its figures.
    #[serde(default)]
    pub unit: String,
    /// What the column of today's locks stands for; `None`: there is none.
    pub today: Option<String>,
    /// Whether its figures are changes, to which "nothing changes" would be an answer, too.
    #[serde(default)]
    pub changes: bool,
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Table {
    /// Returns whether differences of its figures are in points: they are changes, or shares of a whole.
    #[must_use]
    pub fn in_points(&self) -> bool {
        self.changes || self.unit.starts_with('%')
    }
}

/// How far a figure may be off for a claim to hold.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    /// By this share of what was published.
    Share(f64),
    /// By this much in the figure's own unit, which is per cent.
    Points(f64),
    /// By this factor, either way.
    Factor(f64),
    /// The side of zero on which it lies; a value nearer to zero than this has no sign.
    Sign(f64),
}

impl Bound {
    /// Returns whether ours is near enough to what was published.
    pub(crate) fn holds(self, published: f64, ours: f64) -> bool {
        let sign = |value: f64, nothing: f64| if value.abs() < nothing { 0.0 } else { value.signum() };
        match self {
            Bound::Share(share) => (ours - published).abs() <= share * published.abs(),
            Bound::Points(points) => (ours - published).abs() <= points,
            Bound::Factor(factor) => (1.0 / factor..=factor).contains(&(ours / published)),
            Bound::Sign(nothing) => sign(ours, nothing) == sign(published, nothing),
        }
    }

    /// Judges a mean by two standard errors either way: it holds if it does for all of that, and fails if for none.
    pub(crate) fn judge(self, published: f64, (ours, error): Mean) -> Verdict {
        let error = 2.0 * error.unwrap_or(0.0);
        let (low, high) = (ours - error, ours + error);
        match (self.holds(published, low) && self.holds(published, high), published.max(low).min(high)) {
            (true, _) => Verdict::Holds,
            (false, nearest) if self.holds(published, nearest) => Verdict::CannotTell,
            _ => Verdict::Fails,
        }
    }
}

/// A published figure or claim, and ours.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Its place in `published.toml`; a figure that follows from others has `a / b`.
    pub key: String,
    /// Its description.
    pub label: String,
    /// As published, in words.
    #[serde(default)]
    pub said: String,
    /// As published, if it is a figure.
    pub published: Option<f64>,
    /// Ours; `None`: see [`Row::remark`].
    pub ours: Option<f64>,
    /// The standard error of ours, where it is a mean of several seeds.
    #[serde(default)]
    pub standard_error: Option<f64>,
    /// Our least and our greatest figure, where there are several seeds.
    #[serde(default)]
    pub range: Option<(f64, f64)>,
    /// With today's locks.
    pub today: Option<f64>,
    /// A number was fitted on it.
    #[serde(default)]
    pub fitted: bool,
    /// Why it is not judged, though it has figures and a number was not fitted on it.
    #[serde(default)]
    pub unjudged: Option<String>,
    /// Within what the paper's own text leaves it, if that was drawn.
    #[serde(default)]
    pub band: Option<Band>,
    /// A remark next to a figure, or instead of one.
    pub remark: Option<String>,
}

impl Row {
    /// Adds what was published at its key, unless the row has a figure that follows from published ones.
    ///
    /// # Errors
    /// Nothing was.
    pub(crate) fn complete(&mut self) -> Result<()> {
        if let Some(published) = self.published {
            self.said = figure(published);
        } else {
            let claim = published::claim(&self.key)?;
            (self.published, self.said) = (claim.number, claim.text);
        }
        Ok(())
    }

    /// Returns (ours - published) / published.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let (published, ours) = self.published.zip(self.ours)?;
        (published != 0.0).then(|| ours / published - 1.0)
    }

    /// Returns whether ours says something about the published figure: no number was fitted on it.
    #[must_use]
    pub fn is_compared(&self) -> bool {
        self.published.is_some() && self.ours.is_some() && !self.fitted && self.unjudged.is_none()
    }

    /// Returns the error as a column shows it, in points or per cent.
    #[must_use]
    pub fn error_text(&self, points: bool) -> String {
        match self.published.zip(self.ours) {
            Some((published, ours)) if points => format!("{:+.1} points", ours - published),
            _ => self.error().map_or_else(|| "-".to_owned(), |error| format!("{:+.1}%", error * 100.0)),
        }
    }
}

/// Whether a claim holds on the simulated machine. Of several that must hold, the greatest is the verdict.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// In direction and in size.
    Holds,
    /// In direction, but not in size.
    Direction,
    /// A choice decides that the paper does not.
    Open,
    /// The noise of the simulated figures decides.
    #[serde(rename = "cannot tell")]
    CannotTell,
    /// It does not.
    Fails,
}

/// A sentence of a paper, in our words, and its outcome here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// The claim in words.
    pub what: String,
    /// Its figures.
    pub published: String,
    /// Ours.
    pub ours: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// In how many draws it does.
    #[serde(default)]
    pub draws: Option<Shares>,
}

/// A table of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listing {
    /// What it shows.
    pub title: String,
    /// Headings.
    pub columns: Vec<String>,
    /// A cell for each heading.
    pub rows: Vec<Vec<String>>,
}

/// Curves over one axis.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The x axis.
    pub x: String,
    /// The y axis.
    pub y: String,
    /// The curves.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// As published, rather than ours.
    #[serde(default)]
    pub published: bool,
    /// With x rising.
    pub points: Vec<(f64, f64)>,
}

impl PaperReport {
    /// Returns how many rows have a band with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Inside) -> usize {
        self.rows().filter(|row| row.band.as_ref().is_some_and(|band| band.verdict == verdict)).count()
    }

    /// Returns all rows of all tables.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.tables.iter().flat_map(|table| &table.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_compared_unless_a_number_was_fitted_on_it() {
        let key = "spin_backoff.rows[0].spin[0]".to_owned();
        let mut row = Row { key, ours: Some(4.2), ..Row::default() };
        row.complete().expect("it is there");
        assert_eq!((row.is_compared(), row.error_text(false).as_str()), (true, "+5.3%"));
        assert_eq!(row.error_text(true), "+0.2 points");
        assert!(!Row { fitted: true, ..row.clone() }.is_compared());
        assert!(!Row { unjudged: Some("follows from a fitted row".to_owned()), ..row }.is_compared());
    }

    #[test]
    fn noise_that_crosses_the_bound_cannot_tell() {
        let verdict = |ours, error| Bound::Share(0.25).judge(2.0, (ours, Some(error)));
        let met = [verdict(2.3, 0.1), verdict(2.3, 0.2), verdict(2.7, 0.2)];
        assert_eq!(met, [Verdict::Holds, Verdict::CannotTell, Verdict::CannotTell]);
        assert_eq!(verdict(2.7, 0.09), Verdict::Fails);
        assert_eq!(verdict(2.0, 0.5), Verdict::CannotTell, "both ends are beyond the bound, on either side");
    }

    #[test]
    fn bounds_hold_on_both_sides() {
        assert!(Bound::Factor(1.5).holds(90.0, 60.0) && !Bound::Factor(1.5).holds(90.0, 59.0));
        assert!(Bound::Sign(1.0).holds(0.3, -0.9) && !Bound::Sign(1.0).holds(14.0, 0.5));
        assert!(Bound::Points(10.0).holds(-6.3, 3.7) && !Bound::Points(10.0).holds(-6.3, -16.4));
    }
}
