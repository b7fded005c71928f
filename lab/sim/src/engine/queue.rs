//! The queue of events.

use crate::spec::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at a time. Events with a generation are void if their CPU or thread has moved on since.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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

/// An event to come. Events happen in this order: by their times, and those of one time in the order of creation.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: Ps,
    number: u64,
    what: What,
}

/// The events to come.
pub(crate) struct Queue {
    events: BinaryHeap<Reverse<Event>>,
    made: u64,
    /// The time of the next event, or the horizon.
    next: Ps,
    horizon: Ps,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        Queue { events: BinaryHeap::with_capacity(256), made: 0, next: 0, horizon: 0 }
    }

    /// Adds an event, which is not earlier than the last one that happened.
    pub(crate) fn push(&mut self, time: Ps, what: What) {
        self.made += 1;
        self.events.push(Reverse(Event { time, number: self.made, what }));
        self.next = self.next.min(time);
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
        self.next = self.events.peek().map_or(Ps::MAX, |first| first.0.time).min(self.horizon);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Ps, What)> {
        let Reverse(Event { time, what, .. }) = self.events.pop()?;
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
