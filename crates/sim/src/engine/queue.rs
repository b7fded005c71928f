//! What happens next.

use crate::spec::Ps;
use std::cmp::{Ordering, Reverse};
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

#[derive(Clone, Copy)]
struct Event {
    /// The time above, the number of the event below: events of one time happen in the order of their making.
    key: u128,
    what: What,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// The events to come.
#[derive(Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Event>>,
    made: u64,
    /// At the latest then a thread that goes on without a switch is interrupted, so that somebody looks at the run even
    /// if nothing else is to happen.
    pub(crate) horizon: Ps,
}

impl Queue {
    pub(crate) fn push(&mut self, time: Ps, what: What) {
        self.made += 1;
        self.heap.push(Reverse(Event { key: u128::from(time) << 64 | u128::from(self.made), what }));
    }

    /// The time of the next event, or the horizon.
    #[inline]
    pub(crate) fn next_time(&self) -> Ps {
        self.heap.peek().map_or(self.horizon, |Reverse(event)| self.horizon.min((event.key >> 64) as Ps))
    }

    pub(crate) fn pop(&mut self) -> Option<(Ps, What)> {
        self.heap.pop().map(|Reverse(event)| ((event.key >> 64) as Ps, event.what))
    }

    /// Events made so far.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }
}
