//! The time for which a spinner stays away from a word between two looks.

/// The rests of one wait.
///
/// A look that fetches the line takes it from an owner that has used it since the look before, and that pays twice: to
/// release the lock and to reach its data. If that goes on, the owner probably takes the lock again and again, and the
/// next rests are long enough for a batch of sections that makes up for moving the lines here: a multiple of what this
/// machine charges for a line. A look that finds the line in this CPU's cache, as the look before left it, costs nobody
/// anything, and shows that the owner is still in the same section: that is watched closely, by looks that follow each
/// other at once (`docs/lab/0053-sixteen-cpus-again.md`).
///
/// ```
/// use turnwise::platform::{Bare, Platform, PollBackoff, SpinLimit};
///
/// let word = std::sync::atomic::AtomicU32::new(7);
/// let limit = SpinLimit { backoff: Some(PollBackoff::new()), ..SpinLimit::NONE };
/// assert_eq!(Bare::spin_until(&word, |value| value == 7, limit), Ok(7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PollBackoff {
    /// How long the first rest is.
    first_ns: u32,
    /// How many short rests are left.
    short: u32,
    /// How many times the next batch is twice as long.
    doublings: u32,
    /// The sum of all rests so far.
    waited_ns: u32,
    /// How many looks in a row have found the line changed.
    changed: u32,
    /// How many such looks end the close watch.
    again: u32,
}

impl PollBackoff {
    /// The length of the first rest, about that of a short section; other short rests are twice as long, and the first
    /// of who is patient.
    const FIRST_NS: u32 = 150;
    /// The length of the first rest that leaves an owner a batch, in transfers of a line; each later one is twice as
    /// long as the one before.
    const LINES: u32 = 16;
    /// How often such a rest becomes twice as long.
    const DOUBLINGS: u32 = 8;
    /// The bounds of such rests.
    const BATCH_NS: (u32, u32) = (400, 16_000);
    /// The rests of the close watch: at least so long, and at least this part of the wait so far.
    const CLOSE: (u32, u32) = (40, 64);
    /// How many looks in a row must find the line changed to end the close watch. Fewer may be due to newcomers, each
    /// of which writes the line when it tries the lock and when it joins the line of spinners.
    const AGAIN: u32 = 3;

    /// Begins a wait.
    #[must_use]
    pub const fn new() -> Self {
        let (first_ns, changed, again) = (Self::FIRST_NS, Self::AGAIN, Self::AGAIN);
        PollBackoff { first_ns, short: 2, doublings: 0, waited_ns: 0, changed, again }
    }

    /// Begins a wait with a look more before the owner has a batch: for the first of a line, which may have turns.
    #[must_use]
    pub const fn in_line() -> Self {
        PollBackoff { short: 3, ..Self::new() }
    }

    /// Begins a wait for a lock that is hardly ever free at an early look: its owner probably takes it again and again.
    #[must_use]
    pub const fn patient() -> Self {
        PollBackoff { first_ns: 2 * Self::FIRST_NS, ..Self::newcomers_apart() }
    }

    /// Begins a wait that its caller begins again whenever a thread joins the line of spinners: if the first look finds
    /// the line changed, it was the owner, which has a batch then.
    #[must_use]
    pub(crate) const fn newcomers_apart() -> Self {
        PollBackoff { short: 1, doublings: 1, ..Self::new() }
    }

    /// Begins a wait for a lock whose sections are known to be long: a short rest, and then the close watch, whatever
    /// looks find.
    #[must_use]
    pub const fn close() -> Self {
        PollBackoff { short: 1, changed: 0, again: u32::MAX, ..Self::new() }
    }

    /// Returns the next rest in nanoseconds, where fetching a line takes `line_ns`; 0 gives the shortest rests.
    pub fn next_ns(&mut self, line_ns: u32) -> u32 {
        let rest_ns = if self.short > 0 {
            self.short -= 1;
            if self.waited_ns == 0 { self.first_ns } else { 2 * Self::FIRST_NS }
        } else if self.changed < self.again {
            let (min_ns, part) = Self::CLOSE;
            (self.waited_ns / part).clamp(min_ns, Self::BATCH_NS.1)
        } else {
            let (min_ns, max_ns) = Self::BATCH_NS;
            let batch_ns = line_ns.saturating_mul(Self::LINES << self.doublings);
            self.doublings = (self.doublings + 1).min(Self::DOUBLINGS);
            batch_ns.clamp(min_ns, max_ns)
        };
        self.waited_ns = self.waited_ns.saturating_add(rest_ns);
        rest_ns
    }

    /// Notes whether the look after a rest found the line as the look before had left it, in this CPU's cache.
    pub fn looked(&mut self, unchanged: bool) {
        self.changed = if unchanged { 0 } else { self.changed.saturating_add(1).min(self.again) };
    }
}

impl Default for PollBackoff {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::PollBackoff;

    const LINE_NS: u32 = 90;

    /// Returns the next rests of a wait whose looks find the line unchanged or not.
    fn rests<const N: usize>(backoff: &mut PollBackoff, looks: [bool; N]) -> [u32; N] {
        looks.map(|unchanged| {
            let rest_ns = backoff.next_ns(LINE_NS);
            backoff.looked(unchanged);
            rest_ns
        })
    }

    #[test]
    fn an_owner_that_takes_the_lock_again_and_again_has_batches() {
        let batch = LINE_NS * PollBackoff::LINES;
        assert_eq!(rests(&mut PollBackoff::in_line(), [false; 6]), [150, 300, 300, batch, 2 * batch, 4 * batch]);
        assert_eq!(rests(&mut PollBackoff::new(), [false; 4]), [150, 300, batch, 2 * batch]);
        assert_eq!(rests(&mut PollBackoff::patient(), [false; 3]), [300, 2 * batch, 4 * batch]);
        assert_eq!(rests(&mut PollBackoff::newcomers_apart(), [false; 3]), [150, 2 * batch, 4 * batch]);
        let mut long = PollBackoff::patient();
        rests(&mut long, [false; 20]);
        assert_eq!(long.next_ns(LINE_NS), PollBackoff::BATCH_NS.1);
    }

    #[test]
    fn a_long_section_is_watched_closely() {
        use PollBackoff as P;
        for begin in [P::new(), P::in_line(), P::patient(), P::newcomers_apart(), P::close()] {
            let (mut backoff, mut waited_ns) = (begin, 0);
            for n in 0..1000 {
                let rest_ns = backoff.next_ns(LINE_NS);
                assert!(n < 3 || rest_ns <= 40.max(waited_ns / 64), "{n}: {rest_ns} after {waited_ns}");
                waited_ns += rest_ns;
                backoff.looked(true);
            }
            assert!(waited_ns > 1_000_000, "looks become fewer: {waited_ns}");
        }
    }

    #[test]
    fn newcomers_do_not_make_an_owner() {
        let mut backoff = PollBackoff::new();
        rests(&mut backoff, [true, true, true]);
        assert_eq!(rests(&mut backoff, [false, false, true, false, false]).map(|rest_ns| rest_ns < 100), [true; 5]);
        assert!(rests(&mut backoff, [false, false])[1] > 1000, "the third in a row does");
    }

    #[test]
    fn where_sections_are_long_nobody_has_a_batch() {
        assert_eq!(rests(&mut PollBackoff::close(), [false; 6]), [150, 40, 40, 40, 40, 40]);
    }
}
