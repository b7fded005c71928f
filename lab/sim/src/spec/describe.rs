//! A machine for people, as numbers with their sources; and as a fingerprint.

use super::{ByClass, Class, IdleState, Machine, OnCpuView, Protocol, Ps, Topology};

/// One number of a machine, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Number<'a> {
    /// Its key in the file.
    pub key: String,
    /// The number, times in nanoseconds.
    pub text: String,
    /// Where it comes from.
    pub source: &'a str,
    /// Whether it is recalled or guessed.
    pub provisional: bool,
}

/// The content of one key of the file.
struct Entry {
    key: String,
    /// The value as people read it.
    text: String,
    /// The numbers themselves, for the fingerprint.
    bits: Vec<u64>,
}

impl Entry {
    fn new(key: &str, text: String, bits: Vec<u64>) -> Entry {
        Entry { key: key.to_owned(), text, bits }
    }

    fn time(key: &str, time: Ps) -> Entry {
        Entry::new(key, format!("{} ns", ns(time)), vec![time])
    }

    fn times(key: &str, times: &ByClass, topology: &Topology, nearest: Class) -> Entry {
        let shown = |(class, time): (usize, &Ps)| {
            let label = label(class, topology)?;
            (class >= usize::from(nearest.0)).then(|| format!("{label} {}", ns(*time)))
        };
        let text: Vec<String> = times.0.iter().enumerate().filter_map(shown).collect();
        Entry::new(key, format!("{} ns", text.join(", ")), times.0.clone())
    }
}

/// Returns the name of a class, if this machine has such a distance.
fn label(class: usize, topology: &Topology) -> Option<String> {
    match class {
        0 => (topology.threads_per_core > 1).then(|| "core".to_owned()),
        1 => (topology.clusters_per_node > 1).then(|| "cluster".to_owned()),
        2 => Some("node".to_owned()),
        3 => Some("1 hop".to_owned()),
        more => Some(format!("{} hops", more - 2)),
    }
}

/// Formats picoseconds as nanoseconds, with all their decimals.
fn ns(time: Ps) -> String {
    let (whole, rest) = (time / super::NS, time % super::NS);
    let text = format!("{whole}.{rest:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Machine {
    /// Returns the keys of the numbers that are recalled or guessed, in the order of the file.
    #[must_use]
    pub fn provisional(&self) -> Vec<&str> {
        self.sources.iter().filter(|source| source.provisional).map(|source| source.key.as_str()).collect()
    }

    /// Returns a hash of all numbers, 16 hexadecimal digits: the same on every host, with every compiler, for files
    /// that differ in names, sources, units and comments only.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hash = Fnv::new();
        for entry in self.entries() {
            hash.write(entry.key.as_bytes());
            hash.write(&(entry.bits.len() as u64).to_le_bytes());
            entry.bits.iter().for_each(|bits| hash.write(&bits.to_le_bytes()));
        }
        format!("{:016x}", hash.0)
    }

    /// Returns every number with its source, in the order of the file.
    #[must_use]
    pub fn numbers(&self) -> Vec<Number<'_>> {
        let number = |entry: Entry| {
            let source = self.source_of(&entry.key);
            Number {
                key: entry.key,
                text: entry.text,
                source: source.map_or("", |source| source.source.as_str()),
                provisional: source.is_some_and(|source| source.provisional),
            }
        };
        self.entries().into_iter().map(number).collect()
    }

    fn source_of(&self, key: &str) -> Option<&super::Source> {
        let exact = self.sources.iter().find(|source| source.key == key);
        let group = key.split('.').next().unwrap_or(key);
        exact.or_else(|| self.sources.iter().find(|source| source.key == group))
    }

    /// Returns all that the engine uses, in the order of the file.
    fn entries(&self) -> Vec<Entry> {
        let mut entries = topology(&self.topology);
        entries.extend(self.cpu_entries());
        entries.extend(self.coherence_entries());
        entries.extend(self.system_entries());
        entries
    }

    fn cpu_entries(&self) -> Vec<Entry> {
        let cpu = &self.cpu;
        let mut entries = vec![
            Entry::time("cpu.load_hit", cpu.load_hit),
            Entry::time("cpu.store_hit", cpu.store_hit),
            Entry::time("cpu.rmw_hit", cpu.rmw_hit),
            Entry::time("cpu.pause", cpu.pause),
            Entry::time("cpu.clock", cpu.clock),
        ];
        if cpu.lookahead > 0 {
            entries.push(Entry::time("cpu.lookahead", cpu.lookahead));
        }
        if self.topology.threads_per_core > 1 {
            let text = format!("{} times", f64::from(cpu.smt_permille) / 1000.0);
            entries.push(Entry::new("cpu.smt_slowdown", text, vec![u64::from(cpu.smt_permille)]));
        }
        entries
    }

    fn coherence_entries(&self) -> Vec<Entry> {
        let costs = &self.coherence;
        let table = |key, times| Entry::times(key, times, &self.topology, Class::SAME_CORE);
        let line = u64::from(costs.line_bytes);
        let protocol = costs.protocol.name();
        // A separate hash for what most files leave out; the hash of all others stays.
        let (text, bits) = match costs.migratory {
            true => (format!("{protocol}, migratory"), vec![costs.protocol as u64, 1]),
            false => (protocol.to_owned(), vec![costs.protocol as u64]),
        };
        vec![
            Entry::new("coherence.protocol", text, bits),
            Entry::new("coherence.line_bytes", format!("{line} bytes"), vec![line]),
            table("coherence.load_modified", &costs.load_modified),
            table("coherence.load_shared", &costs.load_shared),
            table("coherence.store_modified", &costs.store_modified),
            table("coherence.store_shared", &costs.store_shared),
            table("coherence.rmw_modified", &costs.rmw_modified),
            table("coherence.rmw_shared", &costs.rmw_shared),
            Entry::times("coherence.memory", &costs.memory, &self.topology, Class::SAME_NODE),
            Entry::time("coherence.read_occupancy", costs.read_occupancy),
        ]
    }

    fn system_entries(&self) -> Vec<Entry> {
        let system = &self.system;
        let migration = if system.migration { "yes" } else { "no" };
        let mut entries = vec![
            Entry::new("system.on_cpu", system.on_cpu.name().to_owned(), vec![system.on_cpu as u64]),
            Entry::new("system.migration", migration.to_owned(), vec![u64::from(system.migration)]),
            Entry::time("system.syscall", system.syscall),
            Entry::time("system.context_switch", system.context_switch),
            Entry::time("system.wake", system.wake),
            Entry::times("system.ipi", &system.ipi, &self.topology, Class::SAME_CORE),
            Entry::time("system.yield_call", system.yield_call),
            Entry::time("system.latency", system.latency),
            Entry::time("system.min_granularity", system.min_granularity),
            Entry::time("system.wakeup_granularity", system.wakeup_granularity),
        ];
        if system.wait_call != system.syscall {
            entries.push(Entry::time("system.wait_call", system.wait_call));
        }
        if system.slice_jitter > 0 {
            entries.push(Entry::time("system.slice_jitter", system.slice_jitter));
        }
        if system.idle_poll > 0 {
            entries.push(Entry::time("system.idle_poll", system.idle_poll));
        }
        if system.idle_deepens {
            entries.push(Entry::new("system.idle_deepens", "true".to_owned(), vec![1]));
        }
        entries.extend(system.idle_exit.iter().enumerate().map(|(index, &IdleState { after, exit, ipi })| {
            let sent = ipi.map_or_else(String::new, |ipi| format!(", {} ns to interrupt", ns(ipi)));
            let text = format!("{} ns after {} ns idle{sent}", ns(exit), ns(after));
            Entry::new(&format!("system.idle_exit[{index}]"), text, [after, exit].into_iter().chain(ipi).collect())
        }));
        entries
    }
}

fn topology(topology: &Topology) -> Vec<Entry> {
    let count = |key, count: u32| Entry::new(key, count.to_string(), vec![u64::from(count)]);
    let hops = topology.hops.iter().map(|&hops| u64::from(hops)).collect();
    let farthest = format!("{} at most", topology.farthest());
    vec![
        count("topology.sockets", topology.sockets),
        count("topology.nodes", topology.nodes),
        count("topology.clusters_per_node", topology.clusters_per_node),
        count("topology.cores_per_cluster", topology.cores_per_cluster),
        count("topology.threads_per_core", topology.threads_per_core),
        Entry::new("topology.hops", farthest, hops),
    ]
}

impl Protocol {
    /// Returns the name that machine files use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Mesi => "mesi",
            Protocol::Mesif => "mesif",
            Protocol::Moesi => "moesi",
        }
    }
}

impl OnCpuView {
    /// Returns the name that machine files use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OnCpuView::Exact => "exact",
            OnCpuView::Rseq => "rseq",
            OnCpuView::Unknown => "unknown",
        }
    }
}

/// FNV-1a, 64 bits. Fingerprints are compared across programs and years, which std's hasher does not guarantee; they
/// are not forged, so that a cryptographic hash would be a needless dependency.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fnv, ns};

    #[test]
    fn hashes_as_published() {
        // Vectors of draft-eastlake-fnv, appendix C.
        for (text, expected) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut hash = Fnv::new();
            hash.write(text.as_bytes());
            assert_eq!(hash.0, expected, "{text:?}");
        }
    }

    #[test]
    fn nanoseconds_have_as_many_decimals_as_needed() {
        assert_eq!([0, 5, 1000, 9390, 100_000].map(ns), ["0", "0.005", "1", "9.39", "100"]);
    }
}
