//! Machine files: those that come with the program, and the errors for wrong ones.

use turnwise_sim::spec::file::parse;
use turnwise_sim::spec::{Class, IdleState, Machine, OnCpuView, Protocol, SpecError, builtin, load};

/// Several nodes, one cluster, one thread a core.
const WESTMERE: &str = include_str!("../machines/westmere-ex-80.toml");

/// Two nodes, several clusters, two threads a core.
const MILAN: &str = include_str!("../machines/epyc-milan-2s.toml");

fn machine(name: &str) -> Machine {
    load(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the error for a file in which `from` became `to`.
fn wrong(file: &str, from: &str, to: &str) -> SpecError {
    assert!(file.contains(from), "the file has no {from:?} any more: change this test");
    match parse(&file.replacen(from, to, 1), "test.toml") {
        Ok(_) => panic!("{to:?} in place of {from:?} passes"),
        Err(error) => error,
    }
}

/// Checks the error, and where it is: the key, the line, and words of the message.
fn says(file: &str, from: &str, to: &str, key: &str, words: &[&str]) {
    let error = wrong(file, from, to);
    assert_eq!(error.key, key, "{error}");
    let changed = file.find(from).expect("checked above");
    let last = changed + from.len().max(1) - 1;
    let line = |at: usize| file[..at].matches('\n').count() + 1;
    let said = error.line.unwrap_or_else(|| panic!("no line: {error}"));
    assert!((line(changed)..=line(last) + to.matches('\n').count()).contains(&said), "another line: {error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no {word:?}: {text}");
    }
    assert!(text.starts_with("the machine file test.toml cannot be used\nerror: "), "{text}");
    assert!(text.contains(&format!("--> test.toml:{said}:")), "{text}");
    assert!(text.contains("= help: "), "{text}");
}

#[test]
fn every_builtin_machine_loads_under_its_name() {
    for (name, text) in builtin() {
        let machine = machine(name);
        assert_eq!(machine.name, *name);
        assert!(machine.sources.len() > 25, "{name} has few sources");
        assert!(text.starts_with('#'), "{name} does not say what it is");
    }
    assert_eq!(builtin().len(), 18);
}

#[test]
fn builtin_machines_have_the_shape_of_their_names() {
    let shape = |name: &str| {
        let topology = machine(name).topology;
        (topology.cpus(), topology.nodes, topology.farthest())
    };
    assert_eq!(shape("westmere-ex-80"), (80, 8, 2));
    assert_eq!(shape("nehalem-ep-2s"), (16, 2, 1));
    assert_eq!(shape("altix-64"), (64, 32, 3));
    assert_eq!(shape("desktop-4"), (4, 1, 0));
    assert_eq!(shape("osv-4"), (4, 1, 0));
    assert_eq!(shape("osv-laptop"), (4, 1, 0));
    assert_eq!(shape("epyc-milan-2s"), (192, 2, 1));
    assert_eq!(shape("icelake-2s"), (128, 2, 1));
    assert_eq!(shape("sapphire-rapids-2s"), (224, 2, 1));
    assert_eq!(shape("graviton4"), (192, 2, 1));
    assert_eq!(shape("lockhammer-x86-2"), (48, 1, 0));
    assert_eq!(shape("lockhammer-x86-3"), (88, 2, 1));
    assert_eq!(shape("xeon-5320-2s"), (104, 2, 1));
    assert_eq!(shape("oracle-x5-4"), (144, 4, 1));
    assert_eq!(shape("xeon-6148-2s"), (40, 2, 1));
    assert_eq!(shape("core-i5-12500"), (12, 1, 0));
    assert_eq!(shape("epyc-9754-2s"), (512, 2, 1));
    assert_eq!(shape("mesh-1024"), (1024, 64, 14));
}

/// The engine does not divide by any of these, but a number that falls with distance is a slip in a file.
#[test]
fn nothing_is_nearer_when_it_is_farther() {
    for (name, _) in builtin() {
        let Machine { coherence, system, .. } = machine(name);
        let tables = [
            coherence.load_modified,
            coherence.load_shared,
            coherence.store_modified,
            coherence.store_shared,
            coherence.rmw_modified,
            coherence.rmw_shared,
            coherence.memory,
            system.ipi,
        ];
        for (index, table) in tables.iter().enumerate() {
            assert!(table.0.is_sorted(), "{name}: table {index}: {table:?}");
        }
    }
}

#[test]
fn numbers_arrive_as_the_facts_have_them() {
    let westmere = machine("westmere-ex-80");
    let cycles = |cycles: u64| (cycles as f64 / 2.13 * 1000.0).round() as u64;
    assert_eq!(westmere.coherence.load_modified.0, [109, 109, 109, 289, 400].map(cycles));
    assert_eq!(westmere.coherence.rmw_modified.at(Class::hops(2)), cycles(430));
    assert_eq!(westmere.coherence.protocol, Protocol::Mesif);
    assert_eq!(westmere.system.latency, 24_000_000_000);
    assert_eq!(westmere.system.on_cpu, OnCpuView::Exact);
    assert_eq!(westmere.system.idle_exit[1], IdleState { after: 80_000_000, exit: 20_000_000, ipi: None });
    assert_eq!(westmere.cpu.smt_permille, 1000);
    let milan = machine("epyc-milan-2s");
    assert_eq!(milan.coherence.rmw_modified.0, [9_800, 23_000, 107_000, 200_000]);
    assert_eq!(milan.coherence.memory.at(Class::SAME_NODE), 105_000);
    assert_eq!(milan.cpu.smt_permille, 1600);
    assert_eq!(machine("graviton4").coherence.rmw_modified.at(Class::hops(1)), 138_600);
    assert_eq!(machine("altix-64").coherence.line_bytes, 128);
    assert_eq!((machine("osv-4").system.idle_poll, westmere.system.idle_poll), (15_000_000, 0));
}

/// The distances of the file, restated: two hubs to a brick, four bricks to a router.
#[test]
fn altix_is_a_tree_of_routers() {
    let topology = machine("altix-64").topology;
    for a in 0..topology.nodes {
        for b in 0..topology.nodes {
            let hops = match () {
                () if a == b => 0,
                () if a / 2 == b / 2 => 1,
                () if a / 8 == b / 8 => 2,
                () => 3,
            };
            assert_eq!(topology.between_nodes(a, b), Class::hops(hops), "{a} to {b}");
        }
    }
}

#[test]
fn a_mesh_counts_columns_and_rows() {
    let topology = machine("mesh-1024").topology;
    for (a, b, hops) in [(0, 0, 0), (0, 1, 1), (0, 8, 1), (0, 9, 2), (7, 8, 8), (0, 63, 14), (63, 0, 14)] {
        assert_eq!(topology.between_nodes(a, b), Class::hops(hops), "{a} to {b}");
    }
}

#[test]
fn first_nodes_are_their_cpus() {
    let topology = machine("westmere-ex-80").topology;
    assert_eq!(topology.cpus_of_first_nodes(0), [0u32; 0]);
    assert_eq!(topology.cpus_of_first_nodes(1), (0..10).collect::<Vec<_>>());
    assert!(topology.cpus_of_first_nodes(4).iter().all(|&cpu| topology.node(cpu) < 4));
    assert_eq!(topology.cpus_of_first_nodes(4).len(), 40);
    assert_eq!(topology.cpus_of_first_nodes(99).len(), 80);
}

#[test]
fn fingerprints_tell_numbers_apart_and_nothing_else() {
    let original = parse(WESTMERE, "").expect("as it comes").fingerprint();
    let of = |from: &str, to: &str| {
        assert!(WESTMERE.contains(from), "{from}");
        parse(&WESTMERE.replacen(from, to, 1), "").unwrap_or_else(|e| panic!("{e}")).fingerprint()
    };
    assert_eq!(original.len(), 16);
    assert_eq!(of("title = \"8-socket", "title = \"eight-socket"), original);
    assert_eq!(of("source = \"HP", "source = \"Hewlett-Packard"), original);
    assert_eq!(of("name = \"westmere-ex-80\"", "name = \"here\""), original);
    for (from, to) in [
        ("cycles = 10,", "cycles = 11,"),
        ("hops = [289, 400]", "hops = [289, 401]"),
        ("protocol = \"mesif\"", "protocol = \"moesi\""),
        ("protocol = \"mesif\"", "protocol = \"mesif\"\nmigratory = true"),
        ("pause = {", "lookahead = { ns = 9, source = \"a test\" }\npause = {"),
        ("migration = true", "migration = false"),
        ("on_cpu = \"exact\"", "on_cpu = \"rseq\""),
        ("after_ns = 80_000", "after_ns = 80_001"),
        ("sockets = 8", "sockets = 4"),
    ] {
        assert_ne!(of(from, to), original, "{from} became {to}");
    }
    let mut all: Vec<_> = builtin().iter().map(|(name, _)| machine(name).fingerprint()).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), builtin().len());
}

/// Returns the example of the design page, which is to be a whole file.
fn example() -> &'static str {
    let page = include_str!("../../../docs/machine-files.md");
    let block = page.split("```").nth(1).and_then(|block| block.strip_prefix("toml\n"));
    block.expect("the page's first block is the example")
}

/// Reports of years ago must merge with today's. When a key joins those that the engine uses, this changes.
#[test]
fn a_fingerprint_stays() {
    let machine = parse(example(), "docs/machine-files.md").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(machine.fingerprint(), "11685d7e866832db");
}

/// A key that the page does not explain cannot be used.
#[test]
fn the_design_page_explains_each_key() {
    let page = include_str!("../../../docs/machine-files.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let tables = builtin().iter().map(|(_, text)| toml::from_str::<toml::Table>(text).expect("as it comes"));
    for (table, keys) in tables.flatten() {
        let names = keys.as_table().map(|keys| keys.keys().cloned().collect()).unwrap_or_else(|| vec![table.clone()]);
        for name in names {
            assert!(rows.iter().any(|row| row.contains(&format!("`{name}`"))), "no row for {table}.{name}");
        }
    }
    for (name, _) in builtin() {
        assert!(rows.iter().any(|row| row.starts_with(&format!("| `{name}` |"))), "no row for {name}");
    }
}

#[test]
fn provisional_numbers_are_named() {
    let machine = machine("westmere-ex-80");
    let provisional = machine.provisional();
    assert!(provisional.contains(&"coherence.load_modified") && provisional.contains(&"system.idle_exit[0]"));
    assert!(!provisional.contains(&"cpu.rmw_hit") && !provisional.contains(&"topology"));
}

/// The design page specifies these words, and only what was read or measured goes unmarked.
#[test]
fn provisional_sources_say_how_they_came_about() {
    for (name, _) in builtin() {
        for source in machine(name).sources {
            let words = ["recalled", "derived", "guessed"];
            let said = words.iter().any(|word| source.source.contains(word));
            assert_eq!(said, source.provisional, "{name}: {}: {}", source.key, source.source);
        }
    }
}

/// At the ends of its range a number is an end of it, and what is drawn with it has changed in proportion.
#[test]
fn numbers_are_drawn_from_their_ranges() {
    let drawn = |place: f64| turnwise_sim::spec::draw("westmere-ex-80", |_| place).expect("both ends are machines");
    let usual = machine("westmere-ex-80");
    let ns = |machine: &Machine, hops| machine.coherence.rmw_modified.at(Class::hops(hops)) as f64 / 1000.0;
    for (place, cycles) in [(0.0, 79.0), (1.0, 148.0)] {
        let machine = drawn(place);
        assert!((machine.coherence.rmw_modified.at(Class::SAME_NODE) as f64 / 1000.0 - cycles / 2.13).abs() < 0.01);
        assert!((ns(&machine, 2) / ns(&usual, 2) - cycles / 120.0).abs() < 1e-4);
        assert_eq!((&machine.topology, machine.system.syscall), (&usual.topology, usual.system.syscall));
    }
    assert_ne!(drawn(0.3).fingerprint(), usual.fingerprint());
}

#[test]
fn unknown_machines_list_the_known_ones() {
    let error = load("westmere").expect_err("no such machine").to_string();
    for (name, _) in builtin() {
        assert!(error.contains(name), "{error}");
    }
    for path in ["./no/such/file", "no-such-file.toml"] {
        let error = load(path).expect_err("no such file").to_string();
        assert!(error.starts_with(&format!("cannot read the machine file {path}: ")), "{error}");
    }
}

#[test]
fn other_bytes_than_utf_8_are_refused_with_their_line() {
    let path = std::env::temp_dir().join(format!("turnwise-{}.toml", std::process::id()));
    std::fs::write(&path, b"name = \"x\"\n# caf\xe9\n").expect("a file can be written");
    let error = load(path.to_str().expect("text")).expect_err("not text").to_string();
    std::fs::remove_file(&path).expect("it is there");
    assert!(error.ends_with(": line 2 is not valid UTF-8"), "{error}");
}

#[test]
fn files_load_by_path() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/machines/mesh-1024.toml");
    assert_eq!(load(path).unwrap_or_else(|e| panic!("{e}")), machine("mesh-1024"));
}

mod errors {
    use super::{MILAN, WESTMERE, parse, says, wrong};

    #[test]
    fn misspelt_keys() {
        says(WESTMERE, "load_hit", "laod_hit", "cpu.laod_hit", &["no such key", "did you mean `load_hit`?", "`pause`"]);
        says(WESTMERE, "[coherence]", "[coherense]", "coherense", &["did you mean `coherence`?", "`system`"]);
        says(WESTMERE, "cycles = 4", "cylces = 4", "cpu.load_hit.cylces", &["did you mean `cycles`?"]);
        says(WESTMERE, "migration = true", "zzz = 1", "system.zzz", &["no such key", "known here: "]);
        says(WESTMERE, "\"mesif\"", "\"mesi-f\"", "coherence.protocol", &["mesi-f", "did you mean `mesif`?"]);
        says(WESTMERE, "\"exact\"", "\"always\"", "system.on_cpu", &["`exact`, `rseq`, `unknown`"]);
    }

    #[test]
    fn missing_keys() {
        says(
            WESTMERE,
            ", source = \"7-cpu.com, Westmere-EP X5650: L1\"",
            "",
            "cpu.load_hit.source",
            &["missing", "where"],
        );
        says(WESTMERE, "unit = \"cycles\", ", "", "coherence.load_modified.unit", &["missing", "`unit = \"ns\"`"]);
        says(WESTMERE, "{ cycles = 4, ", "{ ", "cpu.load_hit", &["no number", "`ns = ...`"]);
        let error = wrong(WESTMERE, "[system]", "[system]\n[system.x]");
        assert!(error.key.starts_with("system"), "{error}");
        let error = wrong(WESTMERE, "line_bytes = 64\n", "");
        let table = WESTMERE.lines().position(|line| line == "[coherence]").map(|index| index + 1);
        assert_eq!((error.key.as_str(), error.line), ("coherence.line_bytes", table), "{error}");
        let error = parse("name = \"x\"\n", "short.toml").expect_err("nearly empty").to_string();
        assert!(error.contains("`title`: missing"), "{error}");
        let error = parse("", "empty.toml").expect_err("empty").to_string();
        assert!(error.contains("--> empty.toml:1:1") && error.contains("`name`: missing"), "{error}");
    }

    #[test]
    fn not_toml() {
        says(WESTMERE, "migration = true", "migration = tru", "", &["not TOML"]);
        says(WESTMERE, "migration = true", "migration = true true", "", &["not TOML"]);
        says(WESTMERE, "migration = true", "on_cpu = \"exact\"", "", &["not TOML", "duplicate"]);
    }

    #[test]
    fn values_of_the_wrong_kind() {
        says(WESTMERE, "sockets = 8", "sockets = -8", "topology.sockets", &["-8", "u32"]);
        says(WESTMERE, "sockets = 8", "sockets = 8.5", "topology.sockets", &["8.5", "u32"]);
        says(WESTMERE, "cycles = 4,", "cycles = \"4\",", "cpu.load_hit.cycles", &["string"]);
        says(WESTMERE, "migration = true", "migration = 1", "system.migration", &["bool"]);
        says(WESTMERE, "[0, 1, 2, 2, 2, 2, 2, 2]", "[0, 1, 2, 300, 2, 2, 2, 2]", "topology.hops[0][3]", &["300", "u8"]);
    }

    #[test]
    fn times_that_are_none() {
        says(WESTMERE, "cycles = 4,", "cycles = -4,", "cpu.load_hit", &["negative", "0 or more"]);
        says(WESTMERE, "cycles = 4,", "cycles = nan,", "cpu.load_hit", &["NaN"]);
        says(WESTMERE, "ns = 15,", "ns = inf,", "coherence.read_occupancy", &["finite"]);
        says(WESTMERE, "cycles = 4,", "cycles = 0,", "cpu.load_hit", &["zero", "above 0"]);
        says(WESTMERE, "cycles = 4,", "cycles = 1e-9,", "cpu.load_hit", &["zero"]);
        says(WESTMERE, "ns = 24_000_000", "ns = 1e300", "system.latency", &["absurdly long", "overflow"]);
        says(WESTMERE, "ns = 24_000_000", "ns = 9_000_000_000_000_000_000", "system.latency", &["absurdly long"]);
        says(WESTMERE, "cycles = 4,", "cycles = 4, ns = 2,", "cpu.load_hit", &["both `ns` and `cycles`"]);
        says(WESTMERE, "hops = [289, 400]", "hops = [289, -400]", "coherence.load_modified.hops[1]", &["negative"]);
        says(WESTMERE, "same_node = 109", "same_node = 0", "coherence.load_modified.same_node", &["zero"]);
    }

    #[test]
    fn times_that_may_be_nothing() {
        let (numbers, _) = WESTMERE.split_once("[[range]]").expect("the file has ranges");
        let text = numbers.replacen("ns = 15,", "ns = 0,", 1).replacen("same_node = 1600", "same_node = 0", 1);
        let machine = parse(&text, "").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((machine.coherence.read_occupancy, machine.system.ipi.0[2]), (0, 0));
    }

    #[test]
    fn clock_rates() {
        for rate in ["0", "-1", "nan", "inf", "2130"] {
            says(WESTMERE, "ghz = 2.13", &format!("ghz = {rate}"), "cpu.ghz", &["not a clock rate", "gigahertz"]);
        }
        let error = wrong(WESTMERE, "ghz = 2.13\n", "");
        assert!(error.key == "cpu.load_hit" && error.to_string().contains("add `ghz`"), "{error}");
    }

    #[test]
    fn sources_that_say_nothing() {
        says(WESTMERE, "\"7-cpu.com, Westmere-EP X5650: L1\"", "\" \"", "cpu.load_hit.source", &["empty"]);
        says(
            WESTMERE,
            "source = \"Intel documents for every QPI machine\"",
            "source = \"\"",
            "coherence.source",
            &["empty"],
        );
    }

    #[test]
    fn distances() {
        let row = "[0, 1, 2, 2, 2, 2, 2, 2]";
        says(WESTMERE, row, "[1, 1, 2, 2, 2, 2, 2, 2]", "topology.hops[0][0]", &["from itself", "0 on the diagonal"]);
        says(WESTMERE, row, "[0, 2, 2, 2, 2, 2, 2, 2]", "topology.hops[0][1]", &["2 hops from node 1, but 1 back"]);
        says(WESTMERE, row, "[0, 1, 2]", "topology.hops[0]", &["3 numbers for 8 nodes"]);
        says(WESTMERE, row, "[0, 0, 2, 2, 2, 2, 2, 2]", "topology.hops[0][1]", &["0 hops", "1 to 7"]);
        says(WESTMERE, row, "[0, 8, 2, 2, 2, 2, 2, 2]", "topology.hops[0][1]", &["8 hops", "1 to 7"]);
        let error = wrong(WESTMERE, "  [0, 1, 2, 2, 2, 2, 2, 2],\n", "");
        assert!(error.key == "topology.hops" && error.to_string().contains("7 rows for 8 nodes"), "{error}");
        let mesh = "mesh = [2, 3]\nsource = \"HP";
        let error = wrong(WESTMERE, "source = \"HP", mesh);
        assert!(error.key == "topology.mesh" && error.to_string().contains("both `hops` and `mesh`"), "{error}");
        says(MILAN, "hops = [[0, 1], [1, 0]]", "mesh = [2, 3]", "topology.mesh", &["2 columns and 3 rows for 2 nodes"]);
        says(MILAN, "hops = [[0, 1], [1, 0]]", "mesh = [4294967295, 2]", "topology.mesh", &["for 2 nodes"]);
        let error = wrong(MILAN, "hops = [[0, 1], [1, 0]]", "");
        assert!(error.key == "topology.hops" && error.to_string().contains("several nodes"), "{error}");
    }

    #[test]
    fn sizes() {
        says(WESTMERE, "nodes = 8", "nodes = 65", "topology.nodes", &["65 nodes", "room for 64"]);
        says(WESTMERE, "nodes = 8", "nodes = 0", "topology.nodes", &["zero"]);
        says(WESTMERE, "sockets = 8", "sockets = 3", "topology.sockets", &["3 sockets do not go with 8 nodes"]);
        for count in [600, u32::MAX] {
            let error = wrong(WESTMERE, "cores_per_cluster = 10", &format!("cores_per_cluster = {count}"));
            assert!(error.key == "topology" && error.to_string().contains("room for 4096"), "{error}");
        }
        for bytes in [0, 48, 4, 8192] {
            let line = format!("line_bytes = {bytes}");
            says(WESTMERE, "line_bytes = 64", &line, "coherence.line_bytes", &["not the size", "power of two"]);
        }
    }

    #[test]
    fn tables_that_do_not_fit_the_topology() {
        let key = "coherence.load_modified";
        says(WESTMERE, "hops = [289, 400]", "hops = [289]", &format!("{key}.hops"), &["1 given, 2 needed"]);
        says(WESTMERE, "hops = [289, 400]", "hops = [289, 400, 500]", &format!("{key}.hops"), &["3 given, 2 needed"]);
        says(WESTMERE, "hops = [289, 400], ", "", &format!("{key}.hops"), &["0 given, 2 needed"]);
        says(
            MILAN,
            "same_core = 9.8, ",
            "",
            &format!("{key}.same_core"),
            &["missing", "`topology.threads_per_core` is 2"],
        );
        says(MILAN, "same_cluster = 23, ", "", &format!("{key}.same_cluster"), &["`topology.clusters_per_node` is 6"]);
        says(
            MILAN,
            "memory = { same_node",
            "memory = { same_core = 1, same_node",
            "coherence.memory.same_core",
            &["not allowed here"],
        );
    }

    #[test]
    fn slowdowns() {
        let error = wrong(MILAN, "smt_slowdown", "#");
        assert!(error.key == "cpu.smt_slowdown" && error.to_string().contains("missing"), "{error}");
        for factor in ["0.5", "nan", "1000"] {
            let to = format!("factor = {factor}");
            says(MILAN, "factor = 1.6", &to, "cpu.smt_slowdown.factor", &["not a slowdown"]);
        }
    }

    #[test]
    fn idle_exits() {
        let key = "system.idle_exit";
        says(WESTMERE, "after_ns = 0,", "after_ns = 5,", &format!("{key}[0].after_ns"), &["does not start at 0"]);
        says(
            WESTMERE,
            "after_ns = 800_000",
            "after_ns = 80_000",
            &format!("{key}[2].after_ns"),
            &["not above", "sort"],
        );
        says(WESTMERE, "ns = 75_000", "ns = 7_500", &format!("{key}[2]"), &["shorter than"]);
        says(WESTMERE, "after_ns = 80_000", "after_ns = nan", &format!("{key}[1].after_ns"), &["NaN"]);
        says(
            WESTMERE,
            "after_ns = 80_000,",
            "after_ns = 80_000, ipi_ns = -1,",
            &format!("{key}[1].ipi_ns"),
            &["negative"],
        );
        let start = WESTMERE.find("idle_exit").expect("it has one");
        let error = parse(&format!("{}idle_exit = []\n", &WESTMERE[..start]), "test.toml").expect_err("empty list");
        assert!(error.key == key && error.to_string().contains("list at least"), "{error}");
    }

    #[test]
    fn calls() {
        let short = "wait_call = { ns = 1, source = \"x\" }\nsyscall = {";
        says(WESTMERE, "syscall = {", short, "system.wait_call", &["shorter than `system.syscall`"]);
    }

    #[test]
    fn schedulers() {
        says(WESTMERE, "latency = { ns = 24_000_000", "latency = { ns = 1", "system.latency", &["min_granularity"]);
        says(
            WESTMERE,
            "min_granularity = { ns = 3_000_000",
            "min_granularity = { ns = 0",
            "system.min_granularity",
            &["zero"],
        );
    }

    #[test]
    fn ranges() {
        let range = |to, key, words: &[&str]| says(WESTMERE, "within = [79, 148]", to, key, words);
        range("within = [130, 148]", "range[0].within", &["does not contain the number itself, 120"]);
        range("within = [148, 79]", "range[0].within", &["148 to 79 is not a range"]);
        range("within = [-1, 148]", "range[0].within", &["-1 to 148 is not a range"]);
        let memory = "[\"coherence.memory\"]";
        says(WESTMERE, memory, "[\"coherence.memmory\"]", "range[1].of[0]", &["no number of this file"]);
        says(WESTMERE, memory, "[\"coherence.memory\", \"coherence.rmw_shared\"]", "range[1].of", &["in two ranges"]);
        let error = wrong(WESTMERE, memory, "[]");
        assert!(error.key == "range[1].within" && error.to_string().contains("nothing that can be scaled"), "{error}");
        let error = wrong(WESTMERE, "  \"coherence.store_shared\",\n", "");
        assert!(error.key == "coherence.store_shared" && error.to_string().contains("in no range"), "{error}");
    }

    #[test]
    fn names() {
        for name in ["", "Westmere", "a b", "../x"] {
            says(WESTMERE, "\"westmere-ex-80\"", &format!("{name:?}"), "name", &["not a name", "epyc-milan-2s"]);
        }
        let error = wrong(WESTMERE, "title = \"8-socket", "title = \"8-socket\\n");
        assert_eq!(error.key, "title", "{error}");
    }

    /// Whatever is cut off or overwritten: an answer, never a panic.
    #[test]
    fn damage_is_reported() {
        let cuts: Vec<usize> = (0..MILAN.len()).step_by(13).filter(|&end| MILAN.is_char_boundary(end)).collect();
        let refused = cuts.iter().filter(|&&end| parse(&MILAN[..end], "cut.toml").is_err()).count();
        assert!(refused > cuts.len() * 9 / 10, "{refused} of {}", cuts.len());
        for at in (0..MILAN.len()).step_by(13) {
            let mut bytes = MILAN.as_bytes().to_vec();
            bytes[at] = b"0-[]{\"=."[at % 8];
            if let Err(error) = parse(&String::from_utf8_lossy(&bytes), "overwritten.toml") {
                let text = error.to_string();
                let said = |before: &str| text.split_once(before).is_some_and(|(_, said)| !said.trim().is_empty());
                assert!(said("error: ") && said("= help: "), "{text}");
            }
        }
    }
}
