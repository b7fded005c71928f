//! A machine without an operating system: waits spin, and threads have no identity.
//!
//! It makes the locks usable in a kernel before that kernel has its own `Platform`. There is no clock, so deadlines
//! count calls of [`Bare::now`]; write your own platform for real time-outs.

use super::{Deadline, Lane, Me, OnCpu, Parked, Pause, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The platform that only spins; every thread is [`Token::ANONYMOUS`].
///
/// ```
/// use turnwise::Mutex;
/// use turnwise::platform::Bare;
///
/// let pages = Mutex::<u64, Bare>::new_in(0);
/// *pages.lock() += 1;
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Bare;

// SAFETY: contract of `Platform`: `me` never hands out a slot, so none can be mixed up.
unsafe impl Platform for Bare {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Ptr<T: 'static> = AtomicPtr<T>;

    /// A nap is a spin hint: the clock cannot measure its length.
    #[inline(always)]
    fn pause(pause: Pause) {
        match pause {
            Pause::Nap(_) => Pause::Relax.by_default::<Self>(),
            pause => pause.by_default::<Self>(),
        }
    }

    fn spin_until<W: Word>(
        word: &W,
        mut ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        loop {
            let value = word.load(Relaxed);
            if ready(value) {
                return Ok(value);
            }
            if limit.until.is_some_and(|at| Self::now() >= at) {
                return Err(SpinEnd::Deadline);
            }
            core::hint::spin_loop();
        }
    }

    fn park(word: &AtomicU32, expected: u32, _lane: Lane, deadline: Option<Deadline>) -> Parked {
        loop {
            if word.load(Relaxed) != expected {
                return Parked::Changed;
            }
            if deadline.is_some_and(Deadline::expired::<Self>) {
                return Parked::TimedOut;
            }
            core::hint::spin_loop();
        }
    }

    fn wake(_word: *const AtomicU32, _lane: Lane, _count: u32) -> u32 {
        0 // a parked thread sees the word change
    }

    fn requeue(_from: &AtomicU32, _expected: u32, _to: *const AtomicU32) -> Option<u32> {
        None
    }

    fn now() -> u64 {
        static TICKS: AtomicU64 = AtomicU64::new(0);
        TICKS.fetch_add(1, Relaxed)
    }

    #[inline(always)]
    fn current() -> Token {
        Token::ANONYMOUS
    }

    fn me() -> Option<Me<Self>> {
        None
    }

    fn slot(_token: Token) -> &'static ThreadSlot<Self> {
        unreachable!("Bare::me gives out no token")
    }

    fn on_cpu(_token: Token) -> OnCpu {
        OnCpu::Unknown
    }
}
