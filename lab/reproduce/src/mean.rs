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

/// Returns the change between the means of these, per cent, and its standard error. Seeds of both are the same, but
/// runs of two kernels soon differ, so that their errors count as independent.
pub(super) fn gain(before: &[f64], after: &[f64]) -> Mean {
    let [before, after] = [before, after].map(|values| mean(values.iter().copied()));
    let relative = |(mean, error): Mean| Some(error? / mean);
    let error = relative(after).zip(relative(before)).map(|(a, b)| 100.0 * (after.0 / before.0) * a.hypot(b));
    (change(before.0, after.0), error)
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
