//! Axes of pictures, for figures of very different sizes.

use serde::{Deserialize, Serialize};

/// The factor between figures above which the axis is logarithmic.
const LINEAR_MAX: f64 = 20.0;

/// An axis, which maps figures to places.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// The figure at its beginning.
    pub low: f64,
    /// The figure at its end.
    pub high: f64,
    /// Whether it is logarithmic.
    pub log: bool,
}

impl Axis {
    /// Returns an axis from the least to the greatest of these.
    pub fn between(values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        Axis { low, high, log: low > 0.0 && high > LINEAR_MAX * low }
    }

    /// Returns an axis on which all of these have a place. A linear one also includes zero.
    pub fn of(values: impl Iterator<Item = f64>) -> Axis {
        let all = Axis::between(values);
        if all.log { all } else { Axis { low: all.low.min(0.0), high: all.high.max(0.0), ..all } }
    }

    /// Returns the place on the axis, from 0 to 1.
    pub fn at(self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)
        };
        share.clamp(0.0, 1.0)
    }

    /// Returns the figure at a place.
    pub fn value(self, share: f64) -> f64 {
        if self.log { self.low * (self.high / self.low).powf(share) } else { self.low + share * (self.high - self.low) }
    }

    /// Returns in which of `cells` cells a figure is, in a picture drawn with characters.
    pub fn cell(self, value: f64, cells: usize) -> usize {
        (self.at(value) * (cells as f64 - 1.0)).round() as usize
    }

    /// Returns where zero is, if it is between the ends.
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
