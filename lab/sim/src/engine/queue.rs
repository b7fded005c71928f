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

/// An event to come, later than the next ones, and its place among those of its time.
struct Far {
    time: Ps,
    place: u64,
    what: What,
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
/// Buckets of the wheel, which turns once in 8 microseconds: longer than nearly everything that is not sleep. As many
/// as words of the bitmap times bits of a word, so that the words that are not 0 fit a bitmap of one `u128`.
const BUCKETS: usize = 64 * WORDS;
const WORDS: usize = 128;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// An event in the wheel, and the next one of its bucket.
#[derive(Clone, Copy)]
struct Node {
    time: Ps,
    what: What,
    next: u32,
}

/// The events of the next turn, by time. A bucket's list is in the order of times, and of making.
struct Wheel {
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets have events.
    bits: [u64; WORDS],
    /// Which words of `bits` are not 0.
    words: u128,
    nodes: Vec<Node>,
    /// Nodes to use again.
    free: u32,
    /// The bucket of the first event, if there is one.
    first: usize,
}

impl Wheel {
    fn new() -> Wheel {
        let heads = Box::new([NONE; BUCKETS]);
        Wheel { heads, bits: [0; WORDS], words: 0, nodes: Vec::with_capacity(256), free: NONE, first: 0 }
    }

    fn bucket(time: Ps) -> usize {
        (time >> WIDTH) as usize % BUCKETS
    }

    fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// The time of the first event, if there is one.
    #[inline]
    fn first_time(&self) -> Option<Ps> {
        (!self.is_empty()).then(|| self.nodes[self.heads[self.first] as usize].time)
    }

    fn node(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let number = self.free;
        self.free = std::mem::replace(&mut self.nodes[number as usize], node).next;
        number
    }

    /// Adds an event; `first`: it is earlier than all others.
    #[inline]
    fn insert(&mut self, time: Ps, what: What, first: bool) {
        let bucket = Wheel::bucket(time);
        if first {
            self.first = bucket;
        }
        self.bits[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
        let (mut before, mut next) = (NONE, self.heads[bucket]);
        while next != NONE && self.nodes[next as usize].time <= time {
            (before, next) = (next, self.nodes[next as usize].next);
        }
        let number = self.node(Node { time, what, next });
        if before == NONE {
            self.heads[bucket] = number;
        } else {
            self.nodes[before as usize].next = number;
        }
    }

    /// Takes the first event out; there is one.
    #[inline]
    fn take_first(&mut self) -> (Ps, What) {
        let bucket = self.first;
        let number = self.heads[bucket];
        let node = &mut self.nodes[number as usize];
        let Node { time, what, next } = *node;
        node.next = std::mem::replace(&mut self.free, number);
        self.heads[bucket] = next;
        if next == NONE {
            self.empty_bucket(bucket);
        }
        (time, what)
    }

    /// A bucket, the first, is empty now: the next that is not becomes the first.
    #[inline]
    fn empty_bucket(&mut self, bucket: usize) {
        let word = bucket / 64;
        self.bits[word] &= !(1 << (bucket % 64));
        let later = self.bits[word] & (u64::MAX << (bucket % 64));
        if later != 0 {
            self.first = word * 64 + later.trailing_zeros() as usize;
            return;
        }
        if self.bits[word] == 0 {
            self.words &= !(1 << word);
        }
        // Once around, and this word last.
        let ahead = self.words.rotate_right(word as u32 + 1).trailing_zeros() as usize;
        let word = (word + 1 + ahead) % WORDS;
        self.first = word * 64 + self.bits[word].trailing_zeros() as usize % 64;
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
        debug_assert!(time >> WIDTH >= self.base, "an event of the past");
        self.made += 1;
        if (time >> WIDTH) - self.base >= BUCKETS as u64 {
            self.push_far(time, what);
        } else {
            let first = self.near.first_time().is_none_or(|first| time < first);
            self.near.insert(time, what, first);
        }
        self.next = self.next.min(time);
    }

    #[inline(never)]
    fn push_far(&mut self, time: Ps, what: What) {
        self.far.push(Far { time, place: self.made, what });
        self.far_from = self.far_from.min(time);
    }

    /// The wheel has turned to the bucket of `time`: far events that are less than a turn away are near from now on.
    #[cold]
    fn fetch_near(&mut self) {
        while let Some(far) = self.far.peek().filter(|far| (far.time >> WIDTH) - self.base < BUCKETS as u64) {
            let first = self.near.first_time().is_none_or(|first| far.time < first);
            self.near.insert(far.time, far.what, first);
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
        self.next = self.near.first_time().unwrap_or(self.far_from).min(self.horizon);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Ps, What)> {
        if self.near.is_empty() {
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
                    let What::Action { index } = what else { panic!("{what:?}") };
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
