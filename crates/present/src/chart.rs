//! Axes of pictures, for figures of which some may be much larger than others.

/// Figures that differ by more than this factor have a logarithmic axis.
const LINEAR_MAX: f64 = 20.0;

/// From figures to places.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// Whether it is logarithmic.
    pub log: bool,
}

impl Axis {
    /// From the least to the most of these.
    #[must_use]
    pub fn between(values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        Axis { low, high, log: low > 0.0 && high > LINEAR_MAX * low }
    }

    /// On which all of these have a place. A linear one has zero, too.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>) -> Axis {
        let all = Axis::between(values);
        if all.log { all } else { Axis { low: all.low.min(0.0), high: all.high.max(0.0), ..all } }
    }

    /// Where on the axis, from 0 to 1.
    #[must_use]
    pub fn at(self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)
        };
        share.clamp(0.0, 1.0)
    }

    /// The figure at a place.
    #[must_use]
    pub fn value(self, share: f64) -> f64 {
        if self.log { self.low * (self.high / self.low).powf(share) } else { self.low + share * (self.high - self.low) }
    }

    /// In which of so many cells, where a picture is drawn with letters.
    #[must_use]
    pub fn cell(self, value: f64, cells: usize) -> usize {
        (self.at(value) * (cells as f64 - 1.0)).round() as usize
    }

    /// Where zero is, if it is between the ends.
    #[must_use]
    pub fn zero(self) -> Option<f64> {
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
        assert_eq!((axis.value(0.5), axis.cell(10.0, 5)), (10.0, 2));
        assert_eq!(Axis::of([-10.0, 10.0].into_iter()).zero(), Some(0.5));
        assert_eq!(Axis::of([5.0, 10.0].into_iter()).at(5.0), 0.5, "a linear one begins at zero");
    }
}
