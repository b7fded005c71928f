//! A share of a sweep: `--partition 3/8` runs the third cell of every eight.

use super::plan::CellPlan;
use anyhow::{Context, Result, ensure};
use std::str::FromStr;

/// The k-th of n shares, k from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) k: u32,
    pub(crate) n: u32,
}

impl Part {
    /// All of it.
    pub(crate) const WHOLE: Part = Part { k: 1, n: 1 };

    /// Returns the part that this cell belongs to.
    pub(crate) fn owning(index: u32, n: u32) -> Part {
        Part { k: index % n + 1, n }
    }

    /// Returns its cells.
    pub(crate) fn of(self, mut cells: Vec<CellPlan>) -> Vec<CellPlan> {
        cells.retain(|cell| Part::owning(cell.index, self.n) == self);
        cells
    }
}

impl FromStr for Part {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Part> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        let (k, n) = parts.context("write k/n: 1/8 is the first of eight parts")?;
        ensure!(k >= 1 && k <= n, "there is no part {k} of {n}; the parts are 1/{n} to {n}/{n}");
        Ok(Part { k, n })
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.k, self.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_from_one() {
        assert_eq!("3/8".parse::<Part>().unwrap(), Part { k: 3, n: 8 });
        let complaint = |text: &str| text.parse::<Part>().unwrap_err().to_string();
        assert!(complaint("3/2").contains("there is no part 3 of 2"));
        assert!(complaint("0/2").contains("1/2 to 2/2"));
        for text in ["3", "3/", "/", "a/b", "1/-2", "1/2/3"] {
            assert!(complaint(text).contains("write k/n"), "{text}");
        }
    }
}
