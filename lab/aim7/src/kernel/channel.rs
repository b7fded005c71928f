//! Pipes and sockets, each used by one process for both ends, as AIM7's jobs do.

use super::tasks::Apart;
use super::{Owned, charge, costs, quietly};
use crate::jobs::Channel;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::Lock;
use turnwise_sim::Sim;
use turnwise_simbench::Simulated;
use turnwise_vfs::{Host, LockSet, Work};

/// Buckets of the table of ports.
const PORT_BUCKETS: usize = 16;

/// What all pipes and sockets share.
pub struct Net<L: LockSet<Sim>> {
    /// The number of inodes without a file system. They are on no list (Linux 3.10, `new_inode_pseudo`).
    inodes: AtomicU64,
    /// Ports that are bound, by the port's last bits.
    ports: [Apart<Lock<L::Spin, u64>>; PORT_BUCKETS],
}

impl<L: LockSet<Sim>> Net<L> {
    pub(super) fn new() -> Self {
        let ports = std::array::from_fn(|_| Apart(Lock::new_in(0)));
        Net { inodes: AtomicU64::new(0), ports }
    }

    /// Pipes and sockets that are open.
    pub fn open(&self) -> u64 {
        self.inodes.load(Relaxed)
    }

    fn port(&self, pid: u32, add: bool) {
        let mut bound = quietly(|| self.ports[pid as usize % PORT_BUCKETS].0.lock());
        charge(costs::PORT);
        *bound = bound.wrapping_add_signed(if add { 1 } else { -1 });
    }
}

/// A pipe, a pair of sockets, or a connection: what one end writes, the other reads.
pub struct Socket<L: LockSet<Sim>> {
    kind: Channel,
    /// The process that made it; its port follows from that.
    pid: u32,
    ends: Owned<Ends<L>>,
}

/// What has been sent and not received, oldest first.
type Messages = VecDeque<Box<[u8]>>;

struct Ends<L: LockSet<Sim>> {
    /// Of a pipe: its inode's mutex and its buffer.
    pipe: Lock<L::Mutex, VecDeque<u8>>,
    /// Of sockets: the lock of the sending end.
    sender: Apart<Lock<L::Spin, u64>>,
    /// The queue of the receiving end.
    queue: Apart<Lock<L::Spin, Messages>>,
}

impl<L: LockSet<Sim>> Socket<L> {
    /// Opens both ends.
    #[must_use]
    pub fn open(net: &Net<L>, kind: Channel, pid: u32) -> Self {
        charge(costs::CHANNEL);
        net.inodes.fetch_add(inodes(kind), Relaxed);
        if has_port(kind) {
            net.port(pid, true);
        }
        let (sender, queue) = (Apart(Lock::new_in(0)), Apart(Lock::new_in(VecDeque::new())));
        Socket { kind, pid, ends: Owned::new(Ends { pipe: Lock::new_in(VecDeque::new()), sender, queue }) }
    }

    /// Closes both ends.
    pub fn close(self, net: &Net<L>) {
        if has_port(self.kind) {
            net.port(self.pid, false);
        }
        net.inodes.fetch_sub(inodes(self.kind), Relaxed);
    }

    /// Writes a message at one end and reads it at the other, into the same memory; returns how many bytes arrived.
    pub fn pass(&self, message: &mut [u8]) -> usize {
        match self.kind {
            Channel::Pipe | Channel::Fifo => self.through_pipe(message),
            _ => self.through_sockets(message),
        }
    }

    fn through_pipe(&self, message: &mut [u8]) -> usize {
        {
            let mut buffer = self.ends.pipe.lock();
            charge(costs::MESSAGE);
            copied(message.len());
            buffer.extend(&*message);
        }
        let mut buffer = self.ends.pipe.lock();
        charge(costs::MESSAGE);
        copied(message.len());
        let arrived = buffer.len().min(message.len());
        for (to, from) in message.iter_mut().zip(buffer.drain(..arrived)) {
            *to = from;
        }
        arrived
    }

    fn through_sockets(&self, message: &mut [u8]) -> usize {
        copied(message.len());
        let copy = Box::from(&*message);
        *quietly(|| self.ends.sender.0.lock()) += 1;
        charge(if has_port(self.kind) { costs::NETWORK } else { costs::MESSAGE });
        {
            let mut queue = quietly(|| self.ends.queue.0.lock());
            charge(costs::MESSAGE);
            queue.push_back(copy);
        }
        let arrived = {
            let mut queue = quietly(|| self.ends.queue.0.lock());
            charge(costs::MESSAGE);
            queue.pop_front().unwrap_or_default()
        };
        if self.kind == Channel::Tcp {
            // What arrived is acknowledged.
            *quietly(|| self.ends.sender.0.lock()) += 1;
        }
        copied(arrived.len());
        message[..arrived.len()].copy_from_slice(&arrived);
        arrived.len()
    }
}

#[track_caller]
fn copied(bytes: usize) {
    Simulated::charge(Work::Kib(bytes.div_ceil(1024) as u32));
}

fn has_port(kind: Channel) -> bool {
    matches!(kind, Channel::Udp | Channel::Tcp)
}

/// Returns how many inodes it has.
fn inodes(kind: Channel) -> u64 {
    match kind {
        Channel::Fifo => 0,
        Channel::Pipe => 1,
        _ => 2,
    }
}
