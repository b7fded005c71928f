//! The ia64 spin lock of `spin_backoff` (Linux 2.4 and 2.6), without back-off and with the paper's exponential one.
//!
//! The word, 4 bytes:
//!
//! | value | state | next |
//! |---|---|---|
//! | 0 | free | 1, by the first thread to come |
//! | 1 | held | 0, by the owner |
//!
//! A waiter polls by plain loads until the word is 0, then tries one compare-exchange, then polls again.
//!
//! | policy | before each poll it backs off for | from | tends to | a failed exchange |
//! |---|---|---|---|---|
//! | [`Plain`] | nothing | | | |
//! | [`ExponentialCode`] | d, then d becomes `((d << 1) & 0x1fff) \| 0xf`: 13 bits, as in the paper's code | clock & 0x3f | 8191 | begins again |
//! | [`ExponentialKept`] | the same | clock & 0x3f | 8191 | keeps d |
//! | [`ExponentialProse`] | the same with 14 bits, as in the paper's prose | clock & 0xf | 16383 | begins again |
//!
//! The sequence does not wrap to small values, as the mask might suggest: its low bits are ones, so it converges to the
//! mask. Only its beginning is random.
//!
//! The paper prints its code up to the branch taken while the lock is held, so what follows a failed exchange is open.
//! It says that the code is out of line; such a routine of Linux 2.6 returns to the caller's exchange, and is called
//! anew if that fails. Hence the delay begins again. That of early 2.4 made the exchange itself: [`ExponentialKept`].
//!
//! Invariants:
//! 1. A thread that changes 0 to 1 has the lock until it stores 0.
//! 2. That store is the owner's last access.
//!
//! **Time.** The original counts cycles of the interval timer (`ar.itc`), and so does this: [`ITC_PER_US`] to the
//! microsecond of [`Platform::now`], which are those of the 1.3 GHz processors in the simulated Altix.
//!
//! There is no order among waiters and no bound on a wait. The kernel ruled out preemption of the owner; where the
//! platform cannot, a waiter yields after each 10 us without success.

use crate::wait;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, Pause, Platform, Preempt, SpinLimit, Word};
use turnwise::raw::{GuardNoSend, RawLock};

const FREE: u32 = 0;
const HELD: u32 = 1;

/// Ticks of the interval timer in a microsecond: an Itanium 2 of 1.3 GHz.
pub const ITC_PER_US: u64 = 1300;

/// Reads the interval timer.
fn itc<P: Platform>() -> u64 {
    (u128::from(P::now()) * u128::from(ITC_PER_US) / 1000) as u64
}

/// How long a waiter stays away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delays {
    /// The bits of the clock that the first delay consists of.
    pub first: u32,
    /// The bits that a delay may have.
    pub mask: u32,
    /// Whether a failed exchange keeps the delay, instead of beginning with the first again.
    pub kept: bool,
}

impl Delays {
    /// Returns the first delay of a wait that begins at this time, in ticks.
    pub const fn begin(self, itc: u64) -> u32 {
        itc as u32 & self.first
    }

    /// Returns the delay after this one.
    pub const fn after(self, delay: u32) -> u32 {
        ((delay << 1) & self.mask) | 0xf
    }
}

/// A version of the lock. The types below are all there are.
pub trait Policy: crate::sealed::Sealed + Send + Sync + 'static {
    /// How long a waiter backs off between polls, if at all.
    const DELAYS: Option<Delays>;
}

versions! {
    /// The lock without back-off, whose waiters poll all the time.
    Plain { const DELAYS: Option<Delays> = None; }
    /// The back-off of the paper's code, in a routine that returns to the caller's exchange.
    ExponentialCode { const DELAYS: Option<Delays> = Some(Delays { first: 0x3f, mask: 0x1fff, kept: false }); }
    /// The back-off of the paper's code, in a routine that makes the exchange itself.
    ExponentialKept { const DELAYS: Option<Delays> = Some(Delays { first: 0x3f, mask: 0x1fff, kept: true }); }
    /// The back-off of the paper's prose.
    ExponentialProse { const DELAYS: Option<Delays> = Some(Delays { first: 0xf, mask: 0x3fff, kept: false }); }
}

/// The lock without data, in the version `V`. Zero bytes are an unlocked lock.
#[repr(transparent)]
pub struct Ia64SpinLock<V: Policy, P: Platform = DefaultPlatform> {
    word: P::U32,
    policy: PhantomData<V>,
}

lock_basics!(Ia64SpinLock<V>, |lock| locked: lock.is_locked());

// SAFETY: one thread makes the word held, and acquires (ia64.acquire) what the last owner released (ia64.release).
// Guards stay on their thread, whose preemption is off.
unsafe impl<V: Policy, P: Platform> RawLock for Ia64SpinLock<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        Ia64SpinLock { word: P::U32::new(FREE), policy: PhantomData }
    }

    #[inline]
    fn lock(&self) {
        P::preempt(Preempt::Off);
        if !self.take() {
            self.contended();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        wait::try_with_preempt_off::<P>(|| self.take())
    }

    /// Releases the lock. Its store is the last access.
    #[inline]
    unsafe fn unlock(&self) {
        // ORDERING ia64.release: pairs with ia64.acquire: shows what we wrote.
        self.word.store(FREE, Release);
        P::preempt(Preempt::On);
    }

    fn is_locked(&self) -> bool {
        self.word.load(Relaxed) != FREE
    }
}

readers_are_owners!([V: Policy, P: Platform] Ia64SpinLock<V, P>);

impl<V: Policy, P: Platform> Ia64SpinLock<V, P> {
    /// Takes a free lock.
    #[inline]
    fn take(&self) -> bool {
        // ORDERING ia64.acquire: pairs with ia64.release; shows what the last owner wrote.
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn contended(&self) {
        match V::DELAYS {
            None => self.wait_looking(),
            Some(delays) => self.wait_away(delays),
        }
    }

    fn wait_looking(&self) {
        loop {
            wait::spin_until::<P, _>(&self.word, |word| word == FREE);
            if self.take() {
                return;
            }
        }
    }

    fn wait_away(&self, delays: Delays) {
        let mut delay = delays.begin(itc::<P>());
        let mut failed_ns = 0;
        loop {
            failed_ns += stay_away::<P>(delay);
            delay = delays.after(delay);
            if self.word.load(Relaxed) == FREE {
                if self.take() {
                    return;
                }
                if !delays.kept {
                    delay = delays.begin(itc::<P>());
                }
            }
            if failed_ns >= wait::YIELD_NS && !wait::in_kernel::<P>() {
                P::pause(Pause::Yield);
                failed_ns = 0;
            }
        }
    }
}

/// Spends `ticks` on the CPU without touching anything shared; returns them in nanoseconds.
fn stay_away<P: Platform>(ticks: u32) -> u64 {
    let ns = (u64::from(ticks) * 1000).div_ceil(ITC_PER_US);
    let until = Some(P::now().saturating_add(ns));
    let nobody_writes = P::U32::new(0);
    let _ = P::spin_until(&nobody_writes, |_| false, SpinLimit { until, ..SpinLimit::NONE });
    ns
}

const _: () = assert!(size_of::<Ia64SpinLock<ExponentialCode>>() == 4, "one word");
