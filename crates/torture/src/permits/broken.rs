//! Semaphores that are wrong on purpose.

use super::Permits;
use crate::lock::{Held, Lock};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use turnwise::platform::{Deadline, Lane, Native, Platform};

/// Permits, and one who claims the next ones.
pub struct Words {
    permits: AtomicU32,
    claimed: AtomicU32,
}

impl Words {
    fn take(&self, n: u32) -> bool {
        let less = |permits: u32| permits.checked_sub(n);
        self.claimed.load(SeqCst) == 0 && self.permits.fetch_update(SeqCst, SeqCst, less).is_ok()
    }

    fn add(&self, n: u32) {
        self.permits.fetch_add(n, SeqCst);
    }

    fn wake_all(&self) {
        Native::wake(&raw const self.permits, Lane::Waiters, u32::MAX);
    }

    /// Sleeps until somebody gives permits back, if fewer than `n` are there.
    fn sleep(&self, n: u32, deadline: Option<Deadline>) {
        let permits = self.permits.load(SeqCst);
        if permits < n {
            Native::park(&self.permits, permits, Lane::Waiters, deadline);
        } else {
            pause();
        }
    }
}

/// Between a look and what rests on it. Sleeping lets the others come in even if there is one CPU for all.
fn pause() {
    std::thread::sleep(Duration::from_micros(50));
}

/// What is wrong; the default methods make a sound semaphore, which serves whoever comes at the right moment.
pub trait Flaw: Send + Sync + 'static {
    /// As [`Permits::try_take`].
    fn try_take(words: &Words, n: u32) -> bool {
        words.take(n)
    }

    /// As [`Permits::take_until`]; without a deadline it waits for ever.
    fn wait(words: &Words, n: u32, deadline: Option<Deadline>) -> bool {
        while !Self::try_take(words, n) {
            if deadline.is_some_and(Deadline::expired::<Native>) {
                return false;
            }
            words.sleep(n, deadline);
        }
        true
    }

    /// As [`Permits::give`].
    fn give(words: &Words, n: u32) {
        words.add(n);
        words.wake_all();
    }
}

/// Nothing but its order is wrong.
pub struct Barges;
impl Flaw for Barges {}

/// Wakes nobody.
pub struct WakesNobody;
impl Flaw for WakesNobody {
    fn give(words: &Words, n: u32) {
        words.add(n);
    }
}

/// Looks, then stores.
pub struct TornTake;
impl Flaw for TornTake {
    fn try_take(words: &Words, n: u32) -> bool {
        let permits = words.permits.load(SeqCst);
        if permits < n {
            return false;
        }
        pause();
        words.permits.store(permits - n, SeqCst);
        true
    }
}

/// A timed waiter takes what there is, and gives up with it.
pub struct KeepsPermits;
impl Flaw for KeepsPermits {
    fn wait(words: &Words, n: u32, deadline: Option<Deadline>) -> bool {
        let Some(deadline) = deadline else { return Barges::wait(words, n, None) };
        (0..n).all(|_| Barges::wait(words, 1, Some(deadline)))
    }
}

/// A timed waiter keeps the others out, and gives up without letting them in.
pub struct KeepsClaim;
impl Flaw for KeepsClaim {
    fn wait(words: &Words, n: u32, deadline: Option<Deadline>) -> bool {
        let Some(deadline) = deadline else { return Barges::wait(words, n, None) };
        let got = Barges::wait(words, n, Some(deadline));
        if !got {
            words.claimed.store(1, SeqCst);
        }
        got
    }
}

/// A timed waiter does not wait.
pub struct Hasty;
impl Flaw for Hasty {
    fn wait(words: &Words, n: u32, deadline: Option<Deadline>) -> bool {
        if deadline.is_some() { words.take(n) } else { Barges::wait(words, n, None) }
    }
}

/// One permit and a flaw.
pub struct BrokenPermits<F> {
    words: Words,
    flaw: PhantomData<F>,
}

impl<F> Default for BrokenPermits<F> {
    fn default() -> Self {
        let words = Words { permits: AtomicU32::new(1), claimed: AtomicU32::new(0) };
        BrokenPermits { words, flaw: PhantomData }
    }
}

impl<F: Flaw> Permits for BrokenPermits<F> {
    fn take(&self, n: u32) {
        F::wait(&self.words, n, None);
    }

    fn try_take(&self, n: u32) -> bool {
        F::try_take(&self.words, n)
    }

    fn take_until(&self, n: u32, deadline: Deadline) -> bool {
        F::wait(&self.words, n, Some(deadline))
    }

    fn give(&self, n: u32) {
        F::give(&self.words, n);
    }
}

impl<F: Flaw> Lock for BrokenPermits<F> {
    fn acquire(&self) -> Held {
        unreachable!("it is taken by number")
    }

    fn try_acquire(&self) -> Option<Held> {
        unreachable!("it is taken by number")
    }

    unsafe fn release(&self, _held: Held) {
        unreachable!("it is taken by number")
    }

    fn permits(&self) -> &dyn Permits {
        self
    }

    fn words(&self) -> String {
        format!("{} permits, claimed: {}", self.words.permits.load(SeqCst), self.words.claimed.load(SeqCst))
    }
}
