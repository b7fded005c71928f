//! The scale of the histograms: four buckets to each power of two, so that a bound is at most a quarter too high.

/// Buckets of a histogram; the last takes all that is longer.
pub const BUCKETS: usize = 176;
/// Steps of a course over time.
pub const STEPS: usize = 64;

/// The bucket of a value.
#[must_use]
#[inline]
pub fn bucket(value: u64) -> usize {
    if value < 4 {
        return value as usize;
    }
    let power = value.ilog2();
    let quarter = (value >> (power - 2)) as usize & 3;
    ((power as usize - 1) * 4 + quarter).min(BUCKETS - 1)
}

/// The greatest value in a bucket.
#[must_use]
pub fn bound(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let power = bucket / 4 + 1;
    let quarter = bucket as u64 % 4;
    ((5 + quarter) << (power - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_its_bucket() {
        for value in (0..5000).chain((3..43).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1])) {
            let found = bucket(value);
            assert!(value <= bound(found), "{value} is above bucket {found}");
            assert!(found == 0 || value > bound(found - 1), "{value} is below bucket {found}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}
