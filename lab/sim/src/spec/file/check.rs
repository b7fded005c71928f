//! From a file's types to the machine, every number checked.

use super::error::Fault;
use super::numbers::{Numbers, Zero};
use super::{Cost, Factor, IdleExit, MachineFile, Table, topology};
use crate::spec::{Coherence, Cpu, Machine, SPREAD_PERMILLE, System, Topology};

/// Smallest and largest cache line: a word of ours, and larger than any that was built.
const LINE_BYTES: std::ops::RangeInclusive<u32> = 8..=4096;

impl MachineFile {
    pub(super) fn check(&self) -> Result<Machine, Fault> {
        names(&self.name, &self.title)?;
        let topology = topology::check(&self.topology)?;
        let mut numbers = Numbers::new(self.cpu.ghz)?;
        numbers.note("topology", &self.topology.source, self.topology.provisional)?;
        numbers.add_topology(&self.topology, &topology);
        let cpu = self.cpu.check(&mut numbers, &topology)?;
        let coherence = self.coherence.check(&mut numbers, &topology)?;
        let system = self.system.check(&mut numbers, &topology)?;
        let (name, title, ranges) = (self.name.clone(), self.title.clone(), self.ranges.clone());
        let Numbers { sources, entries, .. } = numbers;
        Ok(Machine { name, title, topology, coherence, cpu, system, sources, entries, ranges })
    }
}

fn names(name: &str, title: &str) -> Result<(), Fault> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let wrong = name.is_empty() || !name.chars().all(fits);
    let remedy = "use lower case letters, digits and hyphens, as in `epyc-milan-2s`";
    Fault::when(wrong, "name", format!("{name:?} is not a name"), remedy)?;
    let wrong = title.trim().is_empty() || title.contains(['\n', '\r']);
    Fault::when(wrong, "title", "not one line", "say in one line what machine it is")
}

impl Cpu<Cost, Option<Cost>, Option<Factor>> {
    fn check(&self, numbers: &mut Numbers, topology: &Topology) -> Result<Cpu, Fault> {
        numbers.note("cpu", &self.source, self.provisional)?;
        Ok(Cpu {
            ghz: self.ghz,
            source: self.source.clone(),
            provisional: self.provisional,
            load_hit: numbers.cost("cpu.load_hit", &self.load_hit, Zero::Refused)?,
            store_hit: numbers.cost("cpu.store_hit", &self.store_hit, Zero::Refused)?,
            rmw_hit: numbers.cost("cpu.rmw_hit", &self.rmw_hit, Zero::Refused)?,
            pause: numbers.cost("cpu.pause", &self.pause, Zero::Refused)?,
            clock: numbers.cost("cpu.clock", &self.clock, Zero::Refused)?,
            lookahead: numbers.optional("cpu.lookahead", self.lookahead.as_ref(), 0)?,
            store_buffer: true,
            smt_permille: numbers.slowdown(
                "cpu.smt_slowdown",
                self.smt_permille.as_ref(),
                topology.threads_per_core,
            )?,
        })
    }
}

impl Coherence<Table, Cost> {
    fn check(&self, numbers: &mut Numbers, topology: &Topology) -> Result<Coherence, Fault> {
        let wrong = !self.line_bytes.is_power_of_two() || !LINE_BYTES.contains(&self.line_bytes);
        let problem = format!("{} is not the size of a cache line", self.line_bytes);
        let remedy = format!("give a power of two from {} to {}", LINE_BYTES.start(), LINE_BYTES.end());
        Fault::when(wrong, "coherence.line_bytes", problem, remedy)?;
        numbers.note("coherence", &self.source, self.provisional)?;
        let (migratory, bits) = if self.migratory { (", migratory", &[1][..]) } else { ("", &[][..]) };
        let bits = [&[self.protocol as u64], bits].concat();
        numbers.add("coherence.protocol", format!("{:?}{migratory}", self.protocol).to_lowercase(), bits);
        let line = self.line_bytes;
        numbers.add("coherence.line_bytes", format!("{line} bytes"), vec![line.into()]);
        let mut table = |name: &str, table| numbers.table(&format!("coherence.{name}"), table, topology, Zero::Refused);
        Ok(Coherence {
            source: self.source.clone(),
            provisional: self.provisional,
            protocol: self.protocol,
            migratory: self.migratory,
            line_bytes: self.line_bytes,
            load_modified: table("load_modified", &self.load_modified)?,
            load_shared: table("load_shared", &self.load_shared)?,
            store_modified: table("store_modified", &self.store_modified)?,
            store_shared: table("store_shared", &self.store_shared)?,
            rmw_modified: table("rmw_modified", &self.rmw_modified)?,
            rmw_shared: table("rmw_shared", &self.rmw_shared)?,
            memory: numbers.node_table("coherence.memory", &self.memory, topology)?,
            read_occupancy: numbers.cost("coherence.read_occupancy", &self.read_occupancy, Zero::Fine)?,
            spread_permille: SPREAD_PERMILLE,
        })
    }
}

impl System<Table, Cost, Option<Cost>, IdleExit> {
    fn check(&self, numbers: &mut Numbers, topology: &Topology) -> Result<System, Fault> {
        numbers.note("system", &self.source, self.provisional)?;
        numbers.add("system.on_cpu", format!("{:?}", self.on_cpu).to_lowercase(), vec![self.on_cpu as u64]);
        let migration = if self.migration { "yes" } else { "no" };
        numbers.add("system.migration", migration.to_owned(), vec![self.migration.into()]);
        let syscall = numbers.cost("system.syscall", &self.syscall, Zero::Refused)?;
        let system = System {
            source: self.source.clone(),
            provisional: self.provisional,
            syscall,
            context_switch: numbers.cost("system.context_switch", &self.context_switch, Zero::Fine)?,
            wake: numbers.cost("system.wake", &self.wake, Zero::Fine)?,
            ipi: numbers.table("system.ipi", &self.ipi, topology, Zero::Fine)?,
            yield_call: numbers.cost("system.yield_call", &self.yield_call, Zero::Refused)?,
            latency: numbers.cost("system.latency", &self.latency, Zero::Refused)?,
            min_granularity: numbers.cost("system.min_granularity", &self.min_granularity, Zero::Refused)?,
            wakeup_granularity: numbers.cost("system.wakeup_granularity", &self.wakeup_granularity, Zero::Fine)?,
            wait_call: numbers.optional("system.wait_call", self.wait_call.as_ref(), syscall)?,
            slice_jitter: numbers.optional("system.slice_jitter", self.slice_jitter.as_ref(), 0)?,
            idle_poll: numbers.optional("system.idle_poll", self.idle_poll.as_ref(), 0)?,
            idle_deepens: numbers.deepens(self.idle_deepens),
            idle_exit: numbers.idle_exits("system.idle_exit", &self.idle_exit)?,
            migration: self.migration,
            on_cpu: self.on_cpu,
        };
        let (wrong, problem) = (system.wait_call < system.syscall, "shorter than `system.syscall`");
        let remedy = "give at least the same: it is a call that also reads the word";
        Fault::when(wrong, "system.wait_call", problem, remedy)?;
        let (wrong, problem) = (system.latency < system.min_granularity, "shorter than `system.min_granularity`");
        let remedy = "give at least the same: a thread alone with one other runs for half of it";
        Fault::when(wrong, "system.latency", problem, remedy).map(|()| system)
    }
}
