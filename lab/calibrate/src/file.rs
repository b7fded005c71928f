//! The machine file.

use super::figure::{At, Figure, Unit};
use super::system::IDLE_IPI;
use super::transfers::AFTER_A_READ;
use super::{Calibration, figure, value};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::env;
use std::path::PathBuf;
use turnwise::platform::native::on_cpu_layer;
use turnwise_sim::spec::Class;
use turnwise_sim::spec::file::parse;

/// Figures by distance, which the file has in any case.
const TABLES: [&str; 8] = [
    "coherence.load_modified",
    "coherence.load_shared",
    "coherence.store_modified",
    "coherence.store_shared",
    "coherence.rmw_modified",
    "coherence.rmw_shared",
    "coherence.memory",
    "system.ipi",
];

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
        let name = self.machine.cpu_name().replace(['\n', '\r'], " ");
        let kernel = self.machine.kernel.as_deref().unwrap_or("of an unknown release");
        let title = format!("{name}, {} CPUs, Linux {kernel}", self.grid.cpus.len());
        text += &lines(&json!({ "name": "here", "title": title }))?;
        let groups = self.groups();
        for group in ["topology", "cpu", "coherence", "system"] {
            text += &format!("\n[{group}]\n{}", lines(&groups[group])?);
        }
        let doubt = "what was measured makes no sense to the simulator; measure again on an idle machine";
        parse(&text, "here").context(doubt)?;
        Ok(text)
    }

    /// Returns the content of each group.
    fn groups(&self) -> Value {
        let (t, notes) = (&self.grid.topology, &self.grid.notes);
        let rows: Vec<_> = t.hops.chunks(t.nodes as usize).collect();
        let source = [&["sysfs".to_owned()], notes.as_slice()].concat().join("; ");
        let mut groups = json!({
            "topology": {
                "sockets": t.sockets,
                "nodes": t.nodes,
                "clusters_per_node": t.clusters_per_node,
                "cores_per_cluster": t.cores_per_cluster,
                "threads_per_core": t.threads_per_core,
                "hops": (t.nodes > 1).then_some(rows),
                "source": source,
                "provisional": !notes.is_empty(),
            },
            "cpu": { "source": "all times are in nanoseconds", "smt_slowdown": self.smt_slowdown() },
            "coherence": self.coherence(),
            "system": self.system(),
        });
        let mut set = |key: &str, number: Value| {
            if let Some((group, name)) = key.split_once('.') {
                groups[group][name] = number;
            }
        };
        let costs = self.figures.iter().filter(|figure| (figure.at, figure.unit) == (At::All, Unit::Ns));
        costs.for_each(|figure| set(figure.key, cost(figure)));
        TABLES.iter().for_each(|key| set(key, self.table(key)));
        groups
    }

    fn smt_slowdown(&self) -> Option<Value> {
        let (factor, source, provisional) = match self.all("cpu.smt_slowdown").next() {
            Some(figure) => (figure.value / 1000.0, figure.source(), figure.provisional),
            // A grid of cores with two threads, which none of the permitted CPUs has.
            None if self.grid.topology.threads_per_core > 1 => (1.5, "a guess: no two siblings".to_owned(), true),
            None => return None,
        };
        Some(json!({ "factor": factor, "source": source, "provisional": provisional }))
    }

    /// Returns what is known about lines but for what their transfers take.
    fn coherence(&self) -> Value {
        let (protocol, source) = protocol(self.machine.cpu.as_deref().unwrap_or_default());
        let line = if self.line_bytes.is_some() { "line size: sysfs" } else { "line size: a guess" };
        let (migratory, seen) = self.migratory();
        json!({
            "protocol": protocol,
            "migratory": migratory,
            "line_bytes": self.line_bytes.unwrap_or(64),
            "source": format!("protocol: {source}; {seen}; {line}"),
            "provisional": true,
        })
    }

    /// Returns whether a read takes a modified line as a whole, and how that is known.
    fn migratory(&self) -> (bool, String) {
        let Some(after) = self.all(AFTER_A_READ).next() else {
            return (false, "migratory: not measured".to_owned());
        };
        let hit = value(&self.figures, "cpu.rmw_hit", At::All);
        let modified = self.all("coherence.rmw_modified").find(|figure| figure.at == after.at);
        let modified = modified.map_or(hit, |figure| figure.value);
        // Nearer to a hit than to a transfer.
        let migratory = after.value - hit < (modified - hit) / 2.0;
        (migratory, format!("migratory: a change after a read takes {}", after.unit.shown(after.value)))
    }

    /// Returns what is known about the system but for what its services cost.
    fn system(&self) -> Value {
        let on_cpu = if on_cpu_layer() == "rseq" { "rseq" } else { "unknown" };
        let driver = self.idle_driver.as_deref();
        // Without a driver there are no states to choose from, and `haltpoll` has a guest's: the host decides.
        let idle_deepens = driver.is_none_or(|driver| driver == "haltpoll");
        let exits = self.all("system.idle_exit").filter_map(|exit| {
            let interrupt = self.all(IDLE_IPI).find(|ipi| idle_deepens && ipi.at == exit.at);
            idle_exit(exit, interrupt)
        });
        json!({
            "on_cpu": on_cpu,
            "migration": true,
            "source": format!(
                "on_cpu: what turnwise finds in this process; migration: Linux, unless threads are pinned; idle CPUs: \
                 driver {}",
                driver.unwrap_or("none")
            ),
            "idle_deepens": idle_deepens,
            "idle_exit": exits.collect::<Vec<_>>(),
        })
    }

    /// Returns the table of all distances of the grid. Those between which no two CPUs lie have the number of the next
    /// one, and make the table provisional.
    fn table(&self, key: &str) -> Value {
        // Memory belongs to nodes.
        let near = key != "coherence.memory";
        let t = &self.grid.topology;
        let figures: Vec<&Figure> = self.all(key).collect();
        let mut filled = Filled { figures: &figures, gaps: Vec::new(), stand_in: self.stand_in(key) };
        let same_core = (near && t.threads_per_core > 1).then(|| filled.at(Class::SAME_CORE));
        let same_cluster = (near && t.clusters_per_node > 1).then(|| filled.at(Class::SAME_CLUSTER));
        let same_node = filled.at(Class::SAME_NODE);
        let hops: Vec<f64> = (1..=t.farthest()).map(|hops| filled.at(Class::hops(hops))).collect();
        let provisional = !filled.gaps.is_empty() || figures.iter().any(|figure| figure.provisional);
        json!({
            "same_core": same_core,
            "same_cluster": same_cluster,
            "same_node": same_node,
            "hops": hops,
            "unit": "ns",
            "source": filled.source(),
            "provisional": provisional,
        })
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

/// Returns lines of TOML, one for each key that has a value: twenty `[cpu.load_hit]` lines would not be a readable
/// table.
fn lines(table: &Value) -> Result<String> {
    fn without_nothing(value: &Value) -> Value {
        match value {
            Value::Object(of) => {
                let some = of.iter().filter(|(_, value)| !value.is_null());
                some.map(|(key, value)| (key.clone(), without_nothing(value))).collect()
            }
            Value::Array(of) => of.iter().map(without_nothing).collect(),
            other => other.clone(),
        }
    }
    let table = toml::Table::try_from(without_nothing(table)).context("the machine file has no TOML form")?;
    Ok(table.iter().map(|(key, value)| format!("{key} = {value}\n")).collect())
}

fn cost(figure: &Figure) -> Value {
    json!({ "ns": rounded(figure.value), "source": figure.source(), "provisional": figure.provisional })
}

fn idle_exit(figure: &Figure, interrupt: Option<&Figure>) -> Option<Value> {
    let At::IdleNs(after) = figure.at else { return None };
    let mut exit = cost(figure);
    exit["after_ns"] = json!(after as f64);
    exit["ipi_ns"] = json!(interrupt.map(|ipi| rounded(ipi.value)));
    Some(exit)
}

/// Rounds to picoseconds, the simulator's unit, at least one.
fn rounded(ns: f64) -> f64 {
    (ns * 1000.0).round().max(1.0) / 1000.0
}

/// Returns a guess: which cache answers reads of shared lines cannot be seen from outside.
fn protocol(cpu: &str) -> (&'static str, &'static str) {
    if cpu.contains("Intel") {
        ("mesif", "Intel's, by the maker's name")
    } else if cpu.contains("AMD") {
        ("moesi", "AMD's, by the maker's name")
    } else {
        ("mesi", "a guess")
    }
}
