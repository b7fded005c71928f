//! Events that can be counted about a lock: one list, and with feature `stats` a counter per lock and per kind of lock
//! for each entry.
//!
//! ```text
//! turnwise = { version = "0.1", features = ["stats"] }
//!
//! let before = lock.stats();
//! // ... the program runs ...
//! println!("{}", lock.stats() - before);
//! println!("{}", turnwise::events::totals(turnwise::events::Kind::Mutex));
//! ```
//!
//! A second sink, feature `thread-events`, leaves the locks as they are: see `events::here`.
//!
//! Without features a `Counters` has zero size and counting compiles to nothing. With `stats` a lock has 8 bytes more
//! for each event, and each event is two relaxed additions: one on the lock's own counters, one on a static that is
//! shared by all locks of the kind whose addresses fall into one of [`SHARDS`] shards. docs/design/events.md states the
//! cost.
//!
//! Only a thread that acquires (or waits) counts, never one that releases: a release must not touch the lock
//! afterwards, and before it the releaser does not know its outcome. So a hand-off is counted by the thread that gets
//! the lock, and a wake-up by the woken one.
//!
//! Counters are core's atomics on every platform: a model does not see them, and they order nothing.

use crate::platform::Parked;
use core::fmt;
use core::ops::{Add, Index, Sub};

/// Defines an enum of names, each with a short text about it, in the order of the list.
macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($item:ident, $name:literal, $text:expr;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(usize)]
        #[non_exhaustive]
        pub enum $type {
            $(#[doc = $text] $item,)*
        }

        impl $type {
            /// All of them, in the order of the list.
            pub const ALL: &'static [$type] = &[$($type::$item),*];
            /// The name in tables and files, and the text.
            const TEXTS: &'static [(&'static str, &'static str)] = &[$(($name, $text)),*];

            /// Returns the name in tables and files.
            pub const fn name(self) -> &'static str {
                Self::TEXTS[self as usize].0
            }
        }
    };
}

named! {
    /// An event of a lock that can be counted.
    ///
    /// ```
    /// use turnwise::events::Event;
    ///
    /// assert_eq!(Event::Slept.name(), "slept");
    /// assert!(Event::ALL.contains(&Event::Stole));
    /// ```
    Event {
        Acquired, "acquired", "acquired at once";
        Contended, "contended", "not to be had at once: the slow path begins";
        TryFailed, "try-failed", "a try found the lock taken";
        Spun, "spun", "acquired by spinning, without waiting in a queue";
        SpunQueued, "spun-queued", "acquired by spinning, after waiting in a queue";
        Queued, "queued", "acquired as the first of a queue of sleepers";
        Stole, "stole", "acquired past threads that slept for it, as far as its word shows";
        SpinLeftOut, "spin-left-out", "no spin: this thread cannot queue";
        SpinOffCpu, "spin-off-cpu", "no spin, or one given up: the owner is off its CPU, or a sleeper goes first";
        SpinTimedOut, "spin-timed-out", "a spin given up, since its time was spent";
        Slept, "slept", "went to sleep";
        Woken, "woken", "woken from a sleep by another thread";
        WokenEarly, "woken-early",
            "left a sleep, or did not fall asleep, though no thread woke it and its time was not up";
        HandoffRequested, "handoff-requested", "a waiter that had waited too long requested a hand-off";
        HandedOff, "handed-off", "acquired by a hand-off";
        TimedOut, "timed-out", "gave up at its deadline";
        Recursed, "recursed", "acquired again by its owner";
        Notified, "notified", "a notification that found a waiter";
    }
}

impl Event {
    /// Returns the meaning of the event.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        Self::TEXTS[self as usize].1
    }
}

named! {
    /// A kind of lock for which totals are kept.
    ///
    /// ```
    /// use turnwise::events::Kind;
    ///
    /// assert_eq!(Kind::RwSem.name(), "RwSem");
    /// ```
    Kind {
        Mutex, "Mutex", "[`crate::Mutex`].";
        Condvar, "Condvar", "[`crate::Condvar`].";
        RwSem, "RwSem", "[`crate::RwSem`].";
        LockRef, "LockRef", "[`crate::LockRef`].";
        Semaphore, "Semaphore", "[`crate::Semaphore`].";
        SpinLock, "SpinLock", "[`crate::SpinLock`].";
        TicketLock, "TicketLock", "[`crate::TicketLock`].";
        QueuedSpinLock, "QueuedSpinLock", "[`crate::QueuedSpinLock`].";
        McsLock, "McsLock", "[`crate::McsLock`].";
    }
}

/// How often each [`Event`] happened.
///
/// It is a snapshot of running counters: each is exact, but they are not read at one instant. `later - earlier` gives
/// the counts in between.
///
/// ```
/// use turnwise::events::{Event, Stats};
///
/// let nothing = Stats::ZERO;
/// assert_eq!((nothing[Event::Slept], nothing.acquisitions()), (0, 0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stats([u64; Event::ALL.len()]);

impl Stats {
    /// The counts before any event.
    pub const ZERO: Stats = Stats([0; Event::ALL.len()]);

    /// Returns how often `event` happened.
    #[must_use]
    pub const fn get(&self, event: Event) -> u64 {
        self.0[event as usize]
    }

    /// Iterates over the events with their counts, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (Event, u64)> + '_ {
        Event::ALL.iter().map(|&event| (event, self.get(event)))
    }

    /// Returns how often the lock was acquired, in any way.
    #[must_use]
    pub const fn acquisitions(&self) -> u64 {
        let waited = self.get(Event::Contended).saturating_sub(self.get(Event::TimedOut));
        self.get(Event::Acquired) + waited + self.get(Event::Recursed)
    }
}

impl Index<Event> for Stats {
    type Output = u64;
    fn index(&self, event: Event) -> &u64 {
        &self.0[event as usize]
    }
}

impl Sub for Stats {
    type Output = Stats;
    /// Subtracts, wrapping as the counters do.
    fn sub(self, earlier: Stats) -> Stats {
        Stats(core::array::from_fn(|n| self.0[n].wrapping_sub(earlier.0[n])))
    }
}

impl Add for Stats {
    type Output = Stats;
    fn add(self, other: Stats) -> Stats {
        Stats(core::array::from_fn(|n| self.0[n].wrapping_add(other.0[n])))
    }
}

/// Displays `name count` for each event that happened, separated by commas; one per line with `{:#}`.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = self.iter().filter(|(_, count)| *count > 0).peekable();
        if seen.peek().is_none() {
            return f.write_str("nothing happened");
        }
        let mut between = "";
        for (event, count) in seen {
            if f.alternate() {
                write!(f, "{between}{:<15} {count:>12}  {}", event.name(), event.meaning())?;
                between = "\n";
            } else {
                write!(f, "{between}{} {count}", event.name())?;
                between = ", ";
            }
        }
        Ok(())
    }
}

/// The number of shards of the totals of one kind of lock: up to this many locks can count at a time without sharing a
/// cache line.
pub const SHARDS: usize = 16;

/// Counts of the events in the calling thread's waits, for any lock: for a caller that must not make locks grow, and
/// that reads the counters before and after a wait.
///
/// Only events of a thread that does not get its lock at once are counted: the uncontended paths are the same
/// instructions with and without this. The counters are 32 bytes of static thread-local storage, need no allocation and
/// wrap: use differences. A signal handler's waits count for the thread that it interrupted.
///
/// For all threads together there is one word: [`report_contention`](here::report_contention).
#[cfg(feature = "thread-events")]
pub mod here {
    use super::Event;
    use crate::platform::native::thread_counts;
    use core::ptr::null_mut;
    use core::sync::atomic::Ordering::Relaxed;
    use core::sync::atomic::{AtomicPtr, AtomicU32};

    /// The counters, each with the events that it sums.
    pub const COUNTED: [&[Event]; 6] = [
        &[Event::Slept],
        &[Event::Stole],
        &[Event::HandedOff],
        &[Event::Spun, Event::SpunQueued],
        &[Event::SpinOffCpu],
        &[Event::SpinTimedOut],
    ];
    const _: () = assert!(COUNTED.len() <= crate::platform::native::THREAD_COUNTS);

    /// The counter of each event, if it has one.
    const PLACES: [Option<usize>; Event::ALL.len()] = {
        let mut places = [None; Event::ALL.len()];
        let mut place = 0;
        while place < COUNTED.len() {
            let mut at = 0;
            while at < COUNTED[place].len() {
                places[COUNTED[place][at] as usize] = Some(place);
                at += 1;
            }
            place += 1;
        }
        places
    };

    /// The word that signals contention; null if none was requested. It is on its own cache line: all contended paths
    /// read it.
    #[repr(align(128))]
    struct Reported(AtomicPtr<AtomicU32>);

    static REPORTED: Reported = Reported(AtomicPtr::new(null_mut()));

    /// Makes every thread that does not get a lock at once set `word` to 1 from now on, if it is 0; failed tries count.
    pub fn report_contention(word: &'static AtomicU32) {
        REPORTED.0.store(core::ptr::from_ref(word).cast_mut(), Relaxed);
    }

    /// Sets the word that signals contention. Inlined: a call would cost the callers' uncontended paths a stack frame.
    #[inline(always)]
    fn contended() {
        // SAFETY: the pointer is null, or to a static word.
        if let Some(word) = unsafe { REPORTED.0.load(Relaxed).as_ref() }
            && word.load(Relaxed) == 0
        {
            word.store(1, Relaxed);
        }
    }

    /// Counts an event of a lock from outside this crate.
    #[inline(always)]
    pub fn count(event: Event) {
        if matches!(event, Event::Contended | Event::TryFailed) {
            contended();
        }
        if let Some(place) = PLACES[event as usize] {
            let counter = &thread_counts()[place];
            counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// Returns the counter in which an event is counted; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub fn read_one(event: Event) -> u32 {
        PLACES[event as usize].map_or(0, |place| thread_counts()[place].load(Relaxed))
    }

    /// Returns the counters of [`COUNTED`].
    #[must_use]
    pub fn read() -> [u32; COUNTED.len()] {
        let counters = thread_counts();
        core::array::from_fn(|place| counters[place].load(Relaxed))
    }
}

#[cfg(not(feature = "thread-events"))]
mod here {
    #[inline(always)]
    pub(super) fn count(_: super::Event) {}
}

/// The counters of one lock of a [`Kind`].
pub(crate) struct Counters<const KIND: usize> {
    #[cfg(feature = "stats")]
    counts: counts::Counts,
}

#[cfg(not(feature = "stats"))]
const _: () = assert!(size_of::<Counters<0>>() == 0 && align_of::<Counters<0>>() == 1, "costs nothing when off");

#[cfg(feature = "stats")]
mod counts {
    use super::{Event, Kind, SHARDS, Stats};
    use core::sync::atomic::AtomicU64;
    use core::sync::atomic::Ordering::Relaxed;

    pub(super) struct Counts([AtomicU64; Event::ALL.len()]);

    impl Counts {
        pub(super) const fn new() -> Self {
            Counts([const { AtomicU64::new(0) }; Event::ALL.len()])
        }

        pub(super) fn read(&self) -> Stats {
            Stats(core::array::from_fn(|n| self.0[n].load(Relaxed)))
        }

        /// Counts an event of this lock, and of its kind in the shard by its address: threads that use different locks
        /// rarely meet there, and those that use one lock meet there anyway.
        #[inline]
        pub(super) fn count(&self, kind: usize, event: Event) {
            let address = core::ptr::from_ref(self).addr();
            // Fibonacci hashing: the high bits of the product mix all bits of the address.
            let shard = ((address as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SHARDS;
            self.0[event as usize].fetch_add(1, Relaxed);
            TOTALS[kind][shard].0.0[event as usize].fetch_add(1, Relaxed);
        }
    }

    /// A shard of the totals, padded to two cache lines, so that shards do not disturb each other.
    #[repr(align(128))]
    struct Shard(Counts);

    static TOTALS: [[Shard; SHARDS]; Kind::ALL.len()] =
        [const { [const { Shard(Counts::new()) }; SHARDS] }; Kind::ALL.len()];

    /// Returns what happened to all locks of this kind since the program began, including those that no longer exist.
    pub fn totals(kind: Kind) -> Stats {
        TOTALS[kind as usize].iter().map(|shard| shard.0.read()).fold(Stats::ZERO, |sum, one| sum + one)
    }
}

impl<const KIND: usize> Counters<KIND> {
    pub(crate) const fn new() -> Self {
        Counters {
            #[cfg(feature = "stats")]
            counts: counts::Counts::new(),
        }
    }

    #[cfg(feature = "stats")]
    pub(crate) fn read(&self) -> Stats {
        self.counts.read()
    }

    #[inline(always)]
    pub(crate) fn count(&self, event: Event) {
        #[cfg(feature = "stats")]
        self.counts.count(KIND, event);
        here::count(event);
    }

    /// Counts `event` if it `happened`.
    #[inline(always)]
    pub(crate) fn count_if(&self, happened: bool, event: Event) {
        if happened {
            self.count(event);
        }
    }

    /// Counts an acquisition: at once if it was `taken`, or else by `wait`, which acquires as in `how` or gives up at
    /// its deadline. Returns whether it was acquired.
    #[inline(always)]
    pub(crate) fn acquisition(&self, taken: bool, wait: impl FnOnce() -> bool, how: Event) -> bool {
        self.acquisition_by(taken, || {
            let got = wait();
            self.count_if(got, how);
            got
        })
    }

    /// Counts like [`Counters::acquisition`], with a `wait` that itself counts how it acquires.
    #[inline(always)]
    pub(crate) fn acquisition_by(&self, taken: bool, wait: impl FnOnce() -> bool) -> bool {
        if taken {
            self.count(Event::Acquired);
            return true;
        }
        self.count(Event::Contended);
        let got = wait();
        self.count_if(!got, Event::TimedOut);
        got
    }

    /// Counts an attempt; returns whether the lock was `taken`.
    #[inline(always)]
    pub(crate) fn attempt(&self, taken: bool) -> bool {
        self.count(if taken { Event::Acquired } else { Event::TryFailed });
        taken
    }

    /// Counts the outcome of a call of [`Platform::park`](crate::platform::Platform::park).
    #[inline(always)]
    pub(crate) fn count_sleep(&self, parked: Parked) {
        self.count_if(parked != Parked::Changed, Event::Slept);
        match parked {
            Parked::Woken => self.count(Event::Woken),
            Parked::Changed | Parked::Interrupted => self.count(Event::WokenEarly),
            Parked::TimedOut => {}
        }
    }
}

#[cfg(feature = "stats")]
pub use counts::totals;

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "thread-events")]
    use crate::raw::{RawLock, RawTimedLock};
    use std::string::ToString;

    #[test]
    fn names_differ_and_every_event_is_at_its_place() {
        for (index, event) in Event::ALL.iter().enumerate() {
            assert_eq!(*event as usize, index);
            assert!(!event.meaning().is_empty());
            assert_eq!(Event::ALL.iter().filter(|other| other.name() == event.name()).count(), 1);
        }
        assert!(Kind::ALL.iter().enumerate().all(|(index, kind)| *kind as usize == index));
    }

    #[cfg(feature = "thread-events")]
    #[test]
    fn a_thread_counts_its_own_waits_and_nothing_else() {
        use crate::platform::{Clock, Deadline};
        let mutex = crate::RawMutex::new();
        let before = here::read();
        mutex.lock();
        assert_eq!(here::read(), before, "nobody waited");
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| {
                let soon = Deadline { clock: Clock::Monotonic, at: 1 };
                assert!(!mutex.lock_until(soon));
                let before = here::read();
                here::count(Event::Spun);
                here::count(Event::SpunQueued);
                here::count(Event::Acquired);
                let between: std::vec::Vec<u32> =
                    here::read().iter().zip(before).map(|(now, then)| now - then).collect();
                assert_eq!(between, [0, 0, 0, 2, 0, 0]);
            });
            waiter.join().unwrap();
        });
        assert_eq!(here::read(), before, "another thread's");
        // SAFETY: contract of `RawLock::unlock`: this thread has just locked it.
        unsafe { mutex.unlock() };
    }

    #[cfg(feature = "thread-events")]
    #[test]
    fn contention_is_reported_by_the_first_thread_that_does_not_get_a_lock() {
        use core::sync::atomic::AtomicU32;
        use core::sync::atomic::Ordering::Relaxed;
        static WORD: AtomicU32 = AtomicU32::new(0);
        here::count(Event::Contended); // no word is registered
        here::report_contention(&WORD);
        for happened in Event::ALL {
            // Other tests' locks set the word, too.
            if matches!(happened, Event::Contended | Event::TryFailed) {
                WORD.store(0, Relaxed);
                here::count(*happened);
                assert_eq!(WORD.load(Relaxed), 1, "{happened:?}");
            }
        }
        let mutex = crate::RawMutex::new();
        mutex.lock();
        WORD.store(0, Relaxed);
        assert!(!mutex.try_lock());
        assert_eq!(WORD.load(Relaxed), 1);
    }

    #[test]
    fn a_difference_is_what_happened_in_between() {
        let mut early = Stats::ZERO;
        early.0[Event::Slept as usize] = 3;
        let mut late = early;
        late.0[Event::Slept as usize] = 5;
        late.0[Event::Woken as usize] = 1;
        let between = late - early;
        assert_eq!((between[Event::Slept], between.get(Event::Woken), between.get(Event::Acquired)), (2, 1, 0));
        assert_eq!(between + early, late);
        assert_eq!(between.iter().map(|(_, count)| count).sum::<u64>(), 3);
        assert_eq!(between.to_string(), "slept 2, woken 1");
        assert_eq!(Stats::ZERO.to_string(), "nothing happened");
    }
}
