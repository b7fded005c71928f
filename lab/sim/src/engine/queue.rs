//! What happens next.

use crate::spec::Ps;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something that happens at a time. Those with a generation are void if their CPU or thread has moved on since.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The thread of this CPU goes on: its operation is done.
    Resume { cpu: u32, generation: u32 },
    /// The request of this CPU for a line arrives there.
    Arrive { cpu: u32 },
    /// The request of a store in this CPU's buffer arrives at its line.
    StoreArrives { cpu: u32, number: u32 },
    /// The line of a store in this CPU's buffer has come.
    StoreDone { cpu: u32, number: u32 },
    /// The requests of all who watch this line, which was written, arrive there.
    Refill { line: u32 },
    /// This CPU, which was idle, looks for a thread.
    Dispatch { cpu: u32 },
    /// This CPU has switched to its thread.
    Started { cpu: u32 },
    /// The thread of this CPU has had its share.
    Slice { cpu: u32, generation: u32 },
    /// The thread's time to sleep is over.
    Alarm { thread: u32, generation: u32 },
    /// A thing that the owner of the simulation wants done.
    Action { index: u32 },
}

/// [`What`] in one word, so that the host moves it in a register: a copy of an enum is read in other widths than it
/// was written in, for which the CPU waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packed(u64);

/// Bits for what happens, below those for a CPU or a thread, which are below those for a generation or a number.
const KIND_BITS: u32 = 4;
/// What a CPU's or a thread's number is below.
const NUMBERS: u32 = 1 << (32 - KIND_BITS);

impl Packed {
    #[inline]
    fn new(what: What) -> Packed {
        let (kind, who, number) = match what {
            What::Resume { cpu, generation } => (0, cpu, generation),
            What::Arrive { cpu } => (1, cpu, 0),
            What::StoreArrives { cpu, number } => (2, cpu, number),
            What::StoreDone { cpu, number } => (3, cpu, number),
            What::Refill { line } => (4, 0, line),
            What::Dispatch { cpu } => (5, cpu, 0),
            What::Started { cpu } => (6, cpu, 0),
            What::Slice { cpu, generation } => (7, cpu, generation),
            What::Alarm { thread, generation } => (8, thread, generation),
            What::Action { index } => (9, 0, index),
        };
        debug_assert!(who < NUMBERS, "machines have fewer CPUs, simulations fewer threads");
        Packed(kind | u64::from(who) << KIND_BITS | u64::from(number) << 32)
    }

    #[inline(always)]
    pub(crate) fn what(self) -> What {
        let (who, number) = (self.0 as u32 >> KIND_BITS, (self.0 >> 32) as u32);
        match self.0 & ((1 << KIND_BITS) - 1) {
            0 => What::Resume { cpu: who, generation: number },
            1 => What::Arrive { cpu: who },
            2 => What::StoreArrives { cpu: who, number },
            3 => What::StoreDone { cpu: who, number },
            4 => What::Refill { line: number },
            5 => What::Dispatch { cpu: who },
            6 => What::Started { cpu: who },
            7 => What::Slice { cpu: who, generation: number },
            8 => What::Alarm { thread: who, generation: number },
            _ => What::Action { index: number },
        }
    }
}

/// An event to come, later than the next ones, and its place among those of its time.
struct Far {
    time: Ps,
    place: u64,
    what: Packed,
}

impl PartialEq for Far {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Far {}
impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Far {
    /// The greatest is the first to happen.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.place).cmp(&(self.time, self.place))
    }
}

/// A bucket's width is 2 to the power of this, in picoseconds: on a machine of 80 CPUs few buckets have two events.
const WIDTH: u32 = 10;
/// Buckets of the wheel, which turns once in 4 microseconds: longer than nearly everything that is not sleep. As many
/// as words of the bitmap times bits of a word, so that the words that are not 0 fit a bitmap of one `u64`.
const BUCKETS: usize = 64 * WORDS;
const WORDS: usize = 64;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// An event in the wheel, and the next one of its bucket.
struct Node {
    time: Ps,
    what: Packed,
    next: u32,
}

/// The events of the next turn, by time. A bucket's list is in the order of times, and of making.
struct Wheel {
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets have events.
    bits: [u64; WORDS],
    /// Which words of `bits` are not 0.
    words: u64,
    nodes: Vec<Node>,
    /// Nodes to use again.
    free: u32,
    /// The bucket of the first event, if there is one.
    first: usize,
    /// The time of the first event; the end of time if there is none.
    first_time: Ps,
}

impl Wheel {
    fn new() -> Wheel {
        let (heads, nodes) = (Box::new([NONE; BUCKETS]), Vec::with_capacity(256));
        Wheel { heads, bits: [0; WORDS], words: 0, nodes, free: NONE, first: 0, first_time: Ps::MAX }
    }

    #[inline]
    fn node(&mut self, time: Ps, what: Packed, next: u32) -> u32 {
        let number = self.free;
        let Some(node) = self.nodes.get_mut(number as usize) else { return self.new_node(time, what, next) };
        self.free = node.next;
        (node.time, node.what, node.next) = (time, what, next);
        number
    }

    #[cold]
    fn new_node(&mut self, time: Ps, what: Packed, next: u32) -> u32 {
        self.nodes.push(Node { time, what, next });
        self.nodes.len() as u32 - 1
    }

    /// Adds an event.
    #[inline]
    fn insert(&mut self, time: Ps, what: Packed) {
        let bucket = (time >> WIDTH) as usize % BUCKETS;
        if time < self.first_time || self.words == 0 {
            (self.first, self.first_time) = (bucket, time);
        }
        let next = self.heads[bucket];
        if next != NONE {
            return self.insert_after(bucket, next, time, what);
        }
        self.heads[bucket] = self.node(time, what, NONE);
        self.bits[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
    }

    /// Adds an event to a bucket that has others: behind those of its time.
    #[inline(never)]
    fn insert_after(&mut self, bucket: usize, head: u32, time: Ps, what: Packed) {
        let (mut before, mut next) = (NONE, head);
        while next != NONE && self.nodes[next as usize].time <= time {
            (before, next) = (next, self.nodes[next as usize].next);
        }
        let number = self.node(time, what, next);
        if before == NONE {
            self.heads[bucket] = number;
        } else {
            self.nodes[before as usize].next = number;
        }
    }

    /// Takes the first event out; there is one.
    #[inline]
    fn take_first(&mut self) -> (Ps, Packed) {
        let bucket = self.first % BUCKETS;
        let number = self.heads[bucket];
        let node = &mut self.nodes[number as usize];
        let (time, what, next) = (node.time, node.what, node.next);
        node.next = std::mem::replace(&mut self.free, number);
        self.heads[bucket] = next;
        let first = if next == NONE { self.empty_bucket(bucket) } else { next };
        self.first_time = self.nodes.get(first as usize).map_or(Ps::MAX, |node| node.time);
        (time, what)
    }

    /// A bucket, the first, is empty now: the next that is not becomes the first. Its first node.
    #[inline]
    fn empty_bucket(&mut self, bucket: usize) -> u32 {
        let mut word = bucket / 64;
        self.bits[word] &= !(1 << (bucket % 64));
        let mut later = self.bits[word] & (u64::MAX << (bucket % 64));
        if later == 0 {
            self.words &= !(u64::from(self.bits[word] == 0) << word);
            if self.words == 0 {
                return NONE;
            }
            // Once around, and this word last.
            word = (word + 1 + self.words.rotate_right(word as u32 + 1).trailing_zeros() as usize) % WORDS;
            later = self.bits[word];
        }
        self.first = word * 64 + later.trailing_zeros() as usize % 64;
        self.heads[self.first]
    }
}

/// The events to come. Events of one time happen in the order of their making.
pub(crate) struct Queue {
    /// Those of the buckets from `base` on, up to one turn.
    near: Wheel,
    /// All others, which are later. They move to the wheel before a new event can be put into their bucket, so that
    /// what was made first comes first.
    far: BinaryHeap<Far>,
    /// The number of the bucket of the last event that happened, counted without turning.
    base: u64,
    /// The first time that may be in `far` and not in the wheel.
    far_from: Ps,
    made: u64,
    /// The time of the next event, or the horizon.
    next: Ps,
    horizon: Ps,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        let (near, far) = (Wheel::new(), BinaryHeap::new());
        Queue { near, far, base: 0, far_from: Ps::MAX, made: 0, next: 0, horizon: 0 }
    }

    /// Adds an event, which is not earlier than the last one that happened.
    #[inline]
    pub(crate) fn push(&mut self, time: Ps, what: What) {
        self.push_packed(time, Packed::new(what));
    }

    /// As [`Queue::push`]. The copies of that are small, and this one is not repeated.
    #[inline(never)]
    fn push_packed(&mut self, time: Ps, what: Packed) {
        debug_assert!(time >> WIDTH >= self.base, "an event of the past");
        self.made += 1;
        if (time >> WIDTH) - self.base >= BUCKETS as u64 {
            self.push_far(time, what);
        } else {
            self.near.insert(time, what);
        }
        self.next = self.next.min(time);
    }

    #[inline(never)]
    fn push_far(&mut self, time: Ps, what: Packed) {
        self.far.push(Far { time, place: self.made, what });
        self.far_from = self.far_from.min(time);
    }

    /// The wheel has turned to the bucket of `time`: far events that are less than a turn away are near from now on.
    #[cold]
    fn fetch_near(&mut self) {
        while let Some(far) = self.far.peek().filter(|far| (far.time >> WIDTH) - self.base < BUCKETS as u64) {
            self.near.insert(far.time, far.what);
            self.far.pop();
        }
        self.far_from = self.far.peek().map_or(Ps::MAX, |far| far.time);
    }

    /// The time of the next event, or the horizon.
    #[inline]
    pub(crate) fn next_time(&self) -> Ps {
        self.next
    }

    /// At the latest then a thread that goes on without a switch is interrupted, so that somebody looks at the run even
    /// if nothing else is to happen.
    pub(crate) fn horizon(&self) -> Ps {
        self.horizon
    }

    /// Changes [`Queue::horizon`].
    pub(crate) fn set_horizon(&mut self, horizon: Ps) {
        self.horizon = horizon;
        self.find_next();
    }

    #[inline]
    fn find_next(&mut self) {
        self.next = self.near.first_time.min(self.far_from).min(self.horizon);
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Ps, Packed)> {
        if self.near.words == 0 {
            if self.far.is_empty() {
                return None;
            }
            self.base = self.far_from >> WIDTH;
            self.fetch_near();
        }
        let (time, what) = self.near.take_first();
        self.base = time >> WIDTH;
        if (self.far_from >> WIDTH) - self.base < BUCKETS as u64 {
            self.fetch_near();
        }
        self.find_next();
        Some((time, what))
    }

    /// An event that would be the next one happens at once, and never was in the queue. Whether it would.
    #[inline]
    pub(crate) fn pass(&mut self, time: Ps) -> bool {
        let next = time < self.next;
        self.made += u64::from(next);
        next
    }

    /// Events made so far.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_happen_in_the_order_of_their_times_and_of_their_making() {
        let mut chance = fastrand::Rng::with_seed(1);
        for spread in [1, 10, 1_000, 1_000_000, 100_000_000] {
            let (mut queue, mut expected, mut now) = (Queue::new(), Vec::new(), 0);
            queue.set_horizon(Ps::MAX);
            for number in 0..20_000 {
                // In turns it grows and becomes empty.
                if chance.u32(0..100) < if number / 2_000 % 2 == 0 { 70 } else { 25 } {
                    let time = now + chance.u64(0..spread);
                    queue.push(time, What::Action { index: number });
                    expected.push((time, number));
                    continue;
                }
                expected.sort_unstable();
                let first = (!expected.is_empty()).then(|| expected.remove(0));
                assert_eq!(queue.next_time(), first.map_or(Ps::MAX, |first| first.0));
                let found = queue.pop().map(|(time, what)| {
                    let What::Action { index } = what.what() else { panic!("{what:?}") };
                    (time, index)
                });
                assert_eq!(found, first);
                now = first.map_or(now, |first| first.0);
            }
        }
    }

    #[test]
    fn the_horizon_is_the_time_of_the_next_event_at_the_latest() {
        let mut queue = Queue::new();
        queue.set_horizon(5);
        assert_eq!(queue.next_time(), 5);
        queue.push(7, What::Refill { line: 1 });
        assert_eq!(queue.next_time(), 5);
        queue.push(3, What::Refill { line: 2 });
        assert_eq!(queue.next_time(), 3);
        queue.set_horizon(9);
        queue.pop();
        assert_eq!(queue.next_time(), 7);
    }
}
