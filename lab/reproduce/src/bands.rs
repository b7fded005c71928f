//! What a paper's own text leaves open of its figures: many short runs, each with the numbers that it does not give
//! drawn within their ranges, and with a seed of its own, so that noise and the error of what is fitted are in them,
//! too. Rows and claims are computed by the same code as those of the report.

use crate::pool::Pool;
use crate::report::{PaperReport, Row, Verdict};
use crate::{Context, Draw, Paper};
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use turnwise_present::progress::ProgressBar;
use turnwise_present::stats::quantile;

/// The format of [`Draws`] as JSON.
pub const FORMAT: &str = "turnwise-draws/1";

/// The draws of some papers, or a part of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Draws {
    /// [`FORMAT`].
    pub format: String,
    /// The commit of the program, if known.
    pub commit: Option<String>,
    /// Random seed.
    pub seed: u64,
    /// How many draws of each paper there are in all parts.
    pub samples: u32,
    /// Those of this part, by paper.
    pub papers: BTreeMap<String, Vec<Drawn>>,
}

/// What one draw of a paper showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// Which one, from 0.
    pub sample: u32,
    /// Where in its range each number was, from 0 to 1.
    pub places: BTreeMap<String, f64>,
    /// Our figure of each row, by its key.
    pub rows: BTreeMap<String, f64>,
    /// The verdict on each claim, by its wording.
    pub claims: BTreeMap<String, Verdict>,
}

/// The band of a row: from the 5th to the 95th percentile of the draws.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Band {
    /// Its lower end.
    pub low: f64,
    /// The median of the draws.
    pub median: f64,
    /// Its upper end.
    pub high: f64,
    /// Where the published figure is.
    pub verdict: Inside,
    /// The numbers that decide it most, with their rank correlations: two at most.
    pub decided_by: Vec<(String, f64)>,
}

/// Where a published figure lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inside {
    /// In the band, which explains it.
    Inside,
    /// Beyond the band: what the paper leaves open does not explain it.
    Outside,
    /// In a band so wide that it would hold nearly anything.
    #[serde(rename = "says nothing")]
    Nothing,
}

/// A band that is wider than this factor says nothing, or than this many points, of changes and shares.
const WIDEST: f64 = 3.0;
const WIDEST_POINTS: f64 = 30.0;

/// In how many draws a claim came out how.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Shares {
    /// It holds.
    pub holds: u32,
    /// It holds in direction.
    pub direction: u32,
    /// It fails.
    pub fails: u32,
}

/// Runs these draws of papers side by side: the `k`-th of `n` parts, `k` from 1.
///
/// # Errors
/// A lock broke its guarantee, or threads made no progress: with the draw in which they did.
pub fn draw(
    documents: &[&'static Paper],
    (seed, samples): (u64, u32),
    (k, n): (u32, u32),
    jobs: usize,
    progress: &ProgressBar,
) -> Result<BTreeMap<String, Vec<Drawn>>> {
    let of_part = (0..samples).filter(|sample| sample % n == k - 1);
    let items: Vec<(&Paper, u32)> =
        of_part.flat_map(|sample| documents.iter().map(move |document| (*document, sample))).collect();
    progress.inc_length(items.len() as u64);
    let name = |(document, sample): &(&Paper, u32)| format!("{}, draw {sample}", document.name);
    let pool = Pool::new(jobs, progress);
    let drawn = pool.map_longest_first(
        name,
        &items,
        |item| item.0.runs[0],
        |item| one(item.0, seed, item.1, samples).with_context(|| name(item)),
    )?;
    let mut papers: BTreeMap<String, Vec<Drawn>> = BTreeMap::new();
    for ((document, _), drawn) in items.iter().zip(drawn) {
        papers.entry(document.name.to_owned()).or_default().push(drawn);
    }
    Ok(papers)
}

/// Runs one draw, which has simulations of its own seeds.
fn one(document: &Paper, seed: u64, sample: u32, samples: u32) -> Result<Drawn> {
    let (draw, hidden) = (Draw::new(seed, sample, samples), ProgressBar::hidden());
    let (pool, seed) = (Pool::new(1, &hidden), seed + 1000 * u64::from(sample));
    let report = document.run(&Context { seed, quick: true, least: false, pool: &pool, draw: Some(&draw) })?;
    let figure = |row: &Row| Some((row.key.clone(), row.ours.filter(|ours| ours.is_finite())?));
    Ok(Drawn {
        sample,
        rows: report.rows().filter_map(figure).collect(),
        claims: report.claims.into_iter().map(|claim| (claim.what, claim.verdict)).collect(),
        places: draw.places(),
    })
}

impl Draws {
    /// Puts parts together.
    ///
    /// # Errors
    /// They are of different runs, or some draws are missing or there twice.
    pub fn merged(parts: Vec<Draws>) -> Result<Draws> {
        let mut parts = parts.into_iter();
        let mut all = parts.next().context("there is no part")?;
        for part in parts {
            let same = (&part.commit, part.seed, part.samples) == (&all.commit, all.seed, all.samples);
            ensure!(same, "parts of different runs: commit, seed and samples must be the same");
            for (paper, drawn) in part.papers {
                all.papers.entry(paper).or_default().extend(drawn);
            }
        }
        for (paper, drawn) in &mut all.papers {
            drawn.sort_by_key(|drawn| drawn.sample);
            let complete = drawn.iter().map(|drawn| drawn.sample).eq(0..all.samples);
            ensure!(complete, "{paper}: draws are missing or there twice: {} of {}", drawn.len(), all.samples);
        }
        Ok(all)
    }

    /// Puts the bands beside the rows of a paper, and the shares beside its claims.
    pub fn beside(&self, report: &mut PaperReport) {
        let Some(drawn) = self.papers.get(&report.name) else { return };
        for table in &mut report.tables {
            let points = table.in_points();
            table.rows.iter_mut().for_each(|row| row.band = Band::of(row, drawn, points));
        }
        for claim in &mut report.claims {
            let mut shares = Shares::default();
            for verdict in drawn.iter().filter_map(|drawn| drawn.claims.get(&claim.what)) {
                *match verdict {
                    Verdict::Holds => &mut shares.holds,
                    Verdict::Direction => &mut shares.direction,
                    _ => &mut shares.fails,
                } += 1;
            }
            claim.draws = Some(shares);
        }
    }
}

impl Band {
    /// Returns the band of a row with a published figure that nothing was fitted on.
    fn of(row: &Row, drawn: &[Drawn], points: bool) -> Option<Band> {
        let published = row.published.filter(|_| row.is_compared())?;
        let ours: Vec<f64> = drawn.iter().filter_map(|drawn| drawn.rows.get(&row.key).copied()).collect();
        let mut sorted = ours.clone();
        sorted.sort_by(f64::total_cmp);
        // Where some draws have no figure, that of the others would not be what is left open.
        let complete = ours.len() == drawn.len() && !ours.is_empty();
        let [low, median, high] = complete.then(|| [0.05, 0.5, 0.95].map(|share| quantile(&sorted, share)))?;
        let wide = if points { high - low > WIDEST_POINTS } else { low <= 0.0 || high / low > WIDEST };
        let verdict = match (low..=high).contains(&published) {
            true if wide && low < high => Inside::Nothing,
            true => Inside::Inside,
            false => Inside::Outside,
        };
        Some(Band { low, median, high, verdict, decided_by: deciding(drawn, &ours) })
    }
}

/// Returns the two numbers whose ranks go most with those of the figures, beyond what luck would give.
fn deciding(drawn: &[Drawn], ours: &[f64]) -> Vec<(String, f64)> {
    let luck = 2.0 / (ours.len() as f64).sqrt();
    let ranks_of_ours = ranks(ours);
    let correlated = |name: &String| {
        let places: Vec<f64> = drawn.iter().filter_map(|drawn| drawn.places.get(name).copied()).collect();
        let of = (places.len() == ours.len()).then(|| correlation(&ranks(&places), &ranks_of_ours))?;
        (of.abs() > luck).then(|| (name.clone(), of))
    };
    let mut all: Vec<(String, f64)> =
        drawn.first().into_iter().flat_map(|drawn| drawn.places.keys()).filter_map(correlated).collect();
    all.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    all.truncate(2);
    all
}

/// Returns the rank of each value; equal ones share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let count = |than: fn(&f64, &f64) -> bool| values.iter().filter(|other| than(other, value)).count() as f64;
        count(|a, b| a < b) + count(|a, b| a == b) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Returns Pearson's correlation, of ranks Spearman's; 0 where one of them does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (of_a, of_b) = (mean(a), mean(b));
    let sum = |f: fn(f64, f64) -> f64| a.iter().zip(b).map(|(a, b)| f(a - of_a, b - of_b)).sum::<f64>();
    let varied = (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt();
    if varied > 0.0 { sum(|a, b| a * b) / varied } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: impl Fn(f64) -> f64) -> Vec<Drawn> {
        let one = |sample| {
            let draw = Draw::new(7, sample, 40);
            let rows = BTreeMap::from([("a".to_owned(), rows(draw.at("line")) + 0.0 * draw.at("letter"))]);
            Drawn { sample, rows, claims: BTreeMap::new(), places: draw.places() }
        };
        (0..40).map(one).collect()
    }

    fn band(published: f64, rows: impl Fn(f64) -> f64) -> Band {
        let row = Row { key: "a".to_owned(), published: Some(published), ours: Some(1.0), ..Row::default() };
        Band::of(&row, &drawn(rows), false).expect("all draws have the row")
    }

    #[test]
    fn every_part_of_a_range_is_drawn_once_and_the_same_again() {
        let parts = |name: &str| -> Vec<u32> {
            (0..16).map(|sample| (Draw::new(3, sample, 16).at(name) * 16.0) as u32).collect()
        };
        let mut line = parts("line");
        assert!(line == parts("line") && line != parts("wake"));
        line.sort_unstable();
        assert_eq!(line, (0..16).collect::<Vec<u32>>());
    }

    #[test]
    fn a_figure_is_inside_outside_or_in_a_band_that_says_nothing() {
        assert_eq!(band(15.0, |place| 10.0 + 10.0 * place).verdict, Inside::Inside);
        assert_eq!(band(25.0, |place| 10.0 + 10.0 * place).verdict, Inside::Outside);
        assert_eq!(band(25.0, |place| 10.0 + 90.0 * place).verdict, Inside::Nothing);
        let fitted = Row { published: Some(1.0), ours: Some(1.0), fitted: true, ..Row::default() };
        assert!(Band::of(&fitted, &drawn(|place| place), false).is_none());
    }

    #[test]
    fn the_number_that_decides_is_named_and_those_that_do_not_are_not() {
        let band = band(15.0, |place| 20.0 - (10.0 * place).exp());
        let [(name, correlation)] = &band.decided_by[..] else { panic!("{:?}", band.decided_by) };
        assert!(name == "line" && (correlation + 1.0).abs() < 1e-9, "{name} {correlation}");
    }

    #[test]
    fn parts_make_a_whole_only_if_nothing_is_missing() {
        let part = |samples: &[usize]| {
            let all = drawn(|place| place);
            let papers = BTreeMap::from([("p".to_owned(), samples.iter().map(|&n| all[n].clone()).collect())]);
            Draws { format: FORMAT.to_owned(), commit: None, seed: 7, samples: 3, papers }
        };
        let whole = Draws::merged(vec![part(&[2, 0]), part(&[1])]).expect("all are there");
        assert_eq!(whole.papers["p"].iter().map(|drawn| drawn.sample).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(Draws::merged(vec![part(&[0, 1])]).is_err() && Draws::merged(vec![part(&[0, 1, 1])]).is_err());
        assert!(Draws::merged(vec![part(&[0, 1]), Draws { seed: 8, ..part(&[2]) }]).is_err());
    }
}
