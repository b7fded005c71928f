//! Which CPUs there are, and how far they are apart.

/// How far two CPUs, or a CPU and a node, are apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Class(pub u8);

impl Class {
    /// Two hardware threads of one core, or one thread and itself.
    pub const SAME_CORE: Class = Class(0);
    /// Two cores that share a last-level cache which is smaller than the node.
    pub const SAME_CLUSTER: Class = Class(1);
    /// Two cores of a node.
    pub const SAME_NODE: Class = Class(2);

    /// Returns the class of two nodes this number of hops apart.
    #[must_use]
    pub const fn hops(hops: u8) -> Class {
        Class(2 + hops)
    }

    /// Returns the distance in a word or two: what both are in, or the hops.
    #[must_use]
    pub fn name(self) -> String {
        match self.0 {
            near @ 0..3 => ["core", "cluster", "node"][usize::from(near)].to_owned(),
            3 => "1 hop".to_owned(),
            more => format!("{} hops", more - 2),
        }
    }
}

/// The machine's CPUs, numbered node by node, cluster by cluster, core by core, thread by thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    /// Packages.
    pub sockets: u32,
    /// Memory nodes in all; at most 64.
    pub nodes: u32,
    /// Groups of cores in a node that share a last-level cache.
    pub clusters_per_node: u32,
    /// Cores of a cluster.
    pub cores_per_cluster: u32,
    /// Hardware threads of a core.
    pub threads_per_core: u32,
    /// Hops between nodes, row by row: 0 on the diagonal, symmetric.
    pub hops: Vec<u8>,
}

impl Topology {
    /// Returns the number of all CPUs: hardware threads.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.nodes * self.cpus_per_node()
    }

    /// Returns the number of CPUs of a node.
    #[must_use]
    pub fn cpus_per_node(&self) -> u32 {
        self.clusters_per_node * self.cores_per_cluster * self.threads_per_core
    }

    /// Returns the CPUs of the first `nodes` nodes, as `numactl --cpunodebind` leaves them to a program. The machine
    /// stays as it is. With more nodes than exist: all.
    #[must_use]
    pub fn cpus_of_first_nodes(&self, nodes: u32) -> Vec<u32> {
        (0..nodes.min(self.nodes) * self.cpus_per_node()).collect()
    }

    /// Hops between the nodes that are farthest apart.
    #[must_use]
    pub fn farthest(&self) -> u8 {
        self.hops.iter().copied().max().unwrap_or(0)
    }

    /// Returns the node of a CPU.
    #[inline]
    #[must_use]
    pub fn node(&self, cpu: u32) -> u32 {
        cpu / self.cpus_per_node()
    }

    /// Returns the core of a CPU, numbered over the whole machine.
    #[inline]
    #[must_use]
    pub fn core(&self, cpu: u32) -> u32 {
        cpu / self.threads_per_core
    }

    /// Returns the cluster of a CPU, numbered over the whole machine.
    #[inline]
    #[must_use]
    pub fn cluster(&self, cpu: u32) -> u32 {
        cpu / (self.cores_per_cluster * self.threads_per_core)
    }

    /// Returns how far two nodes are apart.
    #[inline]
    #[must_use]
    pub fn between_nodes(&self, a: u32, b: u32) -> Class {
        Class::hops(self.hops[(a * self.nodes + b) as usize])
    }

    /// Returns how far two CPUs are apart.
    #[inline]
    #[must_use]
    pub fn between(&self, a: u32, b: u32) -> Class {
        if self.core(a) == self.core(b) {
            Class::SAME_CORE
        } else if self.cluster(a) == self.cluster(b) {
            Class::SAME_CLUSTER
        } else {
            self.between_nodes(self.node(a), self.node(b))
        }
    }
}
