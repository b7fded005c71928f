//! Times of the file as picoseconds, and a list of where each comes from.

use super::error::Fault;
use super::{Cost, Factor, IdleExit, Table, TopologyTable, Unit};
use crate::spec::describe::{Entry, ns, times};
use crate::spec::{ByClass, Class, IdleState, Ps, Source, Topology};

/// Longest time that a file may name: far beyond any cost, and sums of thousands still fit 64 bits of picoseconds.
const LONGEST_NS: f64 = 1e12;

/// Highest clock rate, generously.
const HIGHEST_GHZ: f64 = 100.0;

/// The largest factor by which its other thread may slow a core down.
const HIGHEST_FACTOR: f64 = 100.0;

/// Whether a time may be zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    /// It may be.
    Fine,
    /// It may not be: simulated time would stand still in a loop of these.
    Refused,
}

/// Reads numbers, and notes their sources.
pub(super) struct Numbers {
    ghz: Option<f64>,
    pub(super) sources: Vec<Source>,
    pub(super) entries: Vec<Entry>,
}

impl Numbers {
    pub(super) fn new(ghz: Option<f64>) -> Result<Numbers, Fault> {
        match ghz {
            Some(rate) if !(rate > 0.0 && rate <= HIGHEST_GHZ) => Err(Fault::new(
                "cpu.ghz",
                format!("{rate} is not a clock rate"),
                format!("give gigahertz, above 0 and at most {HIGHEST_GHZ}"),
            )),
            _ => Ok(Numbers { ghz, sources: Vec::new(), entries: Vec::new() }),
        }
    }

    /// Notes a source.
    pub(super) fn note(&mut self, key: &str, source: &str, provisional: bool) -> Result<(), Fault> {
        let remedy = "say where the numbers come from: a publication, a measurement, or how they were derived";
        Fault::when(source.trim().is_empty(), format!("{key}.source"), "empty", remedy)?;
        let source = source.to_owned();
        self.sources.push(Source { key: key.to_owned(), source, provisional });
        Ok(())
    }

    /// Adds a number that the engine uses.
    pub(super) fn add(&mut self, key: &str, text: String, bits: Vec<u64>) {
        self.entries.push(Entry { key: key.to_owned(), text, bits });
    }

    pub(super) fn add_topology(&mut self, table: &TopologyTable, topology: &Topology) {
        for (name, count) in table.counts() {
            self.add(&format!("topology.{name}"), count.to_string(), vec![count.into()]);
        }
        let hops = topology.hops.iter().map(|&hops| hops.into()).collect();
        self.add("topology.hops", format!("{} at most", topology.farthest()), hops);
    }

    /// Adds this, if it is so.
    pub(super) fn deepens(&mut self, idle_deepens: bool) -> bool {
        if idle_deepens {
            self.add("system.idle_deepens", "true".to_owned(), vec![1]);
        }
        idle_deepens
    }

    pub(super) fn cost(&mut self, key: &str, cost: &Cost, zero: Zero) -> Result<Ps, Fault> {
        let time = self.read(key, cost, zero)?;
        self.add(key, format!("{} ns", ns(time)), vec![time]);
        Ok(time)
    }

    /// Reads a time that the file may omit, and which is a number of its own only if it differs from the usual.
    pub(super) fn optional(&mut self, key: &str, cost: Option<&Cost>, usual: Ps) -> Result<Ps, Fault> {
        let zero = if usual == 0 { Zero::Fine } else { Zero::Refused };
        let time = cost.map_or(Ok(usual), |cost| self.read(key, cost, zero))?;
        if time != usual {
            self.add(key, format!("{} ns", ns(time)), vec![time]);
        }
        Ok(time)
    }

    fn read(&mut self, key: &str, cost: &Cost, zero: Zero) -> Result<Ps, Fault> {
        let (amount, unit) = either(key, cost.ns, cost.cycles)?;
        self.note(key, &cost.source, cost.provisional)?;
        self.time(key, amount, unit, zero)
    }

    /// Reads the list of `idle_exit`.
    pub(super) fn idle_exits(&mut self, key: &str, list: &[IdleExit]) -> Result<Vec<IdleState>, Fault> {
        let mut exits: Vec<IdleState> = Vec::with_capacity(list.len());
        for (index, entry) in list.iter().enumerate() {
            let at = format!("{key}[{index}]");
            let after = self.time(&format!("{at}.after_ns"), entry.after_ns, Unit::Ns, Zero::Fine)?;
            let (amount, unit) = either(&at, entry.ns, entry.cycles)?;
            let exit = self.time(&at, amount, unit, Zero::Fine)?;
            let ipi =
                entry.ipi_ns.map(|ns| self.time(&format!("{at}.ipi_ns"), ns, Unit::Ns, Zero::Fine)).transpose()?;
            let state = IdleState { after, exit, ipi };
            follows(&at, exits.last(), state)?;
            self.note(&at, &entry.source, entry.provisional)?;
            let sent = ipi.map_or_else(String::new, |ipi| format!(", {} ns to interrupt", ns(ipi)));
            let text = format!("{} ns after {} ns idle{sent}", ns(exit), ns(after));
            self.add(&at, text, [after, exit].into_iter().chain(ipi).collect());
            exits.push(state);
        }
        let remedy = "list at least `{ after_ns = 0, ns = ..., source = \"...\" }`";
        let problem = "empty, so the time until an idle CPU notices a thread is not known";
        Fault::when(exits.is_empty(), key, problem, remedy).map(|()| exits)
    }

    /// Reads a table by distance, for all distances of this machine.
    pub(super) fn table(
        &mut self,
        key: &str,
        table: &Table,
        topology: &Topology,
        zero: Zero,
    ) -> Result<ByClass, Fault> {
        needed(&format!("{key}.same_core"), table.same_core, topology.threads_per_core, "threads_per_core")?;
        needed(&format!("{key}.same_cluster"), table.same_cluster, topology.clusters_per_node, "clusters_per_node")?;
        self.by_distance(key, table, topology, zero, Class::SAME_CORE)
    }

    /// Reads a table by distance whose nearest is the CPU's own node.
    pub(super) fn node_table(&mut self, key: &str, table: &Table, topology: &Topology) -> Result<ByClass, Fault> {
        for (name, value) in [("same_core", table.same_core), ("same_cluster", table.same_cluster)] {
            let problem = "not allowed here: memory belongs to nodes, not to cores";
            let remedy = "leave it out; `same_node` is the nearest";
            Fault::when(value.is_some(), format!("{key}.{name}"), problem, remedy)?;
        }
        self.by_distance(key, table, topology, Zero::Refused, Class::SAME_NODE)
    }

    fn by_distance(
        &mut self,
        key: &str,
        table: &Table,
        topology: &Topology,
        zero: Zero,
        nearest: Class,
    ) -> Result<ByClass, Fault> {
        let farthest = usize::from(topology.farthest());
        let given = table.hops.len();
        let problem = format!("{given} given, {farthest} needed: the farthest nodes are {farthest} hops apart");
        let remedy = "give one number for each, for 1 hop first";
        Fault::when(given != farthest, format!("{key}.hops"), problem, remedy)?;
        self.note(key, &table.source, table.provisional)?;
        let same_node = self.time(&format!("{key}.same_node"), table.same_node, table.unit, zero)?;
        // Where the machine has no such distance, it is never used, and the next farther value stands there.
        let near = |name: &str, value: Option<f64>, farther: Ps| match value {
            Some(value) => self.time(&format!("{key}.{name}"), value, table.unit, zero),
            None => Ok(farther),
        };
        let same_cluster = near("same_cluster", table.same_cluster, same_node)?;
        let same_core = near("same_core", table.same_core, same_cluster)?;
        let mut costs = ByClass(vec![same_core, same_cluster, same_node]);
        for (index, &value) in table.hops.iter().enumerate() {
            costs.0.push(self.time(&format!("{key}.hops[{index}]"), value, table.unit, zero)?);
        }
        self.add(key, times(&costs, topology, nearest), costs.0.clone());
        Ok(costs)
    }

    /// Reads the slowdown by the other thread, in thousandths: 1000 where there is none.
    pub(super) fn slowdown(&mut self, key: &str, factor: Option<&Factor>, threads: u32) -> Result<u32, Fault> {
        needed(key, factor, threads, "threads_per_core")?;
        let Some(factor) = factor else { return Ok(1000) };
        self.note(key, &factor.source, factor.provisional)?;
        let wrong = !(1.0..=HIGHEST_FACTOR).contains(&factor.factor);
        let problem = format!("{} is not a slowdown", factor.factor);
        let remedy =
            format!("give 1 (no slowdown) to {HIGHEST_FACTOR}; 2 means that a second thread adds no throughput");
        Fault::when(wrong, format!("{key}.factor"), problem, remedy)?;
        // In bounds, as checked above.
        let permille = (factor.factor * 1000.0).round() as u32;
        if threads > 1 {
            self.add(key, format!("{} times", f64::from(permille) / 1000.0), vec![permille.into()]);
        }
        Ok(permille)
    }

    fn time(&self, key: &str, amount: f64, unit: Unit, zero: Zero) -> Result<Ps, Fault> {
        let ns = match (unit, self.ghz) {
            (Unit::Ns, _) => amount,
            (Unit::Cycles, Some(ghz)) => amount / ghz,
            (Unit::Cycles, None) => {
                let remedy = "add `ghz` to `[cpu]`, or give the number in nanoseconds";
                return Err(Fault::new(key, "in cycles, but the length of a cycle is not given", remedy));
            }
        };
        picoseconds(key, ns, zero)
    }
}

fn picoseconds(key: &str, ns: f64, zero: Zero) -> Result<Ps, Fault> {
    Fault::when(!ns.is_finite(), key, format!("{ns} is not a time"), "give a finite number")?;
    Fault::when(ns < 0.0, key, format!("negative ({ns} ns)"), "give a time of 0 or more")?;
    let remedy = format!("give at most {LONGEST_NS:e} ns, and check the unit");
    let problem = format!("absurdly long ({ns:e} ns): it would overflow picoseconds");
    Fault::when(ns > LONGEST_NS, key, problem, remedy)?;
    // At most 1e15, as checked above.
    let ps = (ns * 1000.0).round() as Ps;
    let remedy = "give a time above 0: otherwise a loop of these would never advance simulated time";
    Fault::when(ps == 0 && zero == Zero::Refused, key, "zero", remedy).map(|()| ps)
}

/// Reads the number of a [`Cost`] or an [`IdleExit`], with its unit.
fn either(key: &str, ns: Option<f64>, cycles: Option<f64>) -> Result<(f64, Unit), Fault> {
    match (ns, cycles) {
        (Some(ns), None) => Ok((ns, Unit::Ns)),
        (None, Some(cycles)) => Ok((cycles, Unit::Cycles)),
        (None, None) => Err(Fault::new(key, "no number", "add `ns = ...` or `cycles = ...`")),
        (Some(_), Some(_)) => Err(Fault::new(key, "both `ns` and `cycles`", "keep the one that the source gives")),
    }
}

/// Checks that a value is present exactly where the machine has several of something.
fn needed<T>(key: &str, value: Option<T>, count: u32, count_key: &str) -> Result<(), Fault> {
    let problem = format!("missing, but `topology.{count_key}` is {count}");
    Fault::when(count > 1 && value.is_none(), key, problem, "add it; docs/machine-files.md says what it means")
}

fn follows(key: &str, last: Option<&IdleState>, next: IdleState) -> Result<(), Fault> {
    let after = format!("{key}.after_ns");
    let Some(last) = last else {
        let remedy = "give 0: this is what a CPU takes that has just become idle";
        return Fault::when(next.after != 0, after, "the first entry does not start at 0", remedy);
    };
    let problem = "not above that of the entry before";
    Fault::when(next.after <= last.after, after, problem, "sort the entries by `after_ns`")?;
    let remedy = "check the units: waking up from a deeper sleep does not take less time";
    Fault::when(next.exit < last.exit, key, "shorter than that of the entry before", remedy)
}
