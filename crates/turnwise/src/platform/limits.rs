//! Limits that no experiment moves: none of them tunes a lock.
//!
//! They bound a wait for another thread that is in the middle of a few instructions, say how old a sign of life may be,
//! and limit what yields may cost. The numbers that tune waiting are in [`Policy`](crate::wait::Policy);
//! `cargo xtask tidy` refuses numbers of either kind anywhere else in the locks' waiting.

#![allow(dead_code, reason = "each platform uses those that it needs")]

/// How many spin hints pass between two readings of the clock (a reading takes some 20 ns).
pub(crate) const CLOCK_EVERY: u32 = 32;

/// The number of polls after which a thread that should finish within a few instructions was probably preempted.
pub(crate) const STEP_POLLS: u32 = 256;
/// The number of yields and sleeps after which it will never finish: a tenth of a second.
pub(crate) const STEP_ROUNDS: u32 = 110;
/// How often a thread yields its CPU for such a step before it sleeps.
pub(crate) const STEP_YIELDS: u32 = 8;
/// The length of the first sleep; each is twice as long as the previous one.
pub(crate) const NAP_NS: u32 = 50_000;
/// The longest sleep: the end of a wait may be noticed this late.
pub(crate) const NAP_MAX_NS: u32 = 1_000_000;

/// The waits of [`NAP_NS`] for threads that use what an exiting thread or library takes away: a tenth of a second.
pub(crate) const EXIT_NAPS: u32 = 2_000;
/// The checks, about a millisecond apart after the first ones, after which a thread that should have stopped reading an
/// exiting thread's memory must have left in the middle: a second.
pub(crate) const OBSERVER_NAPS: u32 = 1_000;

/// How long a published spinner counts after its last sign of life.
pub(crate) const FRESH_NS: u64 = 4_000;
/// The length from which a silence counts as another program's time slice: a switch between two threads of the process
/// takes 2 to 10 us, and the shortest slice that Linux grants is 700 us.
pub(crate) const GIVEN_AWAY_NS: u64 = 100_000;
/// The divisor of a CPU's time for the part that yields may give away: half of the share that a thread under pressure
/// may lose (5%).
pub(crate) const GIVEN_AWAY_SHARE: u64 = 40;
/// How much may be given away at once after a long time without any: three or four slices, so that a daemon that wakes
/// up now and then, on a CPU where threads take turns, does not end their turn-taking (8 threads on 2 CPUs, longest
/// wait of 0.4 s: 22 ms with nothing saved, 14 ms with this, 12 ms with unconditional yields).
pub(crate) const SAVED_NS: u64 = 5_000_000;
/// The most that a single yield counts for: a process may be stopped for hours in one.
pub(crate) const COUNTED_NS: u64 = 100_000_000;

/// The least jitter to allow for a load that hits this CPU's cache. Another CPU's line takes longer, unless both are
/// threads of one core.
pub(crate) const HIT_JITTER_NS: u32 = 12;
/// How often the number of waits on a condition variable that begin without polling doubles, after the first poll
/// without success.
pub(crate) const SKIP_DOUBLINGS: u32 = 6;
