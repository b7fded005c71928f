//! Grace periods: what one thread removes from a structure stays until every thread that may have found it is done.
//!
//! A reader holds a pin. A retired object is destroyed when all pins of that moment are gone: at the end of the last of
//! them, by the engine, which knows them all. Neither side costs anything; a kernel's read side does not either, but
//! its other side waits for a few milliseconds more, and for an interrupt.

use std::collections::VecDeque;

/// What happens at the end of a grace period.
pub(crate) type Retired = Box<dyn FnOnce()>;

/// Pins, and the objects that wait for their ends.
#[derive(Default)]
pub(crate) struct Grace {
    /// The number of the oldest pin in `pins`, or of the next if there is none.
    oldest: u64,
    /// Whether the pin of that number, and of each after it, still exists. The first does.
    pins: VecDeque<bool>,
    /// In order of arrival: the pins before this number must be gone; the CPU that retired it.
    waiting: VecDeque<(u64, u32, Retired)>,
}

impl Grace {
    /// Returns a pin's number.
    pub(crate) fn pin(&mut self) -> u64 {
        self.pins.push_back(true);
        self.oldest + self.pins.len() as u64 - 1
    }

    /// Drops a pin.
    pub(crate) fn unpin(&mut self, number: u64) {
        self.pins[(number - self.oldest) as usize] = false;
        while self.pins.front() == Some(&false) {
            self.pins.pop_front();
            self.oldest += 1;
        }
    }

    /// Retires something, for a thread on this CPU.
    pub(crate) fn retire(&mut self, cpu: u32, what: Retired) {
        self.waiting.push_back((self.oldest + self.pins.len() as u64, cpu, what));
    }

    /// Returns what no thread can see any more, one after another, with the CPU that retired it.
    pub(crate) fn due(&mut self) -> Option<(u32, Retired)> {
        if self.waiting.front()?.0 > self.oldest {
            return None;
        }
        self.waiting.pop_front().map(|(_, cpu, what)| (cpu, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_retired_waits_for_older_pins_alone() {
        let mut grace = Grace::default();
        grace.retire(7, Box::new(|| ()));
        assert_eq!(grace.due().map(|due| due.0), Some(7), "no pins at all");
        let [first, second] = [grace.pin(), grace.pin()];
        grace.retire(1, Box::new(|| ()));
        let third = grace.pin();
        grace.retire(2, Box::new(|| ()));
        grace.unpin(second);
        assert!(grace.due().is_none());
        grace.unpin(first);
        assert_eq!(grace.due().map(|due| due.0), Some(1), "the third pin came later");
        assert!(grace.due().is_none());
        grace.unpin(third);
        assert_eq!(grace.due().map(|due| due.0), Some(2));
        assert!(grace.due().is_none() && grace.pins.is_empty());
    }
}
