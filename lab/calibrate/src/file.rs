//! The machine file.

use super::figure::{At, Figure};
use super::system::IDLE_IPI;
use super::transfers::AFTER_A_READ;
use super::{Calibration, figure, value};
use anyhow::{Context, Result};
use std::env;
use std::path::PathBuf;
use turnwise::platform::native::{OnCpuLayer, on_cpu_layer};
use turnwise_sim::spec::file::{
    CoherenceTable, Cost, CpuTable, Factor, IdleExit, MachineFile, SystemTable, Table, TopologyTable, Unit, parse,
};
use turnwise_sim::spec::{Class, OnCpuView, Protocol};

/// Returns where `turnwise-lab calibrate` puts its machine file and `turnwise-lab sim --machine here` looks for it:
/// `$XDG_CONFIG_HOME/turnwise/here.toml`, without that variable `~/.config/turnwise/here.toml`.
///
/// # Errors
/// Neither `XDG_CONFIG_HOME` nor `HOME` is an absolute path.
pub fn here_path() -> Result<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let config = config.context("neither XDG_CONFIG_HOME nor HOME is set: say where with --output FILE")?;
    Ok(config.join("turnwise").join("here.toml"))
}

impl Calibration {
    /// Returns the text of a machine file named `here`, which the simulator has been seen to accept.
    ///
    /// # Errors
    /// A number makes no sense to the simulator.
    pub fn machine_file(&self) -> Result<String> {
        let mut text = String::from("# Written by `turnwise-lab calibrate`; docs/calibrate.md says how.\n");
        for note in &self.notes {
            text += &format!("# {note}.\n");
        }
        text += &self.to_file()?.to_toml().context("the machine file has no TOML form")?;
        let doubt = "what was measured makes no sense to the simulator; measure again on an idle machine";
        parse(&text, "here").context(doubt)?;
        Ok(text)
    }

    /// Returns the file's content.
    fn to_file(&self) -> Result<MachineFile> {
        let (machine, t) = (&self.machine, &self.grid.topology);
        let name = machine.cpu_name().replace(['\n', '\r'], " ");
        let kernel = machine.kernel.as_deref().unwrap_or("of an unknown release");
        let notes = &self.grid.notes;
        let rows = t.hops.chunks(t.nodes as usize).map(<[u8]>::to_vec).collect();
        Ok(MachineFile {
            name: "here".to_owned(),
            title: format!("{name}, {} CPUs, Linux {kernel}", self.grid.cpus.len()),
            topology: TopologyTable {
                sockets: t.sockets,
                nodes: t.nodes,
                clusters_per_node: t.clusters_per_node,
                cores_per_cluster: t.cores_per_cluster,
                threads_per_core: t.threads_per_core,
                hops: (t.nodes > 1).then_some(rows),
                mesh: None,
                source: [&["sysfs".to_owned()], notes.as_slice()].concat().join("; "),
                provisional: !notes.is_empty(),
            },
            cpu: self.cpu()?,
            coherence: self.coherence()?,
            system: self.system()?,
        })
    }

    fn cpu(&self) -> Result<CpuTable> {
        let smt = self.all("cpu.smt_slowdown").next();
        let smt = match smt {
            Some(f) => Some((f.value / 1000.0, f.source(), f.provisional)),
            // A grid of cores with two threads, which none of the permitted CPUs has.
            None if self.grid.topology.threads_per_core > 1 => Some((1.5, "a guess: no two siblings".to_owned(), true)),
            None => None,
        };
        Ok(CpuTable {
            ghz: None,
            source: "all times are in nanoseconds".to_owned(),
            provisional: false,
            load_hit: self.cost("cpu.load_hit")?,
            store_hit: self.cost("cpu.store_hit")?,
            rmw_hit: self.cost("cpu.rmw_hit")?,
            pause: self.cost("cpu.pause")?,
            clock: self.cost("cpu.clock")?,
            lookahead: self.all("cpu.lookahead").next().map(|_| self.cost("cpu.lookahead")).transpose()?,
            smt_slowdown: smt.map(|(factor, source, provisional)| Factor { factor, source, provisional }),
        })
    }

    fn coherence(&self) -> Result<CoherenceTable> {
        let (protocol, source) = protocol(self.machine.cpu.as_deref().unwrap_or_default());
        let line = match self.line_bytes {
            Some(_) => "line size: sysfs",
            None => "line size: a guess",
        };
        let (migratory, seen) = self.migratory();
        Ok(CoherenceTable {
            protocol,
            migratory,
            line_bytes: self.line_bytes.unwrap_or(64),
            source: format!("protocol: {source}; {seen}; {line}"),
            provisional: true,
            load_modified: self.table("coherence.load_modified", true)?,
            load_shared: self.table("coherence.load_shared", true)?,
            store_modified: self.table("coherence.store_modified", true)?,
            store_shared: self.table("coherence.store_shared", true)?,
            rmw_modified: self.table("coherence.rmw_modified", true)?,
            rmw_shared: self.table("coherence.rmw_shared", true)?,
            memory: self.table("coherence.memory", false)?,
            read_occupancy: self.cost("coherence.read_occupancy")?,
        })
    }

    /// Returns whether a read takes a modified line as a whole, and how that is known.
    fn migratory(&self) -> (bool, String) {
        let Some(after) = self.all(AFTER_A_READ).next() else {
            return (false, "migratory: not measured".to_owned());
        };
        let hit = value(&self.figures, "cpu.rmw_hit");
        let modified = self.all("coherence.rmw_modified").find(|figure| figure.at == after.at);
        let modified = modified.map_or(hit, |figure| figure.value);
        // Nearer to a hit than to a transfer.
        let migratory = after.value - hit < (modified - hit) / 2.0;
        (migratory, format!("migratory: a change after a read takes {}", after.unit.shown(after.value)))
    }

    fn system(&self) -> Result<SystemTable> {
        let on_cpu = match on_cpu_layer() {
            OnCpuLayer::Rseq => OnCpuView::Rseq,
            _ => OnCpuView::Unknown,
        };
        let driver = self.idle_driver.as_deref();
        // Without a driver there are no states to choose from, and `haltpoll` has a guest's: the host decides.
        let idle_deepens = driver.is_none_or(|driver| driver == "haltpoll");
        Ok(SystemTable {
            on_cpu,
            migration: true,
            source: format!(
                "on_cpu: what turnwise finds in this process; migration: Linux, unless threads are pinned; idle CPUs: \
                 driver {}",
                driver.unwrap_or("none")
            ),
            provisional: false,
            syscall: self.cost("system.syscall")?,
            wait_call: self.optional("system.wait_call")?,
            context_switch: self.cost("system.context_switch")?,
            wake: self.cost("system.wake")?,
            ipi: self.table("system.ipi", true)?,
            yield_call: self.cost("system.yield_call")?,
            latency: self.cost("system.latency")?,
            min_granularity: self.cost("system.min_granularity")?,
            wakeup_granularity: self.cost("system.wakeup_granularity")?,
            slice_jitter: self.optional("system.slice_jitter")?,
            idle_poll: None,
            idle_deepens,
            idle_exit: self
                .all("system.idle_exit")
                .filter_map(|exit| {
                    let interrupt = self.all(IDLE_IPI).find(|ipi| idle_deepens && ipi.at == exit.at);
                    idle_exit(exit, interrupt)
                })
                .collect(),
        })
    }

    fn optional(&self, key: &str) -> Result<Option<Cost>> {
        self.all(key).next().map(|_| self.cost(key)).transpose()
    }

    fn cost(&self, key: &str) -> Result<Cost> {
        let figure = self.all(key).next().with_context(|| format!("{key} was not measured"))?;
        let cost = Cost::ns(rounded(figure.value), figure.source());
        Ok(if figure.provisional { cost.provisional() } else { cost })
    }

    /// Returns the table of all distances of the grid. Those between which no two CPUs lie have the number of the next
    /// one, and make the table provisional.
    fn table(&self, key: &str, near: bool) -> Result<Table> {
        let t = &self.grid.topology;
        let farthest = t.hops.iter().copied().max().unwrap_or(0);
        let figures: Vec<&Figure> = self.all(key).collect();
        let mut filled = Filled { figures: &figures, gaps: Vec::new(), stand_in: self.stand_in(key) };
        let same_core = (near && t.threads_per_core > 1).then(|| filled.at(Class::SAME_CORE));
        let same_cluster = (near && t.clusters_per_node > 1).then(|| filled.at(Class::SAME_CLUSTER));
        let same_node = filled.at(Class::SAME_NODE);
        let hops = (1..=farthest).map(|hops| filled.at(Class::hops(hops))).collect();
        let provisional = !filled.gaps.is_empty() || figures.iter().any(|figure| figure.provisional);
        let source = filled.source();
        Ok(Table { same_core, same_cluster, same_node, hops, unit: Unit::Ns, source, provisional })
    }

    /// Returns what stands in a table where no two CPUs could be measured at all.
    fn stand_in(&self, key: &str) -> (f64, &'static str) {
        match key {
            "system.ipi" => (1_000.0, "a guess"),
            _ => {
                let memory = self.all("coherence.memory").next();
                (memory.map_or(100.0, |figure| figure.value), "that of memory")
            }
        }
    }
}

/// A table in the making.
struct Filled<'a> {
    figures: &'a [&'a Figure],
    gaps: Vec<String>,
    stand_in: (f64, &'static str),
}

impl Filled<'_> {
    fn at(&mut self, class: Class) -> f64 {
        let distance = |figure: &&&Figure| match figure.at {
            At::Class(other) => other.0.abs_diff(class.0),
            _ => u8::MAX,
        };
        match self.figures.iter().min_by_key(distance) {
            Some(figure) if figure.at == At::Class(class) => rounded(figure.value),
            Some(figure) => {
                self.gaps
                    .push(format!("{}: no such CPUs, as the nearest distance that there is", figure::class(class)));
                rounded(figure.value)
            }
            None => {
                let (value, what) = self.stand_in;
                self.gaps.push(format!("{}: no such CPUs, {what}", figure::class(class)));
                rounded(value)
            }
        }
    }

    fn source(&self) -> String {
        let measured = self.figures.iter().filter_map(|figure| match figure.at {
            At::Class(class) => Some(format!("{}: {}", figure::class(class), figure.source())),
            _ => None,
        });
        measured.chain(self.gaps.iter().cloned()).collect::<Vec<_>>().join("; ")
    }
}

fn idle_exit(figure: &Figure, interrupt: Option<&Figure>) -> Option<IdleExit> {
    let At::IdleNs(after) = figure.at else { return None };
    Some(IdleExit {
        after_ns: after as f64,
        ns: Some(rounded(figure.value)),
        cycles: None,
        ipi_ns: interrupt.map(|ipi| rounded(ipi.value)),
        source: figure.source(),
        provisional: figure.provisional,
    })
}

/// Rounds to picoseconds, the simulator's unit, at least one.
fn rounded(ns: f64) -> f64 {
    (ns * 1000.0).round().max(1.0) / 1000.0
}

/// Returns a guess: which cache answers reads of shared lines cannot be seen from outside.
fn protocol(cpu: &str) -> (Protocol, &'static str) {
    if cpu.contains("Intel") {
        (Protocol::Mesif, "Intel's, by the maker's name")
    } else if cpu.contains("AMD") {
        (Protocol::Moesi, "AMD's, by the maker's name")
    } else {
        (Protocol::Mesi, "a guess")
    }
}
