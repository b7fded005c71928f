//! Means of several seeds, and changes.

/// A mean, and its standard error where there are several values.
pub(super) type Mean = (f64, Option<f64>);

/// Returns the mean of these values, and its standard error.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Mean {
    let values: Vec<f64> = values.into_iter().collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (n > 1.0).then(|| (squares / (n - 1.0) / n).sqrt()))
}

/// Returns the change from `before` to `after`, per cent.
pub(super) fn change(before: f64, after: f64) -> f64 {
    (after / before - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn one_value_has_no_standard_error() {
        assert_eq!(mean([7.0]), (7.0, None));
        assert_eq!(mean([1.0, 3.0]), (2.0, Some(1.0)));
    }
}
