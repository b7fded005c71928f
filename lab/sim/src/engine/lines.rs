//! Cache lines: who has a copy, who gets the next one, and when.
//!
//! Each line has a directory entry at its home, which serves requests in the order of their arrival. A transfer has
//! three legs of equal length: from the requester to the home, from the home to the owner (or to the sharers, to
//! invalidate their copies), and from there to the requester. What the home itself answers, out of memory or its copy,
//! has two. The first leg is the request's *travel*; a request that then waits has it behind it. A transfer of a line
//! that a cache has modified, or that is to be written, occupies the entry from its start to its end, as the home cannot
//! serve the next before it knows that ownership has moved; a read of a line that caches share occupies it for a moment
//! only. Where the protocol refuses requests to a line in transfer ([`Busy::Nack`]), they come again after a round trip.
//! Caches never evict.
//!
//! | owner | sharers | state of the caches |
//! |---|---|---|
//! | none | none | nobody has it: memory answers |
//! | a CPU | none | that CPU has it modified, or alone |
//! | none | some | they have it shared |
//!
//! Invariant 1: an owner excludes sharers (one writer or many readers).
//!
//! The entry is ahead of the caches: as a request is served, it names the new owner. The one before keeps the line until
//! the home's call reaches it, one leg later. In that time it can try a failed exchange once more, or write a second
//! word of the line, as on hardware.

use crate::spec::{Busy, ByClass, Class, Coherence, Machine, Protocol, Ps};
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

/// A directory entry, on a line of the host's.
#[repr(align(64))]
pub(crate) struct Line {
    /// The CPU that has the line modified or alone.
    owner: u32,
    /// The CPU that answers reads of a shared line.
    forwarder: u32,
    /// The node of its memory: that of who touched it first.
    home: u32,
    /// Nodes in which CPUs share it.
    nodes: u64,
    /// Until then the entry is busy with those who came before.
    busy_until: Ps,
    /// Until then the line is in transfer.
    moves_until: Ps,
    /// CPUs that spin on it.
    pub(crate) watchers: Vec<u32>,
    /// It was written, and the watchers' requests are on the way.
    pub(crate) refill: bool,
    /// When that was.
    written: Ps,
    /// What makes each watcher's moment of noticing differ, from write to write.
    salt: u64,
}

/// A miss as things stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Miss {
    pub(crate) latency: Ps,
    /// How much of it passes until the request is at the home.
    pub(crate) travel: Ps,
    /// Where the line comes from, if it comes from another cache.
    pub(crate) from: Option<Class>,
}

/// A CPU that watches a line, and reads it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) cpu: u32,
    /// Whether what it will read ends its wait.
    pub(crate) ready: bool,
    /// When its request arrives: what orders the readers. Those before the write is done wait for it.
    pub(crate) arrives: Ps,
}

/// What a served request costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) done: Ps,
    /// Where the line came from, if it came from another cache.
    pub(crate) from: Option<Class>,
}

/// Where a CPU is: what the topology computes by division, once for all.
#[derive(Clone, Copy)]
struct CpuPosition {
    core: u32,
    cluster: u32,
    node: u32,
}

/// A line that a CPU owned, and until when it has it although the entry names another.
#[derive(Clone, Copy)]
struct Tenure {
    line: u32,
    until: Ps,
}

/// The directory.
pub(crate) struct Lines {
    machine: Arc<Machine>,
    places: Vec<CpuPosition>,
    /// The last line that was taken from each CPU.
    tenures: Vec<Tenure>,
    /// How far nodes are apart, row by row.
    between_nodes: Vec<Class>,
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
        let place = |c| CpuPosition { core: topology.core(c), cluster: topology.cluster(c), node: topology.node(c) };
        let places: Vec<CpuPosition> = (0..topology.cpus()).map(place).collect();
        let tenures = vec![Tenure { line: NOBODY, until: 0 }; places.len()];
        let nodes = 0..topology.nodes;
        let between_nodes = nodes.clone().flat_map(|a| nodes.clone().map(move |b| (a, b)));
        let between_nodes = between_nodes.map(|(a, b)| topology.between_nodes(a, b)).collect();
        Lines { places, tenures, between_nodes, entries: Vec::new(), sharers: Vec::new(), stride, chance, machine }
    }

    #[inline]
    pub(crate) fn node(&self, cpu: u32) -> u32 {
        self.places[cpu as usize].node
    }

    #[inline]
    fn nodes_apart(&self, a: u32, b: u32) -> Class {
        self.between_nodes[(a * self.machine.topology.nodes + b) as usize]
    }

    #[inline]
    fn apart(&self, a: u32, b: u32) -> Class {
        let (a, b) = (self.places[a as usize], self.places[b as usize]);
        if a.core == b.core {
            Class::SAME_CORE
        } else if a.cluster == b.cluster {
            Class::SAME_CLUSTER
        } else {
            self.nodes_apart(a.node, b.node)
        }
    }

    /// Makes entries up to this line, whose memory is on `home`.
    pub(crate) fn create(&mut self, line: u32, home: u32) {
        while self.entries.len() <= line as usize {
            let watchers = Vec::new();
            let (owner, forwarder) = (NOBODY, NOBODY);
            let (busy_until, moves_until, written) = (0, 0, 0);
            let (nodes, refill, salt) = (0, false, 0);
            self.entries.push(Line {
                owner,
                forwarder,
                home,
                nodes,
                busy_until,
                moves_until,
                watchers,
                refill,
                written,
                salt,
            });
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

    /// The cost, if this CPU's copy will do.
    #[inline(always)]
    pub(crate) fn hit(&self, line: u32, cpu: u32, op: Op, now: Ps) -> Option<Ps> {
        let tenure = &self.tenures[cpu as usize];
        let owned = (tenure.line == line && now < tenure.until) || self.entries[line as usize].owner == cpu;
        match op {
            Op::Load if owned || self.shares(line, cpu) => Some(self.machine.cpu.load_hit),
            Op::Store if owned => Some(self.machine.cpu.store_hit),
            Op::Rmw if owned => Some(self.machine.cpu.rmw_hit),
            _ => None,
        }
    }

    /// How far the way of a request is that `holder` answers: by the line's home, unless it stays within the node.
    fn class(&self, line: u32, cpu: u32, holder: u32) -> Class {
        let direct = self.apart(cpu, holder);
        if direct <= Class::SAME_NODE {
            return direct;
        }
        direct.max(self.nodes_apart(self.node(cpu), self.entries[line as usize].home))
    }

    /// Who answers a read of a shared line, and how far away.
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
            Protocol::Mesif | Protocol::Moesi => self.class(line, cpu, entry.forwarder),
        }
    }

    /// Whether a CPU of the own cluster has a copy, where clusters are smaller than nodes.
    fn cluster_shares(&self, line: u32, cpu: u32) -> bool {
        let topology = &self.machine.topology;
        if topology.clusters_per_node == 1 {
            return false;
        }
        let size = topology.cores_per_cluster * topology.threads_per_core;
        let first = self.places[cpu as usize].cluster * size;
        (first..first + size).any(|other| self.shares(line, other))
    }

    /// The farthest cache with a copy, beside the own.
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

    fn modified(&self, op: Op) -> &ByClass {
        let Coherence { load_modified, store_modified, rmw_modified, .. } = &self.machine.coherence;
        match op {
            Op::Load => load_modified,
            Op::Store => store_modified,
            Op::Rmw => rmw_modified,
        }
    }

    /// A miss of this CPU as things stand.
    pub(crate) fn miss(&self, line: u32, cpu: u32, op: Op) -> Miss {
        let entry = &self.entries[line as usize];
        let costs = &self.machine.coherence;
        if entry.owner != NOBODY {
            let class = self.class(line, cpu, entry.owner);
            return three_legs(self.modified(op).at(class), class);
        }
        if entry.nodes == 0 {
            let latency = costs.memory.at(self.nodes_apart(self.node(cpu), entry.home));
            return Miss { latency, travel: latency / 2, from: None };
        }
        let (table, class) = match op {
            Op::Load => {
                let class = self.reader_class(line, cpu);
                let latency = costs.load_shared.at(class);
                return Miss { latency, travel: latency / 2, from: Some(class) };
            }
            Op::Store => (&costs.store_shared, self.farthest_sharer(line, cpu)),
            Op::Rmw => (&costs.rmw_shared, self.farthest_sharer(line, cpu)),
        };
        three_legs(table.at(class) + self.further_invalidations(line, cpu), class)
    }

    /// What it takes longer to invalidate all copies than to invalidate one.
    fn further_invalidations(&self, line: u32, cpu: u32) -> Ps {
        let each = self.machine.coherence.invalidate_per_sharer;
        if each == 0 {
            return 0;
        }
        Ps::from(self.caches_with_copies(line, cpu).saturating_sub(1)) * each
    }

    /// How many clusters have copies, or single CPUs of the own cluster: a directory knows no more of the others.
    fn caches_with_copies(&self, line: u32, cpu: u32) -> u32 {
        let topology = &self.machine.topology;
        let size = topology.cores_per_cluster * topology.threads_per_core;
        let own = self.places[cpu as usize].cluster;
        let of_own = (own * size..(own + 1) * size).filter(|&other| other != cpu && self.shares(line, other));
        let nodes = self.entries[line as usize].nodes;
        if topology.clusters_per_node == 1 {
            return of_own.count().min(1) as u32 + (nodes & !(1 << own)).count_ones();
        }
        let shared = |cluster: u32| (cluster * size..(cluster + 1) * size).any(|other| self.shares(line, other));
        let per_node = topology.clusters_per_node;
        let clusters = (0..topology.nodes).filter(|node| nodes >> node & 1 != 0);
        let clusters = clusters.flat_map(|node| node * per_node..(node + 1) * per_node);
        of_own.count().min(1) as u32 + clusters.filter(|&cluster| cluster != own && shared(cluster)).count() as u32
    }

    /// A latency as it is this time.
    fn vary(&mut self, latency: Ps) -> Ps {
        let most = latency * Ps::from(self.machine.coherence.spread_permille) / 1000;
        if most == 0 { latency } else { latency - most + self.chance.u64(0..=2 * most) }
    }

    /// Serves a request that arrives `now` after `travel` on the way; or says when it comes again.
    pub(crate) fn serve(&mut self, line: u32, cpu: u32, op: Op, now: Ps, travel: Ps) -> Result<Served, Ps> {
        if let Some(cost) = self.hit(line, cpu, op, now) {
            return Ok(Served { done: now + cost, from: None }); // another of its requests was faster
        }
        if self.refuses(line, now) {
            return Err(now + self.vary(2 * travel).max(1));
        }
        let Miss { latency, travel: leg, from } = self.miss(line, cpu, op);
        let latency = self.vary(latency);
        let shared_read = op == Op::Load && self.entries[line as usize].nodes != 0;
        let read_occupancy = self.machine.coherence.read_occupancy;
        let entry = &mut self.entries[line as usize];
        let start = entry.busy_until.max(now);
        let done = start + latency - travel.min(leg).min(latency);
        if shared_read {
            entry.busy_until = start + read_occupancy;
        } else {
            (entry.busy_until, entry.moves_until) = (done, done);
        }
        if entry.owner != NOBODY {
            self.tenures[entry.owner as usize] = Tenure { line, until: start + leg };
        }
        match op {
            Op::Load => self.hand_copy(line, cpu),
            Op::Store | Op::Rmw => self.hand_over(line, cpu),
        }
        Ok(Served { done, from })
    }

    /// Whether the home turns away a request that arrives now.
    fn refuses(&self, line: u32, now: Ps) -> bool {
        self.machine.coherence.busy == Busy::Nack && self.entries[line as usize].moves_until > now
    }

    /// `cpu` gets the line for itself.
    pub(crate) fn hand_over(&mut self, line: u32, cpu: u32) {
        self.forget_sharers(line);
        self.entries[line as usize].owner = cpu;
    }

    /// `cpu` gets a copy.
    fn hand_copy(&mut self, line: u32, cpu: u32) {
        let entry = &mut self.entries[line as usize];
        if entry.owner == NOBODY && entry.nodes == 0 {
            entry.owner = cpu; // alone
            return;
        }
        let last = std::mem::replace(&mut entry.owner, NOBODY);
        match self.machine.coherence.protocol {
            Protocol::Moesi if last == NOBODY => {} // who wrote it last still answers
            Protocol::Moesi => entry.forwarder = last,
            Protocol::Mesi | Protocol::Mesif => entry.forwarder = cpu,
        }
        if last != NOBODY {
            self.add_sharer(line, last);
        }
        self.add_sharer(line, cpu);
    }

    /// The line was written `now`. When the first of the watchers' reads arrives.
    pub(crate) fn call_watchers(&mut self, line: u32, now: Ps) -> Ps {
        let salt = self.chance.u64(..);
        let entry = &mut self.entries[line as usize];
        (entry.refill, entry.written, entry.salt) = (true, now, salt);
        let watchers = std::mem::take(&mut entry.watchers);
        let first = self.readers(line, &watchers).map(|reader| reader.arrives).min().unwrap_or(now);
        self.entries[line as usize].watchers = watchers;
        first.max(now)
    }

    /// The reads of these watchers: an invalidation goes to each, one after another, and a request comes back when the
    /// spin loop notices it, after its pause. The write was done when the last had answered.
    pub(crate) fn readers(&self, line: u32, watchers: &[u32]) -> impl Iterator<Item = Reader> {
        let Line { home, written, salt, moves_until, .. } = self.entries[line as usize];
        let leg = move |cpu: u32| self.machine.coherence.load_modified.at(self.nodes_apart(self.node(cpu), home)) / 3;
        let farthest = watchers.iter().map(|&cpu| leg(cpu)).max().unwrap_or(0);
        let nodes = watchers.iter().fold(0_u64, |nodes, &cpu| nodes | 1 << self.node(cpu)).count_ones();
        let caches = watchers.len().min((nodes * self.machine.topology.clusters_per_node) as usize) as Ps;
        let calls = caches.saturating_sub(1) * self.machine.coherence.invalidate_per_sharer;
        let (pause, nack) = (self.machine.cpu.pause, self.machine.coherence.busy == Busy::Nack);
        watchers.iter().map(move |&cpu| {
            let round_trip = 2 * leg(cpu);
            let called = round_trip + up_to(calls, !salt, cpu);
            let mut arrives = (written + called + up_to(pause, salt, cpu)).saturating_sub(2 * farthest + calls);
            if nack && arrives < moves_until {
                arrives += (moves_until - arrives).div_ceil(round_trip.max(1)) * round_trip.max(1);
            }
            Reader { cpu, ready: false, arrives }
        })
    }

    /// Serves reads of those who watch a line, in the order of their arrival: the first takes it from whoever has it,
    /// the others follow at the occupancy of a read. Calls `served` for each, with the time at which it has its copy,
    /// and with where that comes from, unless it had one before. Whoever is ready may write the line again before the
    /// last have read it: the time at which to go on with those, if there are any.
    pub(crate) fn refill(
        &mut self,
        line: u32,
        readers: &mut Vec<Reader>,
        now: Ps,
        mut served: impl FnMut(Reader, Option<Class>, Ps),
    ) -> Option<Ps> {
        readers.sort_unstable_by_key(|reader| (reader.arrives, reader.cpu));
        let occupancy = self.machine.coherence.read_occupancy;
        let (soon, last) = (now + self.machine.cpu.load_hit, self.entries[line as usize].busy_until);
        // Reads that stand in line behind the write that calls them: the copies are on the way, or there.
        let mut behind = readers.len() as Ps;
        readers.retain(|reader| {
            let copy = self.hit(line, reader.cpu, Op::Load, now).is_some();
            behind -= 1;
            if copy {
                served(*reader, None, soon.max(last.saturating_sub(behind * occupancy)));
            }
            !copy
        });
        match readers.first()?.arrives {
            first if first > now => Some(first),
            _ => self.read_in_turn(line, readers, now, served),
        }
    }

    fn read_in_turn(
        &mut self,
        line: u32,
        readers: &[Reader],
        now: Ps,
        mut served: impl FnMut(Reader, Option<Class>, Ps),
    ) -> Option<Ps> {
        let (leader, others) = readers.split_first()?;
        let travel = self.miss(line, leader.cpu, Op::Load).travel;
        let (done, from) = match self.serve(line, leader.cpu, Op::Load, now, travel) {
            Ok(Served { done, from }) => (done, from),
            Err(again) => return Some(again),
        };
        served(*leader, from, done);
        if !others.is_empty() {
            self.share(line, leader.cpu);
        }
        let mut free = self.entries[line as usize].busy_until;
        // When the next request of one that is ready may arrive.
        let mut closes = if leader.ready { done + travel } else { Ps::MAX };
        let mut postponed = None;
        for reader in others {
            if reader.ready && reader.arrives > free.min(closes) {
                postponed = postponed.or(Some(reader.arrives));
                continue;
            }
            let class = self.reader_class(line, reader.cpu).max(Class::SAME_CLUSTER);
            let done = free.max(reader.arrives) + self.machine.coherence.load_shared.at(class) / 2;
            if reader.arrives <= free {
                free += self.machine.coherence.read_occupancy;
            }
            if reader.ready {
                closes = closes.min(done + travel);
            }
            served(*reader, Some(class), done);
            self.add_sharer(line, reader.cpu);
        }
        let entry = &mut self.entries[line as usize];
        entry.busy_until = entry.busy_until.max(free);
        postponed
    }

    /// Whoever has the line alone has it as a sharer from now on; `reader` answers if nobody else does.
    fn share(&mut self, line: u32, reader: u32) {
        let entry = &mut self.entries[line as usize];
        let owner = std::mem::replace(&mut entry.owner, NOBODY);
        if entry.forwarder == NOBODY {
            entry.forwarder = reader;
        }
        if owner != NOBODY {
            self.add_sharer(line, owner);
        }
    }

    /// The invariant, for tests.
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

/// A transfer by way of the home and of whoever has the line.
fn three_legs(latency: Ps, class: Class) -> Miss {
    Miss { latency, travel: latency / 3, from: Some(class) }
}

/// A time up to `most`, different for each CPU and for each salt.
fn up_to(most: Ps, salt: u64, cpu: u32) -> Ps {
    let mixed = (salt ^ u64::from(cpu)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32;
    (mixed * (most + 1)) >> 32
}

#[cfg(test)]
mod tests;
