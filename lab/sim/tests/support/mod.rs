//! A small machine for tests, with round numbers.

use std::sync::Arc;
use turnwise_sim::spec::{ByClass, Coherence, Cpu, IdleState, Machine, NS, OnCpuView, Protocol, System, Topology};

fn table(ns: [u64; 4]) -> ByClass {
    ByClass(ns.iter().map(|ns| ns * NS).collect())
}

/// Returns `nodes` nodes of `cores` cores, each one hop from the others.
pub fn machine(nodes: u32, cores: u32) -> Machine {
    let hops = (0..nodes * nodes).map(|place| u8::from(place / nodes != place % nodes)).collect();
    let topology =
        Topology { sockets: nodes, nodes, clusters_per_node: 1, cores_per_cluster: cores, threads_per_core: 1, hops };
    let lines = Coherence {
        source: String::new(),
        provisional: false,
        protocol: Protocol::Mesif,
        migratory: false,
        line_bytes: 64,
        load_modified: table([10, 50, 50, 130]),
        load_shared: table([5, 20, 20, 100]),
        store_modified: table([10, 50, 50, 150]),
        store_shared: table([10, 50, 50, 150]),
        rmw_modified: table([10, 60, 60, 150]),
        rmw_shared: table([10, 50, 50, 150]),
        memory: table([80, 80, 80, 160]),
        read_occupancy: 15 * NS,
        spread_permille: 0,
    };
    let cpu = Cpu {
        ghz: None,
        source: String::new(),
        provisional: false,
        load_hit: 2 * NS,
        store_hit: NS,
        rmw_hit: 9 * NS,
        pause: 5 * NS,
        clock: 20 * NS,
        lookahead: 0,
        store_buffer: false,
        smt_permille: 1000,
    };
    let (name, title) = ("test".to_owned(), "a machine for tests".to_owned());
    Machine {
        name,
        title,
        topology,
        coherence: lines,
        cpu,
        system: system(),
        sources: Vec::new(),
        entries: Vec::new(),
        ranges: Vec::new(),
    }
}

fn system() -> System {
    System {
        source: String::new(),
        provisional: false,
        syscall: 200 * NS,
        context_switch: 1_000 * NS,
        wake: 500 * NS,
        ipi: table([700, 700, 700, 900]),
        wait_call: 200 * NS,
        yield_call: 300 * NS,
        slice_jitter: 0,
        idle_poll: 0,
        idle_deepens: false,
        idle_exit: vec![
            IdleState { after: 0, exit: 1_000 * NS, ipi: None },
            IdleState { after: 1_000_000 * NS, exit: 20_000 * NS, ipi: None },
        ],
        latency: 6_000_000 * NS,
        min_granularity: 750_000 * NS,
        wakeup_granularity: 1_000_000 * NS,
        migration: true,
        on_cpu: OnCpuView::Exact,
    }
}

/// Returns the same, shared.
pub fn shared(nodes: u32, cores: u32) -> Arc<Machine> {
    Arc::new(machine(nodes, cores))
}
