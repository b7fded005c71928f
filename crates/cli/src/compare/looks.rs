//! The number of runs of a comparison: a given number, or as many as the verdict needs, within bounds.
//!
//! If one checks a 95% interval repeatedly, and stops once it excludes 1, one is wrong in more than 5% of cases (P.
//! Armitage, C. K. McPherson, B. C. Rowe, Repeated Significance Tests on Accumulating Data, Journal of the Royal
//! Statistical Society A 132, 1969); with the five looks here in about 13%. So the looks are few and fixed in advance,
//! and each of K has an interval of confidence `1 - 5% / K`. By Bonferroni's inequality all of them hold simultaneously
//! with 95%, however they depend on each other, so the verdict may rest on the one that ended the comparison. (C.
//! Jennison, B. W. Turnbull, Group Sequential Methods with Applications to Clinical Trials, 2000, chapters 2 and 9,
//! describe such repeated intervals, and slightly tighter boundaries for normal distributions.)

use super::stats::{Ratio, rounds_for_a_verdict};

/// The runs of each before the first look, unless the number of looks requires more.
pub(crate) const FIRST: u32 = 8;
/// The default maximum of runs of each.
pub(crate) const MOST: u32 = 40;
/// The factor by which the runs grow from one look to the next.
const GROWTH: f64 = 1.5;
/// The probability of error of all looks together.
const ERROR: f64 = 0.05;

/// Returns the numbers of runs after which to look; the last is `most`. At the first, all rounds agree by chance only
/// as rarely as a look's interval allows.
pub(crate) fn looks(most: u32) -> Vec<u32> {
    let from = |first: u32| -> Vec<u32> {
        let next = |runs: &u32| (*runs < most).then(|| ((f64::from(*runs) * GROWTH) as u32).min(most));
        std::iter::successors(Some(first.min(most)), next).collect()
    };
    let sound =
        |looks: &Vec<u32>| looks[0] == most || looks[0] as usize >= rounds_for_a_verdict(confidence(looks.len()));
    (FIRST..).map(from).find(sound).unwrap_or_default()
}

/// Returns the confidence of each interval, with `looks` looks.
pub(crate) fn confidence(looks: usize) -> f64 {
    1.0 - ERROR / looks as f64
}

/// Returns whether more runs are not needed: the ratio differs from 1, or by no more than `margin`; or there is none.
pub(crate) fn is_settled(ratio: Option<Ratio>, margin: f64) -> bool {
    ratio.is_none_or(|ratio| ratio.differs() || ratio.is_within(margin))
}

#[cfg(test)]
mod tests {
    use super::super::stats::ratio_by;
    use super::*;
    use fastrand::Rng;

    const MARGIN: f64 = 0.05;

    #[test]
    fn looks_are_few_and_the_first_can_tell() {
        assert_eq!(looks(MOST), [8, 12, 18, 27, 40]);
        assert_eq!(looks(8), [8]);
        assert_eq!(looks(10), [8, 10]);
        for most in FIRST..2000 {
            let looks = looks(most);
            assert!(looks.is_sorted_by(|a, b| a < b) && looks.last() == Some(&most), "{looks:?}");
            assert!(looks.len() == 1 || 0.5_f64.powi(looks[0] as i32 - 1) <= ERROR / looks.len() as f64, "{looks:?}");
        }
    }

    /// Simulates a comparison that stops as `compare` does, of an arm that is `factor` times the baseline; each look
    /// may be wrong by `error`. Returns its result, and the number of runs.
    fn compared(factor: f64, noise: fn(&mut Rng) -> f64, error: f64, rng: &mut Rng) -> (Option<Ratio>, u32) {
        const RESAMPLES: usize = 1000;
        let (looks, mut rounds, mut last) = (looks(MOST), Vec::new(), (None, 0));
        for runs in &looks {
            rounds.resize_with(*runs as usize, || (factor * noise(rng), noise(rng)));
            last = (ratio_by(&rounds, 1.0 - error, RESAMPLES, rng), *runs);
            if is_settled(last.0, MARGIN) {
                break;
            }
        }
        last
    }

    /// Returns the probability of error of each look.
    fn each() -> f64 {
        1.0 - confidence(looks(MOST).len())
    }

    fn normal(rng: &mut Rng) -> f64 {
        (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
    }

    /// The middle half is 15% wide: 34 of the 50 spreads in docs/results/programs.md are no wider.
    fn usual(rng: &mut Rng) -> f64 {
        (0.11 * normal(rng)).exp()
    }

    /// Student's distribution with two degrees of freedom, which has no variance.
    fn heavy(rng: &mut Rng) -> f64 {
        let scale = (-(1.0 - rng.f64()).ln()).sqrt();
        (0.08 * normal(rng) / scale).exp()
    }

    /// One run in six takes up to four times as long.
    fn spikes(rng: &mut Rng) -> f64 {
        let slowed = if rng.u8(..6) == 0 { 1.0 + 3.0 * rng.f64() } else { 1.0 };
        usual(rng) * slowed
    }

    #[test]
    fn equal_arms_are_distinguished_in_less_than_one_case_of_twenty() {
        let mut rng = Rng::with_seed(7);
        let mut share = |error: f64, trials: u32| {
            let shown =
                |noise| (0..trials).filter(|_| compared(1.0, noise, error, &mut rng).0.unwrap().differs()).count();
            let shown = [usual, heavy, spikes].map(shown);
            println!("with {error:.3} for each look, {shown:?} of {trials}");
            shown.iter().sum::<usize>() as f64 / f64::from(3 * trials)
        };
        assert!(share(each(), 150) <= ERROR, "too many claims are false");
        assert!(share(ERROR, 50) > 1.5 * ERROR, "there is no need to allow for looks");
    }

    #[test]
    fn an_arm_of_1_3_times_the_baseline_is_reported_nearly_always() {
        let (mut rng, trials) = (Rng::with_seed(8), 100);
        for noise in [usual, heavy] {
            let shown: Vec<u32> = (0..trials)
                .map(|_| compared(1.3, noise, each(), &mut rng))
                .filter_map(|(ratio, runs)| ratio.is_some_and(|ratio| ratio.low > 1.0).then_some(runs))
                .collect();
            println!(
                "{} of {trials}, after {} runs in the mean",
                shown.len(),
                shown.iter().sum::<u32>() as usize / shown.len()
            );
            assert!(shown.len() >= 97, "{} of {trials}", shown.len());
        }
    }

    #[test]
    fn equal_arms_without_much_noise_end_it_early() {
        let mut rng = Rng::with_seed(9);
        let (ratio, runs) = compared(1.0, |rng| (0.01 * normal(rng)).exp(), each(), &mut rng);
        assert!(runs < MOST && ratio.unwrap().is_within(MARGIN), "{ratio:?} after {runs}");
    }
}
