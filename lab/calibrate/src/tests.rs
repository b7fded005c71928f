//! Machines described by trees of files, as sysfs would have them; and files that the simulator must accept.

use super::Calibration;
use super::figure::{At, Figure, Unit};
use super::grid::Grid;
use super::sysfs::Tree;
use std::fs;
use std::path::Path;
use turnwise_present::cpus::parse_list;
use turnwise_present::machine::Machine;
use turnwise_sim::spec::{Class, file};

/// A machine as sysfs describes it: for each CPU its package, node, and the lists of its last-level cache and core.
#[derive(Default)]
struct Fixture {
    cpus: Vec<(u32, u32, u32, String, String)>,
    distances: Vec<&'static str>,
}

impl Fixture {
    /// Builds sockets x nodes x clusters x cores; siblings are numbered after all first threads, as in most firmware.
    fn regular(sockets: u32, nodes: u32, clusters: u32, cores: u32, threads: u32, distances: &[&'static str]) -> Self {
        let all = sockets * nodes * clusters * cores;
        let list = |first: u32, count: u32| {
            let part = |thread: u32| format!("{}-{}", thread * all + first, thread * all + first + count - 1);
            (0..threads).map(part).collect::<Vec<_>>().join(",")
        };
        let cpu = |cpu: u32| {
            let core = cpu % all;
            let (node, package) = (core / (clusters * cores), core / (nodes * clusters * cores));
            (cpu, package, node, list(core / cores * cores, cores), list(core, 1))
        };
        Fixture { cpus: (0..all * threads).map(cpu).collect(), distances: distances.to_vec() }
    }

    fn write(&self, root: &Path) {
        let put = |path: String, text: &str| {
            let path = root.join("devices/system").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        };
        for (cpu, package, _, cache, core) in &self.cpus {
            put(format!("cpu/cpu{cpu}/topology/physical_package_id"), &package.to_string());
            put(format!("cpu/cpu{cpu}/topology/core_cpus_list"), core);
            let caches = [("1", "Data", "48K", core), ("1", "Instruction", "32K", core)];
            let rest = [("2", "Unified", "2048K", core), ("3", "Unified", "105M", cache)];
            for (index, (level, kind, size, shared)) in caches.into_iter().chain(rest).enumerate() {
                let folder = format!("cpu/cpu{cpu}/cache/index{index}");
                put(format!("{folder}/level"), level);
                put(format!("{folder}/type"), kind);
                put(format!("{folder}/size"), size);
                put(format!("{folder}/coherency_line_size"), "64");
                put(format!("{folder}/shared_cpu_list"), shared);
            }
        }
        for (node, distances) in self.distances.iter().enumerate() {
            let cpus = self.cpus.iter().filter(|(_, _, n, ..)| *n as usize == node);
            let cpus: Vec<String> = cpus.map(|(cpu, ..)| cpu.to_string()).collect();
            put(format!("node/node{node}/cpulist"), &cpus.join(","));
            put(format!("node/node{node}/distance"), distances);
        }
        put("node/online".to_owned(), &format!("0-{}", self.distances.len().max(1) - 1));
    }

    /// Returns the grid found if these CPUs may be used.
    fn grid(&self, allowed: &[u32]) -> Grid {
        let root = tempfile::tempdir().unwrap();
        self.write(root.path());
        Grid::of(&Tree::read(root.path(), allowed).unwrap()).unwrap()
    }

    fn all(&self) -> Grid {
        self.grid(&self.cpus.iter().map(|(cpu, ..)| *cpu).collect::<Vec<_>>())
    }
}

/// Sockets, nodes, clusters, cores, threads.
fn counts(grid: &Grid) -> [u32; 5] {
    let t = &grid.topology;
    [t.sockets, t.nodes, t.clusters_per_node, t.cores_per_cluster, t.threads_per_core]
}

fn classes(grid: &Grid) -> Vec<u8> {
    grid.pairs(2).keys().map(|class| class.0).collect()
}

#[test]
fn lists_of_cpus_are_read_and_broken_ones_refused() {
    assert_eq!(parse_list(" 0-2,5,7-8\n").unwrap(), [0, 1, 2, 5, 7, 8]);
    assert!(parse_list("").unwrap().is_empty());
    for broken in ["3-1", "x", "0-99999999", "1--2"] {
        assert!(parse_list(broken).is_err(), "{broken}");
    }
}

#[test]
fn a_small_virtual_machine_has_one_distance() {
    let grid = Fixture::regular(1, 1, 1, 2, 1, &["10"]).all();
    assert_eq!((counts(&grid), classes(&grid)), ([1, 1, 1, 2, 1], vec![2]));
    assert_eq!(grid.notes, [""; 0]);
}

#[test]
fn two_sockets_with_clusters_and_siblings_have_every_distance() {
    let distances = ["10 12 32 32", "12 10 32 32", "32 32 10 12", "32 32 12 10"];
    let grid = Fixture::regular(2, 2, 2, 4, 2, &distances).all();
    assert_eq!(counts(&grid), [2, 4, 2, 4, 2]);
    assert_eq!(classes(&grid), [0, 1, 2, 3, 4]);
    assert_eq!(grid.topology.hops, [0, 1, 2, 2, 1, 0, 2, 2, 2, 2, 0, 1, 2, 2, 1, 0]);
    assert!(grid.notes.is_empty(), "{:?}", grid.notes);
    // The simulator's numbers: siblings side by side.
    assert_eq!(grid.cpus.iter().take(4).map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 32, 1, 33]);
    let expected: Vec<u8> = (1..64).map(|b| grid.topology.between(0, b).0).collect();
    let found: Vec<u8> = grid.cpus[1..].iter().map(|&b| grid.class(grid.cpus[0], b).0).collect();
    assert_eq!(found, expected, "both number and measure the same way");
}

#[test]
fn each_distance_is_measured_between_cpus_that_far_apart() {
    let grid = Fixture::regular(2, 1, 1, 4, 2, &["10 21", "21 10"]).all();
    for (class, pairs) in grid.pairs(3) {
        assert!(!pairs.is_empty() && pairs.len() <= 3);
        for (a, b) in pairs {
            assert_eq!(grid.class(a, b), class);
            let third = grid.third(a, b);
            assert!(third.is_none_or(|c| grid.class(a, c) == class && c.core != b.core));
            assert_eq!(third.is_some(), class != Class::SAME_CORE);
        }
    }
    let memory: Vec<u8> = grid.memory_pairs().keys().map(|class| class.0).collect();
    assert_eq!(memory, [2, 3]);
}

#[test]
fn a_private_last_cache_makes_no_cluster() {
    let mut fixture = Fixture::regular(1, 1, 1, 4, 1, &["10"]);
    for cpu in &mut fixture.cpus {
        cpu.3.clone_from(&cpu.4);
    }
    assert_eq!(counts(&fixture.all()), [1, 1, 1, 4, 1]);
}

#[test]
fn irregular_cpus_are_described_by_the_nearest_grid_and_it_is_said() {
    let fixture = Fixture::regular(2, 1, 1, 4, 2, &["10 21", "21 10"]);
    // All of the first socket, one core of the second.
    let grid = fixture.grid(&[0, 1, 2, 3, 8, 9, 10, 11, 4, 12]);
    assert_eq!(counts(&grid), [2, 2, 1, 3, 2]);
    assert!(grid.notes[0].contains("10 CPUs") && grid.notes[0].contains("nearest has 12"), "{:?}", grid.notes);
    // One thread of each core: regular again.
    let grid = fixture.grid(&[0, 1, 4, 5]);
    assert_eq!((counts(&grid), classes(&grid)), ([2, 2, 1, 2, 1], vec![2, 3]));
    assert!(grid.notes.is_empty(), "{:?}", grid.notes);
}

#[test]
fn fast_and_slow_cores_are_averaged() {
    let mut fixture = Fixture::regular(1, 1, 1, 2, 2, &["10"]);
    fixture.cpus.extend((4..8).map(|cpu| (cpu, 0, 0, "0-7".to_owned(), cpu.to_string())));
    for cpu in &mut fixture.cpus {
        cpu.3 = "0-7".to_owned();
    }
    let grid = fixture.all();
    assert_eq!(counts(&grid), [1, 1, 1, 6, 1]);
    assert!(grid.notes[0].contains("no regular grid"), "{:?}", grid.notes);
}

#[test]
fn without_sysfs_every_cpu_is_a_core_and_nothing_is_hidden() {
    let root = tempfile::tempdir().unwrap();
    let tree = Tree::read(root.path(), &[0, 3, 5]).unwrap();
    assert_eq!((tree.line_bytes, tree.own_cache_bytes), (None, None));
    let grid = Grid::of(&tree).unwrap();
    assert_eq!(counts(&grid), [1, 1, 1, 3, 1]);
    for word in ["nodes", "packages", "hardware threads", "caches"] {
        assert!(grid.notes.iter().any(|note| note.contains(word)), "{word}: {:?}", grid.notes);
    }
    assert!(Tree::read(root.path(), &[]).is_err());
}

#[test]
fn unknown_distances_are_one_hop() {
    let grid = Fixture::regular(2, 1, 1, 2, 1, &["", ""]).all();
    assert_eq!(grid.topology.hops, [0, 1, 1, 0]);
    assert!(grid.notes[0].contains("distances"), "{:?}", grid.notes);
}

#[test]
fn caches_are_distinguished() {
    let root = tempfile::tempdir().unwrap();
    Fixture::regular(1, 1, 1, 2, 1, &["10"]).write(root.path());
    let tree = Tree::read(root.path(), &[0, 1]).unwrap();
    assert_eq!((tree.line_bytes, tree.own_cache_bytes), (Some(64), Some(2 << 20)));
}

/// Returns a calibration whose numbers are known; those of distances only where two CPUs are that far apart.
fn calibration(grid: Grid) -> Calibration {
    let measured = |key, at, ns: f64| Figure::measured(key, at, &[ns], "x", 1.0);
    let single = ["cpu.load_hit", "cpu.store_hit", "cpu.rmw_hit", "cpu.pause", "cpu.clock", "coherence.read_occupancy"];
    let keys = ["system.syscall", "system.context_switch", "system.wake", "system.yield_call", "system.latency"];
    let more = ["system.min_granularity", "system.wakeup_granularity"];
    let mut figures: Vec<Figure> =
        single.into_iter().chain(keys).chain(more).map(|key| measured(key, At::All, 7.0)).collect();
    for class in grid.pairs(1).keys() {
        for kind in &super::transfers::KINDS {
            figures.push(measured(kind.key, At::Class(*class), 10.0 * f64::from(class.0 + 1)));
        }
        figures.push(measured("system.ipi", At::Class(*class), 500.0));
    }
    for class in grid.memory_pairs().keys() {
        figures.push(measured("coherence.memory", At::Class(*class), 90.0));
    }
    figures.push(measured("system.wait_call", At::All, 9.0));
    figures.push(measured("system.idle_exit", At::IdleNs(0), 100.0));
    figures.push(measured(super::system::IDLE_IPI, At::IdleNs(1_000_000), 8_000.0));
    figures.push(measured("system.idle_exit", At::IdleNs(1_000_000), 50_000.0));
    if grid.topology.threads_per_core > 1 {
        figures.push(Figure { unit: Unit::Permille, ..measured("cpu.smt_slowdown", At::All, 1600.0) });
    }
    Calibration { notes: vec!["a note".to_owned()], ..Calibration::of(Machine::here(), grid, Some(64), figures) }
}

#[test]
fn files_say_what_was_measured() {
    let distances = ["10 12 32 32", "12 10 32 32", "32 32 10 12", "32 32 12 10"];
    let mut found = calibration(Fixture::regular(2, 2, 2, 4, 2, &distances).all());
    let machine = file::parse(&found.machine_file().unwrap(), "here").unwrap();
    assert_eq!((machine.name.as_str(), machine.topology.clone()), ("here", found.grid.topology.clone()));
    assert_eq!(machine.coherence.rmw_shared.0, [10_000, 20_000, 30_000, 40_000, 50_000]);
    assert_eq!((machine.cpu.pause, machine.cpu.smt_permille), (7_000, 1600));
    assert_eq!((machine.system.syscall, machine.system.wait_call), (7_000, 9_000));
    // What cannot be seen from outside: the protocol.
    assert_eq!(machine.provisional(), ["coherence"]);
    // Without a driver that chooses states, the host decides how deep a CPU sleeps, and the cost of interrupting it.
    for (driver, deepens) in [(None, true), (Some("haltpoll"), true), (Some("acpi_idle"), false)] {
        found.idle_driver = driver.map(str::to_owned);
        let system = file::parse(&found.machine_file().unwrap(), "here").unwrap().system;
        let states: Vec<_> = system.idle_exit.iter().map(|state| (state.after, state.exit, state.ipi)).collect();
        let ipi = deepens.then_some(8_000_000);
        assert_eq!(states, [(0, 100_000, None), (1_000_000_000, 50_000_000, ipi)], "{driver:?}");
        assert_eq!(system.idle_deepens, deepens, "{driver:?}");
    }
}

#[test]
fn lines_are_migratory_where_a_change_after_a_read_costs_a_hit() {
    let migratory = |after_ns: Option<f64>| {
        let mut found = calibration(Fixture::regular(1, 1, 1, 4, 1, &["10"]).all());
        let at = At::Class(Class::SAME_NODE);
        let figure = after_ns.map(|ns| Figure::measured(super::transfers::AFTER_A_READ, at, &[ns], "x", 1.0));
        found.figures.extend(figure);
        let text = found.machine_file().unwrap();
        (file::parse(&text, "here").unwrap().coherence.migratory, text.contains("a change after a read takes"))
    };
    // A hit takes 7 ns, a transfer 30.
    assert_eq!([Some(7.4), Some(29.0), None].map(migratory), [(true, true), (false, true), (false, false)]);
}

#[test]
fn distances_that_could_not_be_measured_are_marked() {
    // Two clusters of one core each: no two cores share a cluster.
    let found = calibration(Fixture::regular(1, 1, 2, 1, 2, &["10"]).grid(&[0, 1]));
    let text = found.machine_file().unwrap();
    let machine = file::parse(&text, "here").unwrap();
    assert!(text.starts_with("# ") && text.contains("# a note."), "{text}");
    assert_eq!(machine.topology.cpus(), 2);
    // One CPU: there is no distance at all.
    let found = calibration(Fixture::regular(1, 1, 1, 1, 1, &["10"]).all());
    let machine = file::parse(&found.machine_file().unwrap(), "here").unwrap();
    assert_eq!(machine.coherence.rmw_modified.at(Class::SAME_NODE), 90_000);
    for key in ["coherence.rmw_modified", "coherence.load_shared", "system.ipi"] {
        assert!(machine.provisional().contains(&key), "{key}: {:?}", machine.provisional());
    }
    assert!(!machine.provisional().contains(&"coherence.memory"));
}
