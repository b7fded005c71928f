//! The cost of a cache line between the two nearest CPUs, in a millisecond: for other measurements that check whether
//! the machine is still the same. The CPUs of a virtual machine move.

use super::clock;
use super::grid::Grid;
use super::sysfs::{Cpu, Tree};
use super::transfers::{RMW_MODIFIED, Transfers};
use anyhow::Result;
use std::path::Path;
use turnwise_present::cpus::allowed;
use turnwise_present::stats::median;
use turnwise_sim::spec::Class;

/// Two CPUs as near to each other as two cores of this machine are.
pub struct Nearest {
    grid: Grid,
    line_bytes: u32,
    pair: (Cpu, Cpu),
}

impl Nearest {
    /// Finds them among those that this process may use. `None`: it may use only one core.
    ///
    /// # Errors
    /// The kernel does not report which CPUs may be used, or how they lie.
    pub fn find() -> Result<Option<Nearest>> {
        let tree = Tree::read(Path::new("/sys"), &allowed()?)?;
        let grid = Grid::of(&tree)?;
        let apart = grid.pairs(1).into_iter().find(|(class, _)| *class > Class::SAME_CORE);
        let Some(&pair) = apart.as_ref().and_then(|(_, pairs)| pairs.first()) else { return Ok(None) };
        clock::prepare();
        Ok(Some(Nearest { grid, line_bytes: tree.line_bytes.unwrap_or(64), pair }))
    }

    /// Returns by how many nanoseconds a locked read-modify-write takes longer if the other CPU has just written the
    /// line: the median of a few rounds, so that an interruption does not count.
    ///
    /// # Errors
    /// A thread cannot be started or pinned.
    pub fn line_ns(&self) -> Result<f64> {
        /// Of which the first two warm up.
        const ROUNDS: u32 = 7;
        let transfers =
            Transfers { grid: &self.grid, line_bytes: self.line_bytes, lose_bytes: 0, rounds: ROUNDS, hits: [0.0; 3] };
        let (a, b) = self.pair;
        let mut samples = transfers.pair(&RMW_MODIFIED, a, b, None, false)?;
        Ok(median(&mut samples).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cores_nearest_to_each_other_tell_what_a_line_costs() {
        let Some(nearest) = Nearest::find().expect("sysfs is there") else { return };
        let (a, b) = nearest.pair;
        assert_ne!(a.core, b.core, "threads of one core share their lines");
        let class = nearest.grid.class(a, b);
        let closer = |other: &Class| *other > Class::SAME_CORE && *other < class;
        assert!(!nearest.grid.pairs(1).keys().any(closer), "{class:?}");
        assert!(nearest.line_ns().expect("threads can be started").is_finite());
    }
}
