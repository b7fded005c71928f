//! The regular machine that comes nearest to the CPUs that this process may use, and pairs of CPUs by distance.

use super::sysfs::{Cpu, Tree};
use anyhow::{Result, bail};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use turnwise_sim::spec::{Class, Topology};

/// The most nodes that a simulated machine can have.
const MOST_NODES: usize = 64;

/// Where the measurements run.
#[derive(Clone, Debug, Serialize)]
pub struct Grid {
    /// The CPUs, sorted as the simulator numbers them.
    pub cpus: Vec<Cpu>,
    /// The regular machine that stands for them.
    #[serde(skip)]
    pub topology: Topology,
    /// How it differs from the real one, and what is unknown.
    pub notes: Vec<String>,
    /// The nodes that have CPUs; their places are the simulator's numbers.
    pub nodes: Vec<u32>,
}

impl Grid {
    /// Builds the grid from sysfs.
    ///
    /// # Errors
    /// There are more nodes than a simulated machine can have.
    pub(super) fn of(tree: &Tree) -> Result<Grid> {
        let mut notes = tree.gaps.clone();
        let cpus = tree.cpus.clone();
        let mut nodes: Vec<u32> = Vec::new();
        for cpu in &cpus {
            if !nodes.contains(&cpu.node) {
                nodes.push(cpu.node);
            }
        }
        if nodes.len() > MOST_NODES {
            bail!("{} memory nodes, the simulator has {MOST_NODES}: restrict turnwise by taskset", nodes.len());
        }
        let counts = Counts::of(&cpus);
        let topology = Topology {
            sockets: sockets(&cpus, nodes.len(), &mut notes),
            nodes: nodes.len() as u32,
            clusters_per_node: mean(&counts.clusters),
            cores_per_cluster: mean(&counts.cores),
            threads_per_core: mean(&counts.threads),
            hops: hops(tree, &nodes, &mut notes),
        };
        if !counts.regular() {
            notes.push(format!(
                "the {} CPUs that may be used form no regular grid; the nearest has {}",
                cpus.len(),
                topology.cpus()
            ));
        }
        Ok(Grid { cpus, topology, notes, nodes })
    }

    /// Returns how far two CPUs are apart. Without clusters all cores of a node are at [`Class::SAME_NODE`].
    #[must_use]
    pub fn class(&self, a: Cpu, b: Cpu) -> Class {
        if a.node != b.node {
            return self.node_class(a.node, b.node);
        }
        match a.core == b.core {
            true => Class::SAME_CORE,
            false if self.topology.clusters_per_node > 1 && a.cluster == b.cluster => Class::SAME_CLUSTER,
            false => Class::SAME_NODE,
        }
    }

    fn node_class(&self, a: u32, b: u32) -> Class {
        let place = |node| self.nodes.iter().position(|&n| n == node).unwrap_or(0) as u32;
        self.topology.between_nodes(place(a), place(b))
    }

    /// Returns up to `most` pairs of different CPUs for each existing distance, evenly spread over all of them.
    pub(super) fn pairs(&self, most: usize) -> BTreeMap<Class, Vec<(Cpu, Cpu)>> {
        let mut all: BTreeMap<Class, Vec<(Cpu, Cpu)>> = BTreeMap::new();
        for (index, &a) in self.cpus.iter().enumerate() {
            for &b in &self.cpus[index + 1..] {
                all.entry(self.class(a, b)).or_default().push((a, b));
            }
        }
        for pairs in all.values_mut() {
            let count = pairs.len();
            let chosen = (0..count.min(most)).map(|k| pairs[k * count / count.min(most)]);
            *pairs = chosen.collect();
        }
        all
    }

    /// Returns a third CPU as far from `a` as `b` is, on another core than both.
    pub(super) fn third(&self, a: Cpu, b: Cpu) -> Option<Cpu> {
        let class = self.class(a, b);
        self.cpus.iter().copied().find(|&c| c.core != a.core && c.core != b.core && self.class(a, c) == class)
    }

    /// Returns, for each existing distance between nodes, a CPU, and one on the node of the memory that it reads.
    pub(super) fn memory_pairs(&self) -> BTreeMap<Class, (Cpu, Cpu)> {
        let first_of = |node: &u32| self.cpus.iter().copied().find(|cpu| cpu.node == *node);
        let firsts: Vec<Cpu> = self.nodes.iter().filter_map(first_of).collect();
        let mut pairs = BTreeMap::new();
        for &a in &firsts {
            for &b in &firsts {
                pairs.entry(self.node_class(a.node, b.node)).or_insert((a, b));
            }
        }
        pairs
    }
}

/// How many parts each part has.
struct Counts {
    clusters: Vec<usize>,
    cores: Vec<usize>,
    threads: Vec<usize>,
}

impl Counts {
    fn of(cpus: &[Cpu]) -> Counts {
        Counts {
            clusters: parts(cpus, |cpu| cpu.node, |cpu| cpu.cluster),
            cores: parts(cpus, |cpu| (cpu.node, cpu.cluster), |cpu| cpu.core),
            threads: parts(cpus, |cpu| cpu.core, |cpu| cpu.cpu),
        }
    }

    fn regular(&self) -> bool {
        [&self.clusters, &self.cores, &self.threads].iter().all(|counts| counts.windows(2).all(|w| w[0] == w[1]))
    }
}

fn parts<W: Ord>(cpus: &[Cpu], whole: impl Fn(&Cpu) -> W, part: impl Fn(&Cpu) -> u32) -> Vec<usize> {
    let mut sets: BTreeMap<W, BTreeSet<u32>> = BTreeMap::new();
    for cpu in cpus {
        sets.entry(whole(cpu)).or_default().insert(part(cpu));
    }
    sets.values().map(BTreeSet::len).collect()
}

/// Returns the mean, rounded, and at least 1.
fn mean(counts: &[usize]) -> u32 {
    let (sum, number) = (counts.iter().sum::<usize>(), counts.len().max(1));
    (((2 * sum + number) / (2 * number)) as u32).max(1)
}

/// Returns packages, if each has the same number of nodes, or each node the same number of packages.
fn sockets(cpus: &[Cpu], nodes: usize, notes: &mut Vec<String>) -> u32 {
    let even = |counts: Vec<usize>| counts.windows(2).all(|w| w[0] == w[1]);
    let packages = cpus.iter().map(|cpu| cpu.package).collect::<BTreeSet<_>>().len();
    let fit = nodes.is_multiple_of(packages) || packages.is_multiple_of(nodes);
    if fit && even(parts(cpus, |cpu| cpu.package, |cpu| cpu.node)) {
        return packages as u32;
    }
    notes.push("packages and memory nodes do not match: each node taken for a package".to_owned());
    nodes as u32
}

/// Returns hops by rank: the nearest other nodes are one hop away. Unequal ways there and back count as the longer one;
/// no way has more hops than there are other nodes.
fn hops(tree: &Tree, nodes: &[u32], notes: &mut Vec<String>) -> Vec<u8> {
    let known = |a: u32, b: u32| tree.distances.get(&(a, b)).copied();
    let distance = |a: u32, b: u32| Some(known(a, b)?.max(known(b, a)?));
    let pairs = || nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| (a, b)));
    let ranks: BTreeSet<Option<u32>> = pairs().filter(|(a, b)| a != b).map(|(a, b)| distance(a, b)).collect();
    if ranks.contains(&None) {
        notes.push("distances between nodes are not all known: taken for one hop".to_owned());
        return pairs().map(|(a, b)| u8::from(a != b)).collect();
    }
    let rank =
        |d: Option<u32>| (1 + ranks.iter().position(|&known| known == d).unwrap_or(0)).min(nodes.len() - 1) as u8;
    pairs().map(|(a, b)| if a == b { 0 } else { rank(distance(a, b)) }).collect()
}
