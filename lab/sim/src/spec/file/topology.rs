//! `[topology]`: counts and distances that fit together.

use super::TopologyTable;
use super::error::Fault;
use crate::spec::Topology;

/// Most nodes: sets of nodes are words of 64 bits.
const MOST_NODES: u32 = 64;

/// Most hardware threads.
const MOST_CPUS: u32 = 4096;

pub(super) fn check(table: &TopologyTable) -> Result<Topology, Fault> {
    counts(table)?;
    let hops = match (&table.hops, table.mesh) {
        (Some(_), Some(_)) => {
            return Err(Fault::new("topology.mesh", "both `hops` and `mesh`", "keep one of them"));
        }
        (Some(rows), None) => matrix(rows, table.nodes)?,
        (None, Some([columns, rows])) => mesh(columns, rows, table.nodes)?,
        (None, None) if table.nodes == 1 => vec![0],
        (None, None) => {
            let remedy = "add a row of hops for each node, or `mesh = [columns, rows]`";
            return Err(Fault::new("topology.hops", "missing, but there are several nodes", remedy));
        }
    };
    Ok(Topology {
        sockets: table.sockets,
        nodes: table.nodes,
        clusters_per_node: table.clusters_per_node,
        cores_per_cluster: table.cores_per_cluster,
        threads_per_core: table.threads_per_core,
        hops,
    })
}

impl TopologyTable {
    /// Returns what there is how many of, by the keys.
    pub(super) fn counts(&self) -> [(&'static str, u32); 5] {
        [
            ("sockets", self.sockets),
            ("nodes", self.nodes),
            ("clusters_per_node", self.clusters_per_node),
            ("cores_per_cluster", self.cores_per_cluster),
            ("threads_per_core", self.threads_per_core),
        ]
    }
}

fn counts(table: &TopologyTable) -> Result<(), Fault> {
    let counts = table.counts();
    for (name, count) in counts {
        Fault::when(count == 0, format!("topology.{name}"), "zero", "give 1 or more")?;
    }
    let (problem, remedy) = (format!("{} nodes", table.nodes), format!("the simulator has room for {MOST_NODES}"));
    Fault::when(table.nodes > MOST_NODES, "topology.nodes", problem, remedy)?;
    let cpus = counts[1..].iter().fold(1u32, |cpus, (_, count)| cpus.saturating_mul(*count));
    let problem = format!("nodes x clusters x cores x threads = {cpus} CPUs or more");
    Fault::when(cpus > MOST_CPUS, "topology", problem, format!("the simulator has room for {MOST_CPUS}"))?;
    let (sockets, nodes) = (table.sockets, table.nodes);
    let wrong = !nodes.is_multiple_of(sockets) && !sockets.is_multiple_of(nodes);
    let problem = format!("{sockets} sockets do not go with {nodes} nodes");
    Fault::when(wrong, "topology.sockets", problem, "give a multiple of the nodes, or a divisor")
}

fn matrix(rows: &[Vec<u8>], nodes: u32) -> Result<Vec<u8>, Fault> {
    let count = nodes as usize;
    let problem = format!("{} rows for {nodes} nodes", rows.len());
    Fault::when(rows.len() != count, "topology.hops", problem, "give one row for each node")?;
    for (a, row) in rows.iter().enumerate() {
        let problem = format!("{} numbers for {nodes} nodes", row.len());
        Fault::when(row.len() != count, format!("topology.hops[{a}]"), problem, "give one number for each node")?;
        for (b, &hops) in row.iter().enumerate() {
            let pair = || format!("topology.hops[{a}][{b}]");
            if a == b && hops != 0 {
                let problem = format!("node {a} is {hops} hops from itself");
                return Err(Fault::new(pair(), problem, "give 0 on the diagonal"));
            } else if a != b && (hops == 0 || usize::from(hops) >= count) {
                let problem = format!("{hops} hops from node {a} to node {b}");
                return Err(Fault::new(pair(), problem, format!("give 1 to {}", count - 1)));
            } else if rows[b].get(a).is_some_and(|&back| back != hops) {
                let problem = format!("node {a} is {hops} hops from node {b}, but {} back", rows[b][a]);
                return Err(Fault::new(pair(), problem, format!("make it the same as `topology.hops[{b}][{a}]`")));
            }
        }
    }
    Ok(rows.concat())
}

fn mesh(columns: u32, rows: u32, nodes: u32) -> Result<Vec<u8>, Fault> {
    let problem = format!("{columns} columns and {rows} rows for {nodes} nodes");
    let remedy = "give two numbers whose product is `topology.nodes`";
    Fault::when(columns.checked_mul(rows) != Some(nodes), "topology.mesh", problem, remedy)?;
    let place = |node: u32| (node % columns, node / columns);
    let distance = |a: u32, b: u32| {
        let ((ax, ay), (bx, by)) = (place(a), place(b));
        // Below 64, as there are at most 64 nodes.
        (ax.abs_diff(bx) + ay.abs_diff(by)) as u8
    };
    Ok((0..nodes).flat_map(|a| (0..nodes).map(move |b| distance(a, b))).collect())
}
