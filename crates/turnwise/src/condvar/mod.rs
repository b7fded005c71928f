//! A condition variable in sixteen bytes, for [`crate::Mutex`]. (Waiters that `notify_all` moves to the mutex: the
//! requeue of Linux's futex, 2003.) Example: [`Condvar`].
//!
//! ```text
//! wait        read the sequence; another mutex than that of the first wait: set SEVERAL
//!             alone, and polling has paid: set POLLING; else waiters + 1. Release the mutex
//!             POLLING: poll the sequence for some microseconds; news: lock, done; else waiters + 1, clear POLLING
//!             park on the sequence unless it has news; waiters - 1; acquire the mutex as a woken thread
//! notify_one  a waiter, or POLLING: notifications + 1, clear POLLING; it was not set: wake one
//! notify_all  the same; waiters: wake one and requeue the others to the mutex, where each unlock wakes the next: no
//!             thundering herd. SEVERAL, or the platform cannot: wake all
//! ```
//!
//! | word | meaning |
//! |---|---|
//! | `sequence` | bits 2..32: notifications so far, modulo 2^30; bit 1: `POLLING`; bit 0: `SEVERAL`; waiters sleep on it |
//! | `waiters` | threads in [`Condvar::wait_raw`], except one that polls and those notified while they polled |
//! | `mutex` | location of the first waiter's mutex: distance from here in 4-byte words, 0: no thread waited yet |
//! | `spin_then_sleep` | results of the polls so far ([`SpinThenSleep`]) |
//!
//! Invariants:
//! 1. A waiter sleeps only if no notification came between its check (under the mutex) and its sleep: it would miss one
//!    if 2^30 came in these nanoseconds, or in the microseconds of its polling.
//! 2. A thread that was requeued is woken: the woken waiter acquires the mutex as a woken thread
//!    ([`RawMutex::lock_as_woken`]), so its unlock wakes the next, and all that were requeued there have that mutex.
//! 3. While `waiters` is 0 and `POLLING` is not set by a thread of this process, every earlier waiter has been
//!    notified, or has left. A poller is counted among the waiters before it clears the flag.
//! 4. A thread that sleeps on the sequence while `SEVERAL` is clear has the recorded mutex. Flag and notifications
//!    share one word, which the kernel compares as it requeues.
//!
//! Guarantees, of ordering (A) and of progress (P):
//! - A1. Data are ordered by the mutex alone: a notification orders nothing but a poller's flag (condvar.polls).
//! - A2. A thread that notifies under the mutex touches neither object after it has released that: the last waiter to
//!   return may free both.
//! - P1. No notification is lost (invariants 1 and 3), and no waiter forgotten on a mutex (invariants 2 and 4).
//! - P2. `notify_one` wakes the longest waiter, but threads of real-time priority first; a waiter that timed out or
//!   polls takes no other's notification along. Wake-ups may be spurious.
//! - P3. With no waiter, a notification is two loads. In a forked child a poller of the parent is void.

mod spin_then_sleep;

pub use spin_then_sleep::SpinThenSleep;

use crate::events::{Counters, Event, Kind};
use crate::mutex::{MutexGuard, RawMutex};
use crate::order::suspend;
use crate::platform::{Deadline, DefaultPlatform, Hint, IntWord, Lane, Parked, Platform, Word};
use crate::raw::RawLock;
use crate::wait::SleepingLock;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

/// The sequence's flag for "not all waiters had the recorded mutex". It is never cleared.
const SEVERAL: u32 = 1;
/// The sequence's flag for "a waiter polls it": the next notification is for that waiter.
const POLLING: u32 = 2;
/// One notification in the sequence.
const NOTIFICATION: u32 = 4;

/// Returns whether no notification came between these two values of the sequence, regardless of the flags.
fn no_news(before: u32, now: u32) -> bool {
    before / NOTIFICATION == now / NOTIFICATION
}

/// A notification for which a thread waited.
struct Notified {
    /// The sequence including it.
    sequence: u32,
    /// A waiter polled, and has received it.
    polled: bool,
    /// Waiters sleep, or are about to.
    slept: bool,
}

/// How a timed wait ended.
///
/// ```
/// use std::time::Duration;
/// use turnwise::{Condvar, Mutex};
///
/// let (ready, changed) = (Mutex::new(false), Condvar::new());
/// assert!(changed.wait_for(&mut ready.lock(), Duration::from_millis(1)).timed_out());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns whether the wait timed out before a notification came.
    #[must_use]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable for [`crate::Mutex`], or for a [`RawMutex`]. All-zero bytes: no thread waits.
///
/// ```
/// use turnwise::{Condvar, Mutex};
///
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
/// std::thread::spawn(|| {
///     *READY.lock() = true;
///     CHANGED.notify_one();
/// });
/// let mut ready = READY.lock();
/// CHANGED.wait_while(&mut ready, |ready| !*ready);
/// assert!(*ready, "and the mutex is held");
/// ```
#[repr(C)]
pub struct Condvar<P: Platform = DefaultPlatform> {
    sequence: P::U32,
    waiters: P::U32,
    mutex: P::U32,
    spin_then_sleep: SpinThenSleep<P>,
    counters: Counters<{ Kind::Condvar as usize }>,
}

raw_constructors!(default Condvar, "a condition variable on which no thread waits", {
    sequence: U32,
    waiters: U32,
    mutex: U32,
    spin_then_sleep: [SpinThenSleep<P>],
    counters: (Counters::new()),
});

impl<P: Platform> Condvar<P> {
    /// Releases `mutex`, waits for a notification or `deadline`, and acquires `mutex` again. Returns how the wait
    /// ended; as with every condition variable, wake-ups may be spurious.
    ///
    /// # Safety
    /// The caller holds `mutex`.
    ///
    /// ```
    /// use turnwise::platform::{Clock, Deadline};
    /// use turnwise::{Condvar, RawLock, RawMutex};
    ///
    /// let (mutex, changed) = (RawMutex::new(), Condvar::new());
    /// mutex.lock();
    /// // SAFETY: this thread holds the mutex.
    /// let ended = unsafe { changed.wait_raw(&mutex, Some(Deadline { clock: Clock::Monotonic, at: 0 })) };
    /// // SAFETY: it holds it again.
    /// unsafe { mutex.unlock() };
    /// assert!(ended.timed_out());
    /// ```
    pub unsafe fn wait_raw(&self, mutex: &RawMutex<P>, deadline: Option<Deadline>) -> WaitTimeoutResult {
        let sequence = self.record_mutex(mutex);
        let polling = self.begin_to_poll(sequence);
        if polling.is_none() {
            // A thread that holds the mutex after us and then notifies sees this: the mutex orders the two.
            self.waiters.fetch_add(1, Relaxed);
        }
        // SAFETY: contract of `wait_raw`: the caller holds the mutex.
        unsafe { mutex.unlock() };
        if let Some(sequence) = polling
            && self.poll(sequence, deadline)
        {
            mutex.lock();
            return WaitTimeoutResult(false);
        }
        let parked = self.sleep(sequence, deadline);
        self.finish(mutex, parked)
    }

    /// Records the waiter's mutex, or that there are several; returns the sequence. The caller holds the mutex.
    fn record_mutex(&self, mutex: &RawMutex<P>) -> u32 {
        let sequence = self.sequence.load(Relaxed);
        if sequence & SEVERAL != 0 || self.is_recorded(mutex) {
            return sequence;
        }
        // Also keeps a `notify_all` in progress from requeueing us.
        self.sequence.fetch_or(SEVERAL, Relaxed) | SEVERAL
    }

    /// Sets `POLLING` if no other thread waits and polling has paid; returns the sequence if it did. The caller holds
    /// its mutex, which shows the flag to a thread that holds the mutex after us and then notifies.
    fn begin_to_poll(&self, sequence: u32) -> Option<u32> {
        if P::hint(Hint::Cpus) < 2 || self.waiters.load(Relaxed) != 0 || self.is_polled(sequence) {
            return None; // the only CPU is needed by the thread that will notify
        }
        let (clear, set) = (sequence & !POLLING, sequence | POLLING);
        self.spin_then_sleep.begin(&self.sequence, sequence, clear, set).then_some(set)
    }

    /// Returns whether a thread of this process polls the sequence.
    fn is_polled(&self, sequence: u32) -> bool {
        sequence & POLLING != 0 && self.spin_then_sleep.is_of_this_process()
    }

    /// Polls for a notification for some microseconds; returns whether one came. If not, the caller is counted among
    /// the waiters, and goes to sleep.
    fn poll(&self, sequence: u32, deadline: Option<Deadline>) -> bool {
        if self.spin_then_sleep.watch(&self.sequence, |now| !no_news(sequence, now), deadline) {
            return true;
        }
        self.waiters.fetch_add(1, Relaxed);
        let mut now = self.sequence.load(Relaxed);
        while no_news(sequence, now) {
            // ORDERING condvar.polls: Release pairs with the Acquire in `notify`: a thread that finds that no waiter
            // polls finds us among the waiters.
            match self.sequence.compare_exchange(now, now & !POLLING, Release, Relaxed) {
                Ok(_) => return false,
                Err(found) => now = found,
            }
        }
        self.waiters.fetch_sub(1, Relaxed);
        true
    }

    /// Records the location of `mutex` if it is the first; returns whether it is the recorded one.
    fn is_recorded(&self, mutex: &RawMutex<P>) -> bool {
        let distance = self.distance(mutex);
        let recorded = match self.mutex.load(Relaxed) {
            0 => self.mutex.compare_exchange(0, distance, Relaxed, Relaxed).unwrap_or_else(|found| found),
            recorded => recorded,
        };
        distance != 0 && (recorded == 0 || recorded == distance)
    }

    /// Sleeps until notified. The caller has released its mutex.
    fn sleep(&self, sequence: u32, deadline: Option<Deadline>) -> Parked {
        let mut expected = sequence;
        loop {
            let parked = P::park(&self.sequence, expected, Lane::Waiters, deadline);
            self.counters.count_sleep(parked);
            if matches!(parked, Parked::Interrupted | Parked::Changed) {
                let now = self.sequence.load(Relaxed);
                if no_news(sequence, now) {
                    expected = now; // not notified, nor requeued to the mutex: at most a flag has changed
                    continue;
                }
            }
            return parked;
        }
    }

    /// Finishes [`Condvar::wait_raw`]: acquires the mutex again.
    fn finish(&self, mutex: &RawMutex<P>, parked: Parked) -> WaitTimeoutResult {
        self.waiters.fetch_sub(1, Relaxed);
        // Whatever woke us, others may have been requeued to the mutex at the same time: keep its duty to wake.
        mutex.lock_as_woken();
        self.counters.count_if(parked == Parked::TimedOut, Event::TimedOut);
        WaitTimeoutResult(parked == Parked::TimedOut)
    }

    /// Wakes one waiter, if there is any: one with real-time priority, or else the one that has waited longest.
    #[inline]
    pub fn notify_one(&self) {
        if let Some(Notified { polled: false, .. }) = self.notify() {
            P::wake(&raw const self.sequence, Lane::Waiters, 1);
        }
    }

    /// Wakes all waiters: one immediately, each of the others when the mutex is free for it; all immediately if there
    /// were ever waiters with different mutexes.
    pub fn notify_all(&self) {
        let Some(Notified { sequence, slept: true, .. }) = self.notify() else { return };
        let mutex = if sequence & SEVERAL == 0 { self.mutex_word() } else { None };
        let moved = mutex.and_then(|word| P::requeue(&self.sequence, sequence, word));
        if moved.is_none() {
            P::wake(&raw const self.sequence, Lane::Waiters, u32::MAX);
        }
    }

    /// Adds a notification, if any thread waits. A waiter that polls thereby receives it.
    fn notify(&self) -> Option<Notified> {
        // ORDERING condvar.polls: Acquire pairs with the Release in `poll`: a waiter that has cleared the flag is among
        // the waiters that we see.
        let mut before = self.sequence.load(Acquire);
        let mut counted = false;
        loop {
            let polled = self.is_polled(before);
            // A flag without its thread, from before a `fork`: the forking thread itself may have set it.
            let slept = self.waiters.load(Relaxed) != 0 || before & POLLING != 0 && !polled;
            if !polled && !slept {
                return None;
            }
            self.counters.count_if(!counted, Event::Notified); // first: the notified thread may free the memory
            counted = true;
            let sequence = (before & !POLLING).wrapping_add(NOTIFICATION);
            // ORDERING condvar.polls: as above, if it fails.
            match self.sequence.compare_exchange(before, sequence, Relaxed, Acquire) {
                Ok(_) => return Some(Notified { sequence, polled, slept }),
                Err(found) => before = found,
            }
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

impl<P: Platform> Condvar<P> {
    /// Releases the mutex, waits for a notification, and acquires the mutex again. Wake-ups may be spurious: call it in
    /// a loop that tests the condition. Threads may wait with different mutexes; once they have, `notify_all` wakes its
    /// waiters all at once instead of one after the other.
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
        // SAFETY: contract of `wait_raw`: the guard has the lock, and is borrowed until `wait_raw` has it again.
        unsafe { self.wait_raw(mutex.raw(), deadline) }
    }
}

#[cfg(feature = "stats")]
impl<P: Platform> Condvar<P> {
    /// Returns what has happened to this condition variable so far.
    pub fn stats(&self) -> crate::events::Stats {
        self.counters.read()
    }
}

shows!([P: Platform] Condvar<P>, |condvar| waiters: condvar.waiters.load(Relaxed));

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::{Condvar, NOTIFICATION, POLLING, SEVERAL};
    use crate::Mutex;
    use core::sync::atomic::Ordering::Relaxed;

    #[test]
    fn notifications_arrive_across_the_end_of_the_sequence() {
        const REPLIES: u32 = 64;
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        changed.sequence.store(NOTIFICATION.wrapping_mul(3).wrapping_neg(), Relaxed);
        std::thread::scope(|s| {
            for mine in 0..2 {
                let (turn, changed) = (&turn, &changed);
                s.spawn(move || {
                    let mut now = turn.lock();
                    while *now < REPLIES {
                        if *now % 2 == mine {
                            *now += 1;
                            changed.notify_one();
                        } else {
                            changed.wait(&mut now);
                        }
                    }
                });
            }
        });
        let sequence = changed.sequence.load(Relaxed) & !(POLLING | SEVERAL);
        assert!(sequence < REPLIES * NOTIFICATION, "it has not come round: {sequence:#x}");
    }
}
