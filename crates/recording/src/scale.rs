//! The scale of the histograms: four buckets to each power of two, so that a bound is at most a quarter too high.

/// The number of buckets of a histogram; the last takes all longer values.
pub const BUCKETS: usize = 176;
/// The number of steps of a time course.
pub const STEPS: usize = 64;

/// Returns the bucket of a value.
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

/// Returns the greatest value in a bucket.
#[must_use]
pub fn bound(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let power = bucket / 4 + 1;
    let quarter = bucket as u64 % 4;
    ((5 + quarter) << (power - 2)) - 1
}

/// Returns the shortest steps, as a power of two, with which a time course reaches a point in time.
#[must_use]
#[inline]
pub fn step_shift(time: u64) -> u32 {
    (u64::BITS - time.leading_zeros()).saturating_sub(STEPS.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_reaches_as_far_as_it_must_by_the_shortest_steps() {
        let steps = STEPS as u64;
        for time in [0, 1, steps - 1, steps, (steps << 20) - 1, steps << 20, 3_000_000_000, 1 << 40, u64::MAX] {
            let shift = step_shift(time);
            assert!(time >> shift < steps, "{time} in steps of 2^{shift}");
            assert!(shift == 0 || time >> (shift - 1) >= steps, "{time} in steps of 2^{shift}");
        }
    }

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
