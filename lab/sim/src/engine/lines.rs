//! Cache lines: which CPUs have a copy, which gets the next one, and when.
//!
//! Each line has a directory entry at its home. A request travels there for half of its latency; the entry serves
//! requests in order of arrival. A transfer of a line that a cache has modified, or that is to be written, occupies the
//! entry for its whole latency, since ownership must have moved before the next can be served; a read of a line that
//! caches share occupies it only for a moment. Caches never evict.
//!
//! | owner | sharers | state of the caches |
//! |---|---|---|
//! | none | none | no cache has it: memory answers |
//! | a CPU | none | that CPU has it modified, or alone |
//! | none | some | they have it shared |
//!
//! Invariant 1: an owner excludes sharers (one writer or many readers).
//!
//! The entry is ahead of the caches: as a request is served, it names the new owner, which gets the line only after all
//! those before. A CPU that has just got a line for which others are already queued keeps it until the home's call
//! reaches it, which is then on its way: for up to a quarter of the next transfer's latency, drawn at random, its
//! *tenure*. In that time it can retry a failed exchange once, or write a second word of the line, as on hardware.
//! Without tenures a loop around a compare-exchange succeeds once in as many transfers as there are CPUs; with them
//! about every other time.

use crate::spec::{Class, Machine, Protocol, Ps, Topology};
use std::sync::Arc;

/// What is done to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Load,
    Store,
    /// A locked read-modify-write, successful or not.
    Rmw,
}

pub(crate) const NOBODY: u32 = u32::MAX;

/// A directory entry, on one line of the host.
#[repr(align(64))]
pub(crate) struct Line {
    /// The CPU that has the line modified or alone.
    owner: u32,
    /// The CPU that answers reads of a shared line.
    forwarder: u32,
    /// The CPU that was served last.
    last: u32,
    /// The node of its memory: that of the CPU that touched it first.
    home: u32,
    /// Whether the owner has written it since it got it.
    modified: bool,
    /// Nodes in which CPUs share it.
    nodes: u64,
    /// Until then the entry is busy with earlier requests.
    busy_until: Ps,
    /// CPUs that spin on it.
    pub(crate) watchers: Vec<u32>,
    /// It was written, and the watchers' requests are on the way.
    pub(crate) refill: bool,
}

/// The cost of a served request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) done: Ps,
    /// Where the line came from, if it came from another cache.
    pub(crate) from: Option<Class>,
}

/// A CPU that watched a line and whose wait is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Winner {
    pub(crate) cpu: u32,
    /// Its place among all readers of the line.
    pub(crate) place: u32,
    /// When it has its copy.
    pub(crate) at: Ps,
}

/// Where a CPU is, as the topology computes it by division: the numbers of its node, its cluster and its core. So the
/// lowest bit in which two positions differ shows how far apart they are.
#[derive(Clone, Copy)]
struct CpuPosition(u64);

/// Bits of [`CpuPosition`] for the core, and the same number above them for the cluster.
const NUMBER: u32 = 24;

impl CpuPosition {
    fn new(topology: &Topology, cpu: u32) -> CpuPosition {
        let (node, cluster, core) = (topology.node(cpu), topology.cluster(cpu), topology.core(cpu));
        debug_assert!(cluster < 1 << NUMBER && core < 1 << NUMBER && node < 1 << (64 - 2 * NUMBER));
        CpuPosition(u64::from(node) << (2 * NUMBER) | u64::from(cluster) << NUMBER | u64::from(core))
    }

    #[inline]
    fn node(self) -> u32 {
        (self.0 >> (2 * NUMBER)) as u32
    }

    #[inline]
    fn cluster(self) -> u32 {
        (self.0 >> NUMBER) as u32 & ((1 << NUMBER) - 1)
    }
}

/// A line that a CPU got, and until when it has it although the entry names another.
#[derive(Clone, Copy)]
struct Tenure {
    line: u32,
    until: Ps,
    exclusive: bool,
}

/// What accesses cost, by their [`Op`], where the tables of the machine are one table.
struct Costs {
    hits: [Ps; 3],
    /// A row for each operation on modified lines, one on shared lines, and one for memory: each has all classes.
    misses: Vec<Ps>,
    classes: usize,
}

impl Costs {
    const MODIFIED: usize = 0;
    const SHARED: usize = 3;
    const MEMORY: usize = 6;

    fn new(machine: &Machine) -> Costs {
        let (c, cpu) = (&machine.coherence, &machine.cpu);
        let rows = [
            &c.load_modified,
            &c.store_modified,
            &c.rmw_modified,
            &c.load_shared,
            &c.store_shared,
            &c.rmw_shared,
            &c.memory,
        ];
        let last = Class::hops(machine.topology.farthest()).0;
        let misses = rows.iter().flat_map(|row| (0..=last).map(|class| row.at(Class(class)))).collect();
        Costs { hits: [cpu.load_hit, cpu.store_hit, cpu.rmw_hit], misses, classes: usize::from(last) + 1 }
    }

    #[inline]
    fn of(&self, row: usize, class: Class) -> Ps {
        self.misses[row * self.classes + usize::from(class.0)]
    }
}

/// The directory.
pub(crate) struct Lines {
    machine: Arc<Machine>,
    costs: Costs,
    places: Vec<CpuPosition>,
    /// The last line that each CPU was served.
    tenures: Vec<Tenure>,
    /// How far nodes are apart, row by row.
    between_nodes: Vec<Class>,
    nodes: u32,
    entries: Vec<Line>,
    /// For each line the CPUs that share it, [`Lines::stride`] words each.
    sharers: Vec<u64>,
    stride: usize,
    chance: fastrand::Rng,
}

impl Lines {
    pub(crate) fn new(machine: Arc<Machine>, chance: fastrand::Rng) -> Lines {
        let topology = &machine.topology;
        let stride = topology.cpus().div_ceil(64) as usize;
        let places: Vec<CpuPosition> = (0..topology.cpus()).map(|cpu| CpuPosition::new(topology, cpu)).collect();
        let tenures = vec![Tenure { line: NOBODY, until: 0, exclusive: false }; places.len()];
        let nodes = topology.nodes;
        let between_nodes = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
        let between_nodes = between_nodes.map(|(a, b)| topology.between_nodes(a, b)).collect();
        let (entries, sharers) = (Vec::new(), Vec::new());
        let costs = Costs::new(&machine);
        Lines { costs, places, tenures, between_nodes, nodes, entries, sharers, stride, chance, machine }
    }

    #[inline]
    pub(crate) fn node(&self, cpu: u32) -> u32 {
        self.places[cpu as usize].node()
    }

    #[inline(always)]
    fn nodes_apart(&self, a: u32, b: u32) -> Class {
        self.between_nodes[(a * self.nodes + b) as usize]
    }

    #[inline(always)]
    fn apart(&self, a: u32, b: u32) -> Class {
        let (a, b) = (self.places[a as usize], self.places[b as usize]);
        let differ = a.0 ^ b.0;
        let (nodes, within) = (self.nodes_apart(a.node(), b.node()), Class(u8::from(differ != 0)));
        if differ >> NUMBER == 0 { within } else { nodes }
    }

    /// Makes entries up to this line, whose memory is on `home`.
    pub(crate) fn create(&mut self, line: u32, home: u32) {
        while self.entries.len() <= line as usize {
            let watchers = Vec::new();
            let (owner, forwarder, last) = (NOBODY, NOBODY, NOBODY);
            let (nodes, busy_until, modified, refill) = (0, 0, false, false);
            self.entries.push(Line { owner, forwarder, last, home, modified, nodes, busy_until, watchers, refill });
            self.sharers.resize(self.entries.len() * self.stride, 0);
        }
    }

    #[inline]
    pub(crate) fn entry(&mut self, line: u32) -> &mut Line {
        &mut self.entries[line as usize]
    }

    #[inline]
    fn shares(&self, line: u32, cpu: u32) -> bool {
        self.entries[line as usize].nodes != 0
            && self.sharers[line as usize * self.stride + (cpu >> 6) as usize] >> (cpu & 63) & 1 != 0
    }

    fn add_sharer(&mut self, line: u32, cpu: u32) {
        self.sharers[line as usize * self.stride + (cpu >> 6) as usize] |= 1 << (cpu & 63);
        self.entries[line as usize].nodes |= 1 << self.node(cpu);
    }

    fn forget_sharers(&mut self, line: u32) {
        let nodes = &mut self.entries[line as usize].nodes;
        if std::mem::take(nodes) != 0 {
            let start = line as usize * self.stride;
            self.sharers[start..start + self.stride].fill(0);
        }
    }

    /// Marks the line as written by its owner.
    #[inline]
    pub(crate) fn modify(&mut self, line: u32) {
        self.entries[line as usize].modified = true;
    }

    /// Returns the cost, if this CPU's copy suffices.
    #[inline(always)]
    pub(crate) fn hit(&self, line: u32, cpu: u32, op: Op, now: Ps) -> Option<Ps> {
        let cost = self.costs.hits[op as usize];
        let owned = self.entries[line as usize].owner == cpu || self.keeps(line, cpu, op, now);
        (owned || op == Op::Load && self.shares(line, cpu)).then_some(cost)
    }

    /// Returns whether this CPU still has the line, although the entry names another owner.
    #[inline(always)]
    fn keeps(&self, line: u32, cpu: u32, op: Op, now: Ps) -> bool {
        let tenure = &self.tenures[cpu as usize];
        tenure.line == line && now < tenure.until && (tenure.exclusive || op == Op::Load)
    }

    /// Returns the distance of a request that `holder` answers: by the line's home, unless it stays in the node.
    #[inline(always)]
    fn class(&self, line: u32, cpu: u32, holder: u32) -> Class {
        let direct = self.apart(cpu, holder);
        // Both are computed, so that nothing has to be predicted.
        let by_home = direct.max(self.nodes_apart(self.node(cpu), self.entries[line as usize].home));
        if direct <= Class::SAME_NODE { direct } else { by_home }
    }

    /// Returns who answers a read of a shared line, and how far away.
    fn reader_class(&self, line: u32, cpu: u32) -> Class {
        let entry = &self.entries[line as usize];
        if self.cluster_shares(line, cpu) {
            return Class::SAME_CLUSTER;
        }
        let node = self.node(cpu);
        if entry.nodes >> node & 1 != 0 {
            return Class::SAME_NODE;
        }
        match self.machine.coherence.protocol {
            Protocol::Mesi => self.nodes_apart(node, entry.home),
            Protocol::Mesif | Protocol::Moesi => match (entry.forwarder, entry.owner) {
                (NOBODY, NOBODY) => self.nodes_apart(node, entry.home),
                // The first of several simultaneous readers had the line to itself.
                (NOBODY, owner) => self.class(line, cpu, owner),
                (forwarder, _) => self.class(line, cpu, forwarder),
            },
        }
    }

    /// Returns whether a CPU of the same cluster has a copy, where clusters are smaller than nodes.
    fn cluster_shares(&self, line: u32, cpu: u32) -> bool {
        let topology = &self.machine.topology;
        if topology.clusters_per_node == 1 {
            return false;
        }
        let size = topology.cores_per_cluster * topology.threads_per_core;
        let first = self.places[cpu as usize].cluster() * size;
        (first..first + size).any(|other| self.shares(line, other))
    }

    /// Returns the farthest cache with a copy, other than its own.
    fn farthest_sharer(&self, line: u32, cpu: u32) -> Class {
        let entry = &self.entries[line as usize];
        let node = self.node(cpu);
        let mut others = entry.nodes & !(1 << node);
        if others == 0 {
            return Class::SAME_NODE;
        }
        let mut farthest = self.nodes_apart(node, entry.home);
        while others != 0 {
            farthest = farthest.max(self.nodes_apart(node, others.trailing_zeros()));
            others &= others - 1;
        }
        farthest
    }

    /// Returns the latency of a miss as things stand, and where the line comes from.
    #[inline]
    pub(crate) fn latency(&self, line: u32, cpu: u32, op: Op) -> (Ps, Option<Class>) {
        let entry = &self.entries[line as usize];
        if entry.owner != NOBODY {
            let class = self.class(line, cpu, entry.owner);
            return (self.costs.of(Costs::MODIFIED + op as usize, class), Some(class));
        }
        if entry.nodes == 0 {
            return (self.costs.of(Costs::MEMORY, self.nodes_apart(self.node(cpu), entry.home)), None);
        }
        let class = match op {
            Op::Load => self.reader_class(line, cpu),
            Op::Store | Op::Rmw => self.farthest_sharer(line, cpu),
        };
        (self.costs.of(Costs::SHARED + op as usize, class), Some(class))
    }

    /// Varies a latency for this access.
    fn vary(&mut self, latency: Ps) -> Ps {
        let most = latency * Ps::from(self.machine.coherence.spread_permille) / 1000;
        if most == 0 { latency } else { latency - most + self.chance.u64(0..=2 * most) }
    }

    /// Serves a request that arrives `now` after `travel` on the way.
    pub(crate) fn serve(&mut self, line: u32, cpu: u32, op: Op, now: Ps, travel: Ps) -> Served {
        if let Some(cost) = self.hit(line, cpu, op, now) {
            self.entries[line as usize].modified |= op != Op::Load;
            return Served { done: now + cost, from: None }; // another of its requests was faster
        }
        let (latency, from) = self.latency(line, cpu, op);
        let latency = self.vary(latency);
        let shared_read = op == Op::Load && self.entries[line as usize].nodes != 0;
        let read_occupancy = self.machine.coherence.read_occupancy;
        let entry = &mut self.entries[line as usize];
        let rest = latency - travel.min(latency / 2);
        let done = if entry.busy_until <= now {
            now + rest
        } else {
            let last = std::mem::replace(&mut entry.last, NOBODY);
            if last != NOBODY && last != cpu && self.tenures[last as usize].line == line {
                self.tenures[last as usize].until = entry.busy_until + self.chance.u64(0..=latency / 4);
            }
            entry.busy_until + if shared_read { rest } else { latency }
        };
        entry.last = cpu;
        entry.busy_until = if shared_read { entry.busy_until.max(now) + read_occupancy } else { done };
        self.tenures[cpu as usize] = Tenure { line, until: 0, exclusive: op != Op::Load };
        match op {
            Op::Load => self.hand_copy(line, cpu),
            Op::Store | Op::Rmw => self.hand_over(line, cpu),
        }
        Served { done, from }
    }

    /// Gives `cpu` the line exclusively.
    pub(crate) fn hand_over(&mut self, line: u32, cpu: u32) {
        self.forget_sharers(line);
        let entry = &mut self.entries[line as usize];
        (entry.owner, entry.modified) = (cpu, true);
    }

    /// Gives `cpu` a copy, or the line as a whole: see [`crate::spec::Coherence::migratory`].
    fn hand_copy(&mut self, line: u32, cpu: u32) {
        let migrates = self.machine.coherence.migratory;
        let entry = &mut self.entries[line as usize];
        let alone = entry.owner == NOBODY && entry.nodes == 0;
        if alone || migrates && entry.owner != NOBODY && entry.modified {
            (entry.owner, entry.modified) = (cpu, false);
            return;
        }
        let last = std::mem::replace(&mut entry.owner, NOBODY);
        match self.machine.coherence.protocol {
            Protocol::Moesi if last == NOBODY => {} // the last writer still answers
            Protocol::Moesi => entry.forwarder = last,
            Protocol::Mesi | Protocol::Mesif => entry.forwarder = cpu,
        }
        if last != NOBODY {
            self.add_sharer(line, last);
        }
        self.add_sharer(line, cpu);
    }

    /// Serves the reads of all watchers of a line, which arrive at about the same time: the first takes it from its
    /// present holder, the others follow at the occupancy of a read. The `winners` get the times at which they have
    /// their copies; for the others nothing else happens. `all_hit`: their present copies suffice.
    pub(crate) fn refill(&mut self, line: u32, watchers: &[u32], all_hit: bool, winners: &mut [Winner], now: Ps) {
        let leader = winners.iter().find(|w| w.place == 0).map_or(watchers[0], |w| w.cpu);
        let occupancy = self.machine.coherence.read_occupancy;
        let count = watchers.len() as Ps;
        if all_hit {
            // Their reads are queued behind the write that triggers them: the copies are on the way, or there.
            let (last, soon) = (self.entries[line as usize].busy_until, now + self.machine.cpu.load_hit);
            let copy = |place: u32| last.saturating_sub((count - 1 - Ps::from(place)) * occupancy);
            return winners.iter_mut().for_each(|winner| winner.at = soon.max(copy(winner.place)));
        }
        let first = self.serve(line, leader, Op::Load, now, Ps::MAX).done;
        if count > 1 && self.machine.coherence.migratory {
            self.share(line);
            self.entries[line as usize].forwarder = leader;
        }
        for winner in winners {
            winner.at = first;
            if winner.place > 0 {
                let class = self.reader_class(line, winner.cpu).max(Class::SAME_CLUSTER);
                let way = self.machine.coherence.load_shared.at(class) / 2;
                winner.at += Ps::from(winner.place - 1) * occupancy + way;
            }
        }
        self.add_watchers(line, watchers);
        let entry = &mut self.entries[line as usize];
        if entry.forwarder == NOBODY {
            entry.forwarder = leader;
        }
        entry.busy_until = entry.busy_until.max(first + (count - 1) * occupancy);
    }

    /// Makes the owner of a line, if it has one, one of its sharers.
    fn share(&mut self, line: u32) {
        let entry = &mut self.entries[line as usize];
        let owner = std::mem::replace(&mut entry.owner, NOBODY);
        if owner != NOBODY {
            self.add_sharer(line, owner);
        }
    }

    /// Notes that all watchers of a line have read it. A single one may have got it as a whole.
    fn add_watchers(&mut self, line: u32, watchers: &[u32]) {
        if !self.machine.coherence.migratory || watchers != [self.entries[line as usize].owner] {
            self.share(line);
            watchers.iter().for_each(|&cpu| self.add_sharer(line, cpu));
        }
    }

    /// Returns half the distance of the request of the CPU nearest to the line.
    pub(crate) fn nearest(&self, line: u32) -> Ps {
        let entry = &self.entries[line as usize];
        let way = |&cpu: &u32| self.latency(line, cpu, Op::Load).0 / 2;
        // The nearest of many is about as near as the nearest of some.
        entry.watchers.iter().take(16).map(way).min().unwrap_or(0)
    }

    /// Returns where `cpu` gets its copy from, for the count of transfers.
    pub(crate) fn source(&self, line: u32, cpu: u32) -> Class {
        self.latency(line, cpu, Op::Load).1.unwrap_or(Class::SAME_NODE)
    }

    /// Checks the invariant, for tests.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (number, entry) in self.entries.iter().enumerate() {
            let start = number * self.stride;
            let copies: u32 = self.sharers[start..start + self.stride].iter().map(|word| word.count_ones()).sum();
            if entry.owner != NOBODY && copies != 0 {
                return Err(format!("line {number} has an owner and {copies} copies"));
            }
            let sharers = (0..self.places.len() as u32).filter(|&cpu| self.shares(number as u32, cpu));
            if sharers.fold(0, |nodes, cpu| nodes | 1 << self.node(cpu)) != entry.nodes {
                return Err(format!("line {number}: its nodes are not those of its copies"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
