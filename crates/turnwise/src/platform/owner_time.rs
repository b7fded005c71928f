//! When a spinner asks for the CPU time of the thread that it waits for.

/// What a spinner has learnt about the CPU time of the owner that it waits for.
///
/// Nobody tells a program that a thread sleeps, nor that another program took its CPU. But the CPU time that the thread
/// has had stands still meanwhile, and anybody in the process may ask for it, for the price of a system call. So a
/// spinner asks when it has waited for a while, and each time as late again: the calls stay a small part of the spin.
///
/// ```
/// use turnwise::platform::OwnerTime;
///
/// let mut time = OwnerTime::new();
/// let stands_still = (0..20_000).step_by(500).any(|now| time.stands_still(now, || Some(3)));
/// assert!(stands_still, "it has 3 each time");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnerTime {
    begin: Option<u64>,
    ask_at: u64,
    had: Option<u64>,
}

impl OwnerTime {
    /// When the first question comes, in nanoseconds from the first check; the second, which can tell, is as late
    /// again. Much shorter spins end before, and a thread that was interrupted for a moment runs again.
    pub const FIRST_NS: u64 = 5_000;

    /// Begins a wait.
    #[must_use]
    pub const fn new() -> Self {
        OwnerTime { begin: None, ask_at: 0, had: None }
    }

    /// Whether the owner has had no CPU time between the last two questions. `ask` returns how much it has had by now,
    /// in any unit; `None`: that cannot be found out.
    #[inline]
    pub fn stands_still(&mut self, now: u64, ask: impl FnOnce() -> Option<u64>) -> bool {
        let begin = *self.begin.get_or_insert(now);
        if now < self.ask_at.max(begin.saturating_add(Self::FIRST_NS)) {
            return false;
        }
        self.ask_at = now.saturating_add(now.saturating_sub(begin));
        let had = ask();
        had.is_some() && core::mem::replace(&mut self.had, had) == had
    }
}

#[cfg(test)]
mod tests {
    use super::OwnerTime;
    extern crate std;
    use std::vec::Vec;

    /// Returns when questions are asked, and when the answer is that the owner stands still, if it runs until `ran`.
    fn questions(ran: u64) -> (Vec<u64>, Option<u64>) {
        let (mut time, mut asked) = (OwnerTime::new(), Vec::new());
        let still = (0..1_000_000).step_by(500).find(|&now| {
            time.stands_still(now, || {
                asked.push(now);
                Some(now.min(ran))
            })
        });
        (asked, still)
    }

    #[test]
    fn an_owner_that_sleeps_is_found_out_by_the_second_question() {
        assert_eq!(questions(0), ([5_000, 10_000].into(), Some(10_000)));
    }

    #[test]
    fn an_owner_that_runs_is_asked_for_ever_more_seldom() {
        let (asked, still) = questions(u64::MAX);
        assert_eq!(still, None);
        assert_eq!(asked, (0..8).map(|n| 5_000 << n).collect::<Vec<_>>());
    }

    #[test]
    fn an_owner_that_is_preempted_later_is_found_out_later() {
        assert_eq!(questions(30_000).1, Some(80_000));
    }

    #[test]
    fn nothing_is_concluded_where_nobody_can_tell() {
        let mut time = OwnerTime::new();
        assert!((0..1_000_000).step_by(500).all(|now| !time.stands_still(now, || None)));
    }
}
