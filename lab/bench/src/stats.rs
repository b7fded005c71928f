//! How fairly a lock served its threads.

/// Returns least over most: 1 is fair, 0 means that some thread got nothing (or all threads).
#[must_use]
pub fn fairness(ops: &[u64]) -> f64 {
    match (ops.iter().min(), ops.iter().max()) {
        (Some(&least), Some(&most)) if most > 0 => least as f64 / most as f64,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_least_over_most() {
        assert_eq!(fairness(&[50, 100]), 0.5);
        assert_eq!(fairness(&[0, 100]), 0.0);
        assert_eq!(fairness(&[7]), 1.0);
        assert_eq!(fairness(&[0, 0]), 0.0);
    }
}
