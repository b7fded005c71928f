//! Machine files: the types of the TOML, one field for each key, and the conversion to a [`Machine`].
//!
//! `docs/machine-files.md` explains each key to authors of such files. Every number has a source; times are in
//! nanoseconds or, with `cpu.ghz`, in cycles.

mod check;
mod error;
mod numbers;
mod range;
mod topology;

pub(super) use error::SORT;
pub use error::SpecError;
pub use range::Range;

use super::{Coherence, Cpu, Machine, System};
use serde::Deserialize;
use toml::Value;

/// A machine file.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFile {
    /// Its name for `--machine`: lower case letters, digits and hyphens.
    pub name: String,
    /// One line.
    pub title: String,
    /// Sockets, nodes, cores, threads, and how far they are apart.
    pub topology: TopologyTable,
    /// What instructions cost that find their line in their CPU's cache.
    pub cpu: Cpu<Cost, Option<Cost>, Option<Factor>>,
    /// What moving cache lines costs.
    pub coherence: Coherence<Table, Cost>,
    /// The operating system.
    pub system: System<Table, Cost, Option<Cost>, IdleExit>,
    /// The ranges of numbers that were not measured.
    #[serde(default, rename = "range")]
    pub ranges: Vec<Range>,
}

/// `[topology]`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyTable {
    /// Packages.
    pub sockets: u32,
    /// Memory nodes in all.
    pub nodes: u32,
    /// Groups of cores in a node that share a last-level cache.
    pub clusters_per_node: u32,
    /// Cores of a cluster.
    pub cores_per_cluster: u32,
    /// Hardware threads of a core.
    pub threads_per_core: u32,
    /// Hops between nodes, a row for each node.
    pub hops: Option<Vec<Vec<u8>>>,
    /// In place of `hops`: nodes in a mesh of this number of columns and rows, numbered row by row.
    pub mesh: Option<[u32; 2]>,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// A time: either `ns` or `cycles`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// In nanoseconds.
    pub ns: Option<f64>,
    /// In cycles of `cpu.ghz`.
    pub cycles: Option<f64>,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// The unit of a [`Table`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Cycles of `cpu.ghz`.
    Cycles,
}

/// Times by distance.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Between threads of a core; where cores have several.
    pub same_core: Option<f64>,
    /// Between cores of a cluster; where nodes have several clusters.
    pub same_cluster: Option<f64>,
    /// Within a node.
    pub same_node: f64,
    /// Between nodes one hop, two hops, ... apart: as many as the topology has.
    #[serde(default)]
    pub hops: Vec<f64>,
    /// The unit of all of them.
    pub unit: Unit,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// A ratio.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// 1 or more.
    pub factor: f64,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// How long a CPU takes to notice a thread when it has been idle for at least `after_ns`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleExit {
    /// Shortest idle time in nanoseconds; 0 in the first entry.
    pub after_ns: f64,
    /// In nanoseconds.
    pub ns: Option<f64>,
    /// In cycles of `cpu.ghz`.
    pub cycles: Option<f64>,
    /// What interrupting such a CPU costs the sender, in nanoseconds; without it, the value of `ipi`.
    pub ipi_ns: Option<f64>,
    /// Where it comes from.
    pub source: String,
    /// Whether it is recalled or guessed.
    #[serde(default)]
    pub provisional: bool,
}

/// Reads a machine file; `origin` names it in errors.
///
/// # Errors
///
/// States which key of which line is wrong, why, and what to do.
pub fn parse(text: &str, origin: &str) -> Result<Machine, SpecError> {
    let file: MachineFile = toml::from_str(text).map_err(|e| SpecError::of_reader(&e, origin, text))?;
    let checked = file.check().and_then(|machine| {
        let value = Value::Table(toml::from_str(text).unwrap_or_default());
        range::check(&machine.ranges, &machine.sources, &value).map(|()| machine)
    });
    checked.map_err(|fault| fault.of(origin, text))
}

/// Reads a machine file that [`parse`] accepts, each number of a range with the value at this place of it, from 0 to 1;
/// `place` gets the range's name.
pub(super) fn draw(text: &str, origin: &str, place: impl FnMut(&str) -> f64) -> Result<Machine, SpecError> {
    let of_reader = |e| SpecError::of_reader(&e, origin, text);
    let ranges = parse(text, origin)?.ranges;
    let mut file = Value::Table(toml::from_str(text).map_err(of_reader)?);
    range::draw(&mut file, &ranges, place);
    let file: MachineFile = file.try_into().map_err(of_reader)?;
    file.check().map_err(|fault| fault.of(origin, text))
}
