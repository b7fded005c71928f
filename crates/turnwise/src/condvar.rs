//! A condition variable in twelve bytes, for [`crate::Mutex`].
//!
//! | word | meaning |
//! |---|---|
//! | `sequence` | bits 1..32: notifications so far, modulo 2^31; bit 0: `SEVERAL`; waiters sleep on it |
//! | `waiters` | threads in [`RawCondvar::wait`] |
//! | `mutex` | where the first waiter's mutex lies: distance from here in 4-byte words, 0: no thread waited yet |
//!
//! A waiter reads the sequence, releases the mutex and sleeps on the sequence unless it changed. `notify_all` wakes one
//! waiter and moves the others over to the mutex's sleepers, where each unlock wakes the next: no thundering herd.
//! The woken one acquires the mutex as a woken thread ([`RawMutex::lock_as_woken`]), so its unlock wakes the next; a
//! moved thread is thus never forgotten.
//!
//! Waiters may have different mutexes. The first one's is noted, for good. A waiter with a different one sets `SEVERAL`
//! before it sleeps, and `notify_all` wakes all at once from then on. Since flag and notifications are one word, which
//! the kernel compares as it moves the sleepers, no thread is moved to a mutex that is not its own.
//!
//! A waiter would miss a notification if the sequence came round to the same value between its look and its sleep:
//! 2^31 notifications in some nanoseconds. With no waiters a notification is one load.

use crate::events::{Counters, Event, Kind};
use crate::mutex::{MutexGuard, RawMutex};
use crate::order::suspend;
use crate::platform::{Deadline, DefaultPlatform, IntWord, Lane, Parked, Platform, Word};
use crate::raw::RawLock;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

/// The flag in the sequence that not all waiters had the noted mutex. It is never cleared.
const SEVERAL: u32 = 1;
/// One notification in the sequence.
const NOTIFICATION: u32 = 2;

/// How a timed wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was up before a notification came.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// The condition variable for [`RawMutex`]. Zero bytes: no thread waits.
#[repr(C)]
pub struct RawCondvar<P: Platform = DefaultPlatform> {
    sequence: P::U32,
    waiters: P::U32,
    mutex: P::U32,
    counters: Counters<{ Kind::Condvar as usize }>,
}

impl RawCondvar {
    /// Creates a condition variable on which no thread waits.
    #[must_use]
    pub const fn new() -> Self {
        use core::sync::atomic::AtomicU32;
        RawCondvar {
            sequence: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
            mutex: AtomicU32::new(0),
            counters: Counters::new(),
        }
    }
}

impl Default for RawCondvar {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> RawCondvar<P> {
    /// Creates a condition variable on any platform.
    pub fn new_in() -> Self {
        RawCondvar {
            sequence: P::U32::new(0),
            waiters: P::U32::new(0),
            mutex: P::U32::new(0),
            counters: Counters::new(),
        }
    }

    /// Releases `mutex`, waits for a notification or `deadline`, and acquires `mutex` again. Returns how the wait
    /// ended; like every condition variable it may also wake up spuriously.
    ///
    /// # Safety
    /// The caller holds `mutex`.
    pub unsafe fn wait(&self, mutex: &RawMutex<P>, deadline: Option<Deadline>) -> WaitTimeoutResult {
        let sequence = self.prepare(mutex);
        // SAFETY: contract of `wait`: the caller holds the mutex.
        unsafe { mutex.unlock() };
        let parked = self.sleep(sequence, deadline);
        self.finish(mutex, parked)
    }

    /// Begins [`RawCondvar::wait`]; returns the sequence for [`RawCondvar::sleep`]. The caller holds `mutex`.
    fn prepare(&self, mutex: &RawMutex<P>) -> u32 {
        // A thread that notifies after it held the mutex after us sees this: the mutex orders the two.
        self.waiters.fetch_add(1, Relaxed);
        let sequence = self.sequence.load(Relaxed);
        if sequence & SEVERAL != 0 || self.is_noted(mutex) {
            return sequence;
        }
        // Also keeps a `notify_all` that is under way from moving us.
        self.sequence.fetch_or(SEVERAL, Relaxed) | SEVERAL
    }

    /// Notes where `mutex` lies if it is the first; returns whether it is the noted one.
    fn is_noted(&self, mutex: &RawMutex<P>) -> bool {
        let distance = self.distance(mutex);
        let noted = match self.mutex.load(Relaxed) {
            0 => self.mutex.compare_exchange(0, distance, Relaxed, Relaxed).unwrap_or_else(|found| found),
            noted => noted,
        };
        distance != 0 && (noted == 0 || noted == distance)
    }

    /// Sleeps until notified. The caller has released its mutex.
    fn sleep(&self, sequence: u32, deadline: Option<Deadline>) -> Parked {
        loop {
            let parked = P::park(&self.sequence, sequence, Lane::Waiters, deadline);
            self.counters.count_sleep(parked);
            match parked {
                // We were not notified, and cannot have been moved to the mutex.
                Parked::Interrupted if self.sequence.load(Relaxed) == sequence => {}
                parked => return parked,
            }
        }
    }

    /// Ends [`RawCondvar::wait`]: acquires the mutex again.
    fn finish(&self, mutex: &RawMutex<P>, parked: Parked) -> WaitTimeoutResult {
        self.waiters.fetch_sub(1, Relaxed);
        // Whatever woke us, others may have been moved to the mutex in the same instant: keep its duty to wake.
        mutex.lock_as_woken();
        self.counters.count_if(parked == Parked::TimedOut, Event::TimedOut);
        WaitTimeoutResult(parked == Parked::TimedOut)
    }

    /// Wakes one waiter, if there is any: the longest sleeper, but threads with real-time priority first.
    pub fn notify_one(&self) {
        if self.waiters.load(Relaxed) != 0 {
            self.counters.count(Event::Notified);
            self.sequence.fetch_add(NOTIFICATION, Relaxed);
            P::wake(&raw const self.sequence, Lane::Waiters, 1);
        }
    }

    /// Wakes all waiters: one at once, each of the others when the mutex is free for it; all at once if there were ever
    /// waiters with different mutexes.
    pub fn notify_all(&self) {
        if self.waiters.load(Relaxed) == 0 {
            return;
        }
        self.counters.count(Event::Notified);
        let sequence = self.sequence.fetch_add(NOTIFICATION, Relaxed).wrapping_add(NOTIFICATION);
        let mutex = if sequence & SEVERAL == 0 { self.mutex_word() } else { None };
        let moved = mutex.and_then(|word| P::requeue(&self.sequence, sequence, word));
        if moved.is_none() {
            P::wake(&raw const self.sequence, Lane::Waiters, u32::MAX);
        }
    }

    /// Returns the distance to the mutex's word, if it fits.
    fn distance(&self, mutex: &RawMutex<P>) -> u32 {
        let from = core::ptr::from_ref(self).addr() as isize;
        let to = core::ptr::from_ref(mutex.word()).addr() as isize;
        let bytes = to.wrapping_sub(from);
        if bytes % 4 != 0 {
            return 0;
        }
        i32::try_from(bytes / 4).map_or(0, i32::cast_unsigned)
    }

    /// Returns the address of the mutex's word; the mutex may be gone.
    fn mutex_word(&self) -> Option<*const P::U32> {
        let distance = self.mutex.load(Relaxed).cast_signed();
        let here = core::ptr::from_ref(self).cast::<u8>();
        (distance != 0).then(|| here.wrapping_offset(distance as isize * 4).cast())
    }
}

/// A condition variable for [`crate::Mutex`].
///
/// ```
/// use turnwise::{Condvar, Mutex};
///
/// let (ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         *ready.lock() = true;
///         changed.notify_one();
///     });
///     let mut ready = ready.lock();
///     while !*ready {
///         changed.wait(&mut ready);
///     }
/// });
/// ```
pub struct Condvar<P: Platform = DefaultPlatform> {
    raw: RawCondvar<P>,
}

impl Condvar {
    /// Creates a condition variable on which no thread waits.
    #[must_use]
    pub const fn new() -> Self {
        Condvar { raw: RawCondvar::new() }
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> Condvar<P> {
    /// Creates a condition variable on any platform.
    pub fn new_in() -> Self {
        Condvar { raw: RawCondvar::new_in() }
    }

    /// Releases the mutex, waits for a notification, and acquires the mutex again. It may wake up spuriously: call it
    /// in a loop that tests the condition. Threads may wait with different mutexes; once they did, `notify_all` wakes
    /// its waiters all at once instead of one after the other.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>) {
        self.wait_on(guard, None);
    }

    /// Waits while `condition` holds.
    pub fn wait_while<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>, mut condition: impl FnMut(&mut T) -> bool) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Waits like [`Condvar::wait`], for at most `timeout`.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>, timeout: Duration) -> WaitTimeoutResult {
        self.wait_until(guard, Deadline::after::<P>(timeout))
    }

    /// Waits like [`Condvar::wait`], until `deadline` at most.
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>, deadline: Deadline) -> WaitTimeoutResult {
        self.wait_on(guard, Some(deadline))
    }

    fn wait_on<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>, deadline: Option<Deadline>) -> WaitTimeoutResult {
        let mutex = MutexGuard::mutex(guard);
        let _suspended = suspend(mutex.name());
        // SAFETY: contract of `RawCondvar::wait`: the guard has the lock, and is borrowed until `wait` has it again.
        unsafe { self.raw.wait(mutex.raw(), deadline) }
    }

    /// Wakes one waiter, if there is any: the longest sleeper, but threads with real-time priority first.
    pub fn notify_one(&self) {
        self.raw.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.raw.notify_all();
    }
}

#[cfg(feature = "stats")]
impl<P: Platform> RawCondvar<P> {
    /// Returns what has happened to this condition variable so far.
    pub fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }
}

#[cfg(feature = "stats")]
impl<P: Platform> Condvar<P> {
    /// Returns what has happened to this condition variable so far.
    pub fn stats(&self) -> crate::events::Stats {
        self.raw.stats()
    }
}

impl<P: Platform> core::fmt::Debug for Condvar<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
