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

/// An event to come.
#[derive(Clone, Copy)]
struct Event {
    time: Ps,
    what: What,
}

/// An event to come, later than the next ones, and its place among those of its time.
struct Far {
    time: Ps,
    place: i64,
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

/// Events kept in order: about as many as a machine of 80 CPUs has at a time. Most new ones are among the next few, so
/// that putting them into their place is quicker than a heap is.
const NEAR: usize = 256;

/// The events to come. Events of one time happen in the order of their making.
pub(crate) struct Queue {
    /// The next ones, the very next last. There is one if there are any.
    near: Vec<Event>,
    /// All others: none is earlier than any of the next ones, or was made before one of its time.
    far: BinaryHeap<Far>,
    /// Places in `far` that have been given out: before all others, and behind them.
    places: (i64, i64),
    made: u64,
    /// The time of the next event, or the horizon.
    next: Ps,
    horizon: Ps,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        let (near, far) = (Vec::with_capacity(NEAR), BinaryHeap::new());
        Queue { near, far, places: (0, 0), made: 0, next: 0, horizon: 0 }
    }

    pub(crate) fn push(&mut self, time: Ps, what: What) {
        self.made += 1;
        self.next = self.next.min(time);
        if self.far.peek().is_some_and(|far| far.time <= time) {
            return self.push_far(time, what);
        }
        let place = self.near.partition_point(|event| event.time > time);
        self.near.insert(place, Event { time, what });
        if self.near.len() == NEAR {
            self.send_far();
        }
    }

    fn push_far(&mut self, time: Ps, what: What) {
        self.places.1 += 1;
        self.far.push(Far { time, place: self.places.1, what });
    }

    /// There are too many near events: the later half is far from now on.
    #[cold]
    fn send_far(&mut self) {
        for Event { time, what } in self.near.drain(..NEAR / 2) {
            self.places.0 -= 1;
            self.far.push(Far { time, place: self.places.0, what });
        }
    }

    /// There are no near events: the next of the far ones are, from now on.
    #[cold]
    fn fetch_near(&mut self) {
        while self.near.len() < NEAR / 2
            && let Some(Far { time, what, .. }) = self.far.pop()
        {
            self.near.push(Event { time, what });
        }
        self.near.reverse();
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
        self.next = self.near.last().map_or(self.horizon, |event| event.time.min(self.horizon));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Ps, What)> {
        let Event { time, what } = self.near.pop()?;
        if self.near.is_empty() && !self.far.is_empty() {
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
        for spread in [1, 10, 1_000, 1_000_000] {
            let (mut queue, mut expected, mut now) = (Queue::new(), Vec::new(), 0);
            queue.set_horizon(Ps::MAX);
            for number in 0..20_000 {
                // In turns it grows beyond what is near and becomes empty.
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
