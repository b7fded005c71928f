//! An axis for figures of which some may be much larger than others.

/// Figures that differ by more than this factor have a logarithmic axis.
const LINEAR_MAX: f64 = 20.0;

/// From figures to places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// Where it begins.
    pub(crate) low: f64,
    /// Where it ends.
    pub(crate) high: f64,
    /// Whether it is logarithmic.
    pub(crate) log: bool,
}

impl Axis {
    /// On which all of these have a place. A linear one has zero, too.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Axis {
        let (least, most) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let log = least > 0.0 && most > LINEAR_MAX * least;
        let (low, high) = if log { (least, most) } else { (least.min(0.0), most.max(0.0)) };
        Axis { low, high, log }
    }

    /// Where on the axis, from 0 to 1.
    pub(crate) fn at(self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)
        };
        share.clamp(0.0, 1.0)
    }

    /// Where zero is, if it is between the ends.
    pub(crate) fn zero(self) -> Option<f64> {
        (self.low < 0.0 && self.high > 0.0).then(|| self.at(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_logarithmic_where_figures_are_far_apart() {
        let axis = Axis::of([1.0, 10.0, 100.0, 100.0].into_iter());
        assert_eq!([1.0, 10.0, 100.0].map(|value| axis.at(value)), [0.0, 0.5, 1.0]);
        assert_eq!(Axis::of([-10.0, 10.0].into_iter()).zero(), Some(0.5));
        assert_eq!(Axis::of([5.0, 10.0].into_iter()).at(5.0), 0.5, "a linear one begins at zero");
    }
}
