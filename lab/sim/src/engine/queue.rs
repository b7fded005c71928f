//! The queue of events.

use crate::spec::Ps;

/// Something that happens at a time. Events with a generation are void if their CPU or thread has moved on since.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The thread of this CPU continues: its operation is done.
    Resume { cpu: u32, generation: u32 },
    /// The request of this CPU for a line arrives there.
    Arrive { cpu: u32 },
    /// The request of a store in this CPU's buffer arrives at its line.
    StoreArrives { cpu: u32, number: u32 },
    /// The line of a store in this CPU's buffer has come.
    StoreDone { cpu: u32, number: u32 },
    /// The requests of all watchers of this line, which was written, arrive there.
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

/// [`What`] in one word, so that the host moves it in a register: a copy of an enum is read in other widths than it was
/// written in, which stalls the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packed(u64);

/// Bits for the kind of event, below those for a CPU or a thread, which are below those for a generation or a number.
const KIND_BITS: u32 = 4;
/// The bound of a CPU's or a thread's number.
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

/// A bucket's width is 2 to the power of this, in picoseconds: on a machine of 80 CPUs few buckets have two events.
const WIDTH: u32 = 10;
/// Buckets of a wheel. That of the next events turns once in 4 microseconds, longer than what locks take. The number is
/// words of the bitmap times bits of a word, so that the words that are not 0 fit a bitmap of one `u64`.
const BUCKETS: usize = 64 * WORDS;
const WORDS: usize = 64;
/// The same for a bucket of the later events, which is half a turn of the other wheel: that has the events of two such
/// buckets, and this one turns once in 9 milliseconds, longer than most slices.
const FAR_WIDTH: u32 = WIDTH + BUCKETS.trailing_zeros() - 1;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// Which buckets have events.
struct Filled {
    bits: [u64; WORDS],
    /// Which words of `bits` are not 0.
    words: u64,
}

impl Filled {
    fn new() -> Filled {
        Filled { bits: [0; WORDS], words: 0 }
    }

    #[inline]
    fn insert(&mut self, bucket: usize) {
        self.bits[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
    }

    #[inline]
    fn remove(&mut self, bucket: usize) {
        let word = bucket / 64;
        self.bits[word] &= !(1 << (bucket % 64));
        self.words &= !(u64::from(self.bits[word] == 0) << word);
    }

    /// Returns the first bucket that has events, from this one on and once around.
    #[inline]
    fn from(&self, bucket: usize) -> Option<usize> {
        let mut word = bucket / 64;
        let mut later = self.bits[word] & (u64::MAX << (bucket % 64));
        if later == 0 {
            if self.words == 0 {
                return None;
            }
            // This word last.
            word = (word + 1 + self.words.rotate_right(word as u32 + 1).trailing_zeros() as usize) % WORDS;
            later = self.bits[word];
        }
        Some(word * 64 + later.trailing_zeros() as usize % 64)
    }
}

/// An event in a wheel, and the next one of its bucket.
struct Node {
    time: Ps,
    what: Packed,
    next: u32,
}

/// Nodes in use, and nodes to use again.
struct Nodes {
    all: Vec<Node>,
    free: u32,
}

impl Nodes {
    #[inline]
    fn take(&mut self, time: Ps, what: Packed) -> u32 {
        let number = self.free;
        let Some(node) = self.all.get_mut(number as usize) else { return self.make(time, what) };
        self.free = node.next;
        (node.time, node.what, node.next) = (time, what, NONE);
        number
    }

    #[cold]
    fn make(&mut self, time: Ps, what: Packed) -> u32 {
        self.all.push(Node { time, what, next: NONE });
        self.all.len() as u32 - 1
    }
}

/// The next events, by time. A bucket's list is in the order of times, and of creation.
struct Near {
    heads: Box<[u32; BUCKETS]>,
    filled: Filled,
    /// The bucket of the first event, if there is one.
    first: usize,
    /// The time of the first event; the end of time if there is none.
    first_time: Ps,
}

impl Near {
    /// Adds an event.
    #[inline]
    fn insert(&mut self, nodes: &mut Nodes, number: u32, time: Ps) {
        let bucket = (time >> WIDTH) as usize % BUCKETS;
        if time < self.first_time {
            (self.first, self.first_time) = (bucket, time);
        }
        let head = self.heads[bucket];
        if head != NONE {
            return self.insert_after(nodes, bucket, number, time);
        }
        self.heads[bucket] = number;
        self.filled.insert(bucket);
    }

    /// Adds an event to a bucket that has others: behind those of its time.
    #[inline(never)]
    fn insert_after(&mut self, nodes: &mut Nodes, bucket: usize, number: u32, time: Ps) {
        let (mut before, mut next) = (NONE, self.heads[bucket]);
        while next != NONE && nodes.all[next as usize].time <= time {
            (before, next) = (next, nodes.all[next as usize].next);
        }
        nodes.all[number as usize].next = next;
        if before == NONE {
            self.heads[bucket] = number;
        } else {
            nodes.all[before as usize].next = number;
        }
    }

    /// Removes the first event, which must exist.
    #[inline]
    fn take_first(&mut self, nodes: &mut Nodes) -> (Ps, Packed) {
        let bucket = self.first % BUCKETS;
        let number = self.heads[bucket];
        let node = &mut nodes.all[number as usize];
        let (time, what, mut next) = (node.time, node.what, node.next);
        node.next = std::mem::replace(&mut nodes.free, number);
        self.heads[bucket] = next;
        if next == NONE {
            self.filled.remove(bucket);
            if let Some(bucket) = self.filled.from(bucket) {
                (self.first, next) = (bucket, self.heads[bucket]);
            }
        }
        self.first_time = nodes.all.get(next as usize).map_or(Ps::MAX, |node| node.time);
        (time, what)
    }
}

/// A bucket of later events: a list in order of creation, whatever their times.
#[derive(Clone, Copy)]
struct FarBucket {
    head: u32,
    tail: u32,
    /// The time of the first to happen.
    first_time: Ps,
}

const EMPTY: FarBucket = FarBucket { head: NONE, tail: NONE, first_time: Ps::MAX };

/// Later events.
struct Far {
    buckets: Box<[FarBucket; BUCKETS]>,
    filled: Filled,
}

impl Far {
    /// Adds an event.
    fn insert(&mut self, nodes: &mut Nodes, number: u32, time: Ps) {
        let place = (time >> FAR_WIDTH) as usize % BUCKETS;
        let bucket = &mut self.buckets[place];
        match nodes.all.get_mut(bucket.tail as usize) {
            Some(last) => last.next = number,
            None => bucket.head = number,
        }
        bucket.tail = number;
        bucket.first_time = bucket.first_time.min(time);
        self.filled.insert(place);
    }

    /// Returns the first bucket, from this number on.
    fn first_from(&self, number: u64) -> Option<&FarBucket> {
        self.filled.from(number as usize % BUCKETS).map(|place| &self.buckets[place])
    }

    /// Takes a bucket's events out; the first of their list.
    fn take(&mut self, number: u64) -> u32 {
        let place = number as usize % BUCKETS;
        self.filled.remove(place);
        std::mem::replace(&mut self.buckets[place], EMPTY).head
    }
}

/// The events to come. Events of one time happen in order of creation. They are in three places by their time, and move
/// from one to the next before a new event of their time can be put there, so that the event created first comes first.
pub(crate) struct Queue {
    nodes: Nodes,
    /// Those of this bucket of `far` and of the next one.
    near: Near,
    far: Far,
    /// The first bucket that `far` may have. All before it are in `near`.
    far_begin: u64,
    /// The end of those that `far` may have.
    far_end: u64,
    /// All others, in the order of their making.
    beyond: Vec<(Ps, Packed)>,
    /// The time of the first of them.
    beyond_from: Ps,
    /// The first time that is in `far` or beyond it.
    far_from: Ps,
    /// The number of the bucket of the last event that happened, counted without wrapping.
    base: u64,
    made: u64,
    /// The time of the next event, or the horizon.
    next: Ps,
    horizon: Ps,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        Queue {
            nodes: Nodes { all: Vec::with_capacity(256), free: NONE },
            near: Near { heads: Box::new([NONE; BUCKETS]), filled: Filled::new(), first: 0, first_time: Ps::MAX },
            far: Far { buckets: Box::new([EMPTY; BUCKETS]), filled: Filled::new() },
            far_begin: 2,
            far_end: BUCKETS as u64,
            beyond: Vec::new(),
            beyond_from: Ps::MAX,
            far_from: Ps::MAX,
            base: 0,
            made: 0,
            next: 0,
            horizon: 0,
        }
    }

    /// Adds an event, which is not earlier than the last one that happened.
    #[inline]
    pub(crate) fn push(&mut self, time: Ps, what: What) {
        self.push_packed(time, Packed::new(what));
    }

    /// Does as [`Queue::push`], whose inlined copies are small; this one is not duplicated.
    #[inline(never)]
    fn push_packed(&mut self, time: Ps, what: Packed) {
        debug_assert!(time >> WIDTH >= self.base, "an event of the past");
        self.made += 1;
        if time >> FAR_WIDTH < self.far_begin {
            let number = self.nodes.take(time, what);
            self.near.insert(&mut self.nodes, number, time);
        } else {
            self.push_far(time, what);
        }
        self.next = self.next.min(time);
    }

    #[inline(never)]
    fn push_far(&mut self, time: Ps, what: Packed) {
        self.far_from = self.far_from.min(time);
        if time >> FAR_WIDTH < self.far_end {
            let number = self.nodes.take(time, what);
            self.far.insert(&mut self.nodes, number, time);
        } else {
            self.beyond.push((time, what));
            self.beyond_from = self.beyond_from.min(time);
        }
    }

    /// Turns the near wheel to another bucket of the far one, that of `time`: the content of that one and of the next
    /// is near from now on.
    #[cold]
    fn turn_to(&mut self, time: Ps) {
        let begin = (time >> FAR_WIDTH) + 2;
        while let Some(bucket) = self.far.first_from(self.far_begin).map(|first| first.first_time >> FAR_WIDTH)
            && bucket < begin
        {
            let mut number = self.far.take(bucket);
            while let Some(node) = self.nodes.all.get_mut(number as usize) {
                let (time, next) = (node.time, std::mem::replace(&mut node.next, NONE));
                self.near.insert(&mut self.nodes, number, time);
                number = next;
            }
        }
        self.far_begin = begin;
        if self.far_end < begin + BUCKETS as u64 / 2 {
            self.fetch_beyond();
        }
        self.far_from = self.far.first_from(begin).map_or(self.beyond_from, |first| first.first_time);
    }

    /// Moves events after half a turn of the far wheel: what is less than a turn away is in it, or near, from now on.
    #[cold]
    fn fetch_beyond(&mut self) {
        self.far_end = self.far_begin + BUCKETS as u64;
        self.beyond_from = Ps::MAX;
        let (nodes, near, far) = (&mut self.nodes, &mut self.near, &mut self.far);
        self.beyond.retain(|&(time, what)| {
            let bucket = time >> FAR_WIDTH;
            if bucket >= self.far_end {
                self.beyond_from = self.beyond_from.min(time);
                return true;
            }
            let number = nodes.take(time, what);
            if bucket < self.far_begin {
                near.insert(nodes, number, time);
            } else {
                far.insert(nodes, number, time);
            }
            false
        });
    }

    /// Returns the time of the next event, or the horizon.
    #[inline]
    pub(crate) fn next_time(&self) -> Ps {
        self.next
    }

    /// Returns when a thread that continues without a switch is interrupted at the latest, so that the run is checked
    /// even if nothing else is to happen.
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
        if self.near.filled.words == 0 {
            if self.far_from == Ps::MAX {
                return None;
            }
            self.turn_to(self.far_from);
        }
        let (time, what) = self.near.take_first(&mut self.nodes);
        self.base = time >> WIDTH;
        if (time >> FAR_WIDTH) + 2 > self.far_begin {
            self.turn_to(time);
        }
        self.find_next();
        Some((time, what))
    }

    /// Lets an event that would be the next one happen at once, without the queue. Returns whether it would.
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
        for spread in [1, 10, 1_000, 1_000_000, 100_000_000, 10_000_000_000, 1_000_000_000_000] {
            let (mut queue, mut expected, mut now) = (Queue::new(), Vec::new(), 0);
            queue.set_horizon(Ps::MAX);
            for number in 0..20_000 {
                // It grows and becomes empty alternately.
                if chance.u32(0..100) < if number / 2_000 % 2 == 0 { 70 } else { 25 } {
                    // Many of one time, made while it was far and while it was near.
                    let time = (now + chance.u64(0..spread)).next_multiple_of((spread / 1_000).max(1));
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
