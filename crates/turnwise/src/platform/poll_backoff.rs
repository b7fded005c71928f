//! The time for which a spinner stays away from a word between two looks.

/// The rests of one wait.
///
/// A look takes the line from the owner, which then pays twice: to release the lock and to reach its data. So the first
/// two rests are about as long as a short section; if the lock is taken even then, others are busy with it, and the
/// next rests are long enough for a batch of sections that makes up for moving the lines here: a multiple of what
/// this machine charges for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PollBackoff {
    taken: u32,
}

impl PollBackoff {
    /// The length of the first rest; the second is twice as long.
    const FIRST_NS: u32 = 150;
    /// The length of the third rest, in transfers of a line; each later one is twice as long as the one before.
    const LINES: u32 = 16;
    /// The number of the rest from which on all are equally long.
    const COUNTED: u32 = 11;
    /// The bounds of the third and later rests.
    const LATER_NS: (u32, u32) = (400, 16_000);

    /// Begins a wait, with the short first two rests.
    #[must_use]
    pub const fn new() -> Self {
        PollBackoff { taken: 0 }
    }

    /// Begins a wait without the first two rests: for a lock that is hardly ever free at an early look.
    #[must_use]
    pub const fn patient() -> Self {
        PollBackoff { taken: 2 }
    }

    /// Returns the next rest in nanoseconds, where fetching a line takes `line_ns`; 0 gives the shortest rests.
    pub fn next_ns(&mut self, line_ns: u32) -> u32 {
        self.taken = (self.taken + 1).min(Self::COUNTED);
        match self.taken {
            short @ 1..=2 => Self::FIRST_NS * short,
            long => {
                let (min_ns, max_ns) = Self::LATER_NS;
                line_ns.saturating_mul(Self::LINES << (long - 3)).clamp(min_ns, max_ns)
            }
        }
    }
}
