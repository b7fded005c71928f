//! The cells of a sweep: every lock with every number of CPUs and threads, each with its own seed.

use super::range::Ranges;
use anyhow::{Result, ensure};
use turnwise_sim::spec::Machine;

/// One simulated run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CellPlan {
    /// Its place in the whole sweep, from 0.
    pub(crate) index: u32,
    pub(crate) lock: String,
    /// The first CPUs of the machine, this many.
    pub(crate) cpus: u32,
    pub(crate) threads: u32,
    /// Each thread stays on a CPU of its own.
    pub(crate) pinned: bool,
    pub(crate) seed: u64,
}

/// Seeds are below this, so that they survive a JSON reader whose numbers are all floating-point.
pub(crate) const SEEDS: u64 = 1 << 53;

/// How many CPUs and threads the cells have, as the user stated it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Axes {
    pub(crate) cpus: Option<Ranges>,
    /// Instead of `cpus`: all CPUs of this many nodes.
    pub(crate) nodes: Option<Ranges>,
    pub(crate) threads: Option<Ranges>,
}

impl Axes {
    /// Returns the axes, by default powers of two, and all CPUs.
    pub(crate) fn or_default(self, machine: &Machine) -> Axes {
        if self != Axes::default() {
            return self;
        }
        Axes { cpus: Some(Ranges(doubling(machine.topology.cpus()))), ..Axes::default() }
    }

    /// Returns the flags that state the same.
    pub(crate) fn flags(&self) -> impl Iterator<Item = (&'static str, String)> {
        let axes = [("--cpus", &self.cpus), ("--nodes", &self.nodes), ("--threads", &self.threads)];
        axes.into_iter().filter_map(|(flag, counts)| Some((flag, counts.as_ref()?.to_string())))
    }

    /// Numbers of CPUs, in order.
    fn cpu_counts(&self, machine: &Machine) -> Result<Vec<u32>> {
        let (name, cpus, nodes) = (&machine.name, machine.topology.cpus(), machine.topology.nodes);
        let fit = |counts: &Ranges, all: u32, what: &str| {
            let beyond = counts.0.iter().find(|&&count| count > all);
            ensure!(beyond.is_none(), "{name} has {all} {what}, not {}", beyond.unwrap_or(&0));
            Ok(())
        };
        match (&self.cpus, &self.nodes) {
            (Some(counts), _) => fit(counts, cpus, "CPUs").map(|()| counts.0.clone()),
            (None, Some(counts)) => {
                fit(counts, nodes, "nodes")?;
                Ok(counts.0.iter().map(|count| count * (cpus / nodes)).collect())
            }
            (None, None) => Ok(vec![cpus]),
        }
    }
}

/// Returns powers of two, and at last all.
pub(crate) fn doubling(most: u32) -> Vec<u32> {
    let powers = (0..32).map(|bit| 1_u32 << bit).take_while(|&count| count < most);
    powers.chain([most]).collect()
}

/// Returns all cells, lock by lock, then by CPUs, then by threads.
///
/// # Errors
/// The machine is smaller.
pub(crate) fn cells(locks: &[String], axes: &Axes, machine: &Machine, seed: u64) -> Result<Vec<CellPlan>> {
    let cpu_counts = axes.cpu_counts(machine)?;
    let mut cells = Vec::new();
    for lock in locks {
        for &cpus in &cpu_counts {
            let own = [cpus];
            for &threads in axes.threads.as_ref().map_or(own.as_slice(), |threads| &threads.0) {
                let index = u32::try_from(cells.len())?;
                cells.push(CellPlan {
                    index,
                    lock: lock.clone(),
                    cpus,
                    threads,
                    pinned: axes.threads.is_none(),
                    seed: seed_of(seed, index),
                });
            }
        }
    }
    Ok(cells)
}

/// Returns the seed of a cell: mixed from the sweep's and its index as SplitMix64 does. The first cell has the sweep's
/// own, so that a sweep of one cell with a cell's seed repeats that cell.
fn seed_of(seed: u64, index: u32) -> u64 {
    if index == 0 {
        return seed;
    }
    let mut z = seed.wrapping_add(u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % SEEDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_sim::spec;

    /// Returns one with 80 CPUs on 8 nodes.
    fn westmere() -> Machine {
        spec::load("westmere-ex-80").unwrap()
    }

    fn axes(cpus: Option<&str>, nodes: Option<&str>, threads: Option<&str>) -> Axes {
        let ranges = |text: Option<&str>| text.map(|text| text.parse().unwrap());
        Axes { cpus: ranges(cpus), nodes: ranges(nodes), threads: ranges(threads) }
    }

    fn shapes(axes: &Axes) -> Vec<(u32, u32, bool)> {
        let cells = cells(&["a".to_owned()], axes, &westmere(), 1).unwrap();
        cells.iter().map(|cell| (cell.cpus, cell.threads, cell.pinned)).collect()
    }

    #[test]
    fn threads_are_pinned_unless_their_number_is_given() {
        assert_eq!(shapes(&axes(Some("1,11"), None, None)), [(1, 1, true), (11, 11, true)]);
        assert_eq!(shapes(&axes(Some("4"), None, Some("2,8"))), [(4, 2, false), (4, 8, false)]);
        assert_eq!(shapes(&axes(None, Some("1,8"), None)), [(10, 10, true), (80, 80, true)]);
        assert_eq!(shapes(&axes(None, Some("2"), Some("5"))), [(20, 5, false)]);
        assert_eq!(shapes(&axes(None, None, Some("3"))), [(80, 3, false)]);
    }

    #[test]
    fn the_default_reaches_the_whole_machine() {
        let cpus = |machine: &Machine| Axes::default().or_default(machine).cpus.unwrap().to_string();
        assert_eq!(cpus(&westmere()), "1,2,4,8,16,32,64,80");
        assert_eq!(cpus(&spec::load("desktop-4").unwrap()), "1,2,4");
        assert_eq!(doubling(1), [1]);
        let given = axes(None, None, Some("3"));
        assert_eq!(given.clone().or_default(&westmere()), given);
        let given = axes(Some("1-3"), None, Some("9"));
        let flags: Vec<_> = given.flags().collect();
        assert_eq!(flags, [("--cpus", "1,2,3".to_owned()), ("--threads", "9".to_owned())]);
    }

    #[test]
    fn a_smaller_machine_is_named() {
        let complaint = |axes: &Axes| cells(&["a".to_owned()], axes, &westmere(), 1).unwrap_err().to_string();
        assert_eq!(complaint(&axes(Some("80-90"), None, None)), "westmere-ex-80 has 80 CPUs, not 81");
        assert_eq!(complaint(&axes(None, Some("9"), None)), "westmere-ex-80 has 8 nodes, not 9");
    }

    #[test]
    fn every_cell_has_its_seed_and_one_cell_has_the_sweeps() {
        let locks = ["a".to_owned(), "b".to_owned()];
        let cells = cells(&locks, &axes(Some("1-80"), None, None), &westmere(), 7).unwrap();
        assert_eq!(cells.len(), 160);
        assert_eq!(cells[0].seed, 7);
        let mut seeds: Vec<u64> = cells.iter().map(|cell| cell.seed).collect();
        assert!(seeds.iter().all(|&seed| seed < SEEDS));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 160);
        assert_eq!(cells[80].lock, "b");
        assert_eq!(cells[80].index, 80);
    }
}
