//! Order statistics.

/// The value below which a `share` of the sample lies, linear between the neighbours (type 7 of Hyndman and Fan).
/// `sorted` rises and is not empty.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

/// The middle one, or the mean of the middle two; sorts the sample, which is not empty.
#[must_use]
pub fn median(sample: &mut [f64]) -> f64 {
    sample.sort_unstable_by(f64::total_cmp);
    quantile(sample, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 3.0, 5.0];
        assert_eq!([0.0, 0.5, 0.9, 1.0].map(|share| quantile(&sorted, share)), [1.0, 2.5, 4.4, 5.0]);
        assert_eq!([median(&mut [3.0, 1.0, 2.0]), median(&mut [7.0])], [2.0, 7.0]);
    }
}
