//! Where the CPUs are, from sysfs.

use anyhow::{Result, bail};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use turnwise_present::cpus::parse_list;

/// One hardware thread, by what it shares with others. The numbers name groups; they need not start at 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Cpu {
    /// The kernel's number.
    pub cpu: u32,
    /// The package.
    pub package: u32,
    /// The memory node.
    pub node: u32,
    /// The last-level cache: the first CPU of those that share it.
    pub cluster: u32,
    /// The core: the first of its hardware threads.
    pub core: u32,
}

/// The CPUs and caches of the machine, as sysfs describes them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tree {
    /// Allowed CPUs, sorted node by node, cluster by cluster, core by core.
    pub(super) cpus: Vec<Cpu>,
    /// Distances of the firmware's table between nodes; empty without one.
    pub(super) distances: BTreeMap<(u32, u32), u32>,
    /// Bytes of a cache line, if sysfs reports it.
    pub(super) line_bytes: Option<u32>,
    /// Bytes of the largest cache that is not the last level: what to read through to evict a CPU's own lines.
    pub(super) own_cache_bytes: Option<u64>,
    /// What sysfs does not report.
    pub(super) gaps: Vec<String>,
}

/// Returns how many CPUs run, whether this process may use them or not.
pub(super) fn online(root: &Path) -> Option<u32> {
    list(&root.join("devices/system/cpu/online")).map(|cpus| cpus.len() as u32)
}

/// Returns the driver for idle CPUs.
pub(super) fn idle_driver(root: &Path) -> Option<String> {
    text(&root.join("devices/system/cpu/cpuidle/current_driver")).filter(|driver| driver != "none")
}

impl Tree {
    /// Reads the tree under `root` (`/sys`). What is missing is replaced by the simplest guess, and listed.
    ///
    /// # Errors
    /// No CPU is allowed.
    pub(super) fn read(root: &Path, allowed: &[u32]) -> Result<Tree> {
        if allowed.is_empty() {
            bail!("this process may use no CPU");
        }
        let base = root.join("devices/system");
        let mut gaps = Vec::new();
        let nodes = Nodes::read(&base.join("node"));
        if nodes.of_cpu.is_empty() {
            gaps.push("no memory nodes in sysfs: taken for one".to_owned());
        }
        let mut cpus = Vec::new();
        for &cpu in allowed {
            cpus.push(place(&base.join(format!("cpu/cpu{cpu}")), cpu, &nodes, &mut gaps));
        }
        cpus.sort_by_key(|cpu| (cpu.package, cpu.node, cpu.cluster, cpu.core, cpu.cpu));
        gaps.dedup();
        let caches = Cache::all(&base.join(format!("cpu/cpu{}/cache", cpus[0].cpu)));
        let last = caches.iter().map(|cache| cache.level).max();
        let own = caches.iter().filter(|cache| Some(cache.level) != last || cache.level < 3);
        Ok(Tree {
            cpus,
            distances: nodes.distances,
            line_bytes: caches.iter().find_map(|cache| cache.line_bytes),
            own_cache_bytes: own.filter_map(|cache| cache.bytes).max(),
            gaps,
        })
    }
}

/// Returns where one CPU is. Each kind of gap is listed once.
fn place(folder: &Path, cpu: u32, nodes: &Nodes, gaps: &mut Vec<String>) -> Cpu {
    let mut gap = |text: &str| {
        if !gaps.iter().any(|gap| gap == text) {
            gaps.push(text.to_owned());
        }
    };
    let topology = folder.join("topology");
    let threads = list(&topology.join("core_cpus_list")).or_else(|| list(&topology.join("thread_siblings_list")));
    let core = threads.and_then(|threads| threads.first().copied()).unwrap_or_else(|| {
        gap("no hardware threads in sysfs: each CPU taken for a core");
        cpu
    });
    // The kernel writes -1 where the firmware reports nothing.
    let package = number(&topology.join("physical_package_id")).unwrap_or_else(|| {
        gap("no packages in sysfs: taken for one");
        0
    });
    let node = nodes.of_cpu.get(&cpu).copied().unwrap_or(0);
    let last = Cache::all(&folder.join("cache")).into_iter().max_by_key(|cache| cache.level);
    let shared = last.map(|cache| cache.shared).filter(|shared| !shared.is_empty());
    if shared.is_none() {
        gap("no caches in sysfs: one last-level cache for each node taken for granted");
    }
    // A last-level cache of a single core is not shared by cores: then the node is the cluster.
    let one_core = |shared: &Vec<u32>| {
        list(&topology.join("core_cpus_list")).is_some_and(|threads| shared.iter().all(|c| threads.contains(c)))
    };
    let cluster = shared.filter(|shared| !one_core(shared)).map_or(0, |shared| shared[0]);
    Cpu { cpu, package, node, cluster, core }
}

/// A cache that holds data.
struct Cache {
    level: u32,
    bytes: Option<u64>,
    line_bytes: Option<u32>,
    shared: Vec<u32>,
}

impl Cache {
    fn all(folder: &Path) -> Vec<Cache> {
        let one = |index: u32| {
            let folder = folder.join(format!("index{index}"));
            let level = number(&folder.join("level"))?;
            let holds_data = text(&folder.join("type")).is_none_or(|kind| kind != "Instruction");
            let bytes = text(&folder.join("size")).and_then(|size| bytes(&size));
            let line_bytes = number(&folder.join("coherency_line_size")).filter(|bytes| bytes.is_power_of_two());
            let shared = list(&folder.join("shared_cpu_list")).unwrap_or_default();
            Some((holds_data, Cache { level, bytes, line_bytes, shared }))
        };
        (0..).map_while(one).filter_map(|(holds_data, cache)| holds_data.then_some(cache)).collect()
    }
}

/// Memory nodes.
struct Nodes {
    of_cpu: BTreeMap<u32, u32>,
    distances: BTreeMap<(u32, u32), u32>,
}

impl Nodes {
    fn read(folder: &Path) -> Nodes {
        let mut nodes = Nodes { of_cpu: BTreeMap::new(), distances: BTreeMap::new() };
        let online = list(&folder.join("online")).unwrap_or_default();
        for &node in &online {
            let folder = folder.join(format!("node{node}"));
            nodes.of_cpu.extend(list(&folder.join("cpulist")).unwrap_or_default().into_iter().map(|cpu| (cpu, node)));
            let row = text(&folder.join("distance")).unwrap_or_default();
            let row = row.split_whitespace().map_while(|distance| distance.parse::<u32>().ok());
            nodes.distances.extend(online.iter().zip(row).map(|(&to, distance)| ((node, to), distance)));
        }
        nodes
    }
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: &Path) -> Option<u32> {
    text(path)?.parse().ok()
}

fn list(path: &Path) -> Option<Vec<u32>> {
    parse_list(&text(path)?).ok().filter(|list| !list.is_empty())
}

/// Parses `2048K` as bytes.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &size[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}
