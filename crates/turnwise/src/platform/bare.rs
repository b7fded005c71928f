//! A machine without an operating system: waits spin, and threads have no identity.
//!
//! It makes the locks usable in a kernel before that kernel has its own `Platform`. There is no clock, so deadlines
//! count calls of [`Bare::now`]; write your own platform for real time-outs.

use super::{Deadline, Lane, Parked, Pause, Platform, SpinLimit};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The platform that only spins; every thread is [`Token::ANONYMOUS`](super::Token::ANONYMOUS).
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

    fn park(word: &AtomicU32, expected: u32, _lane: Lane, deadline: Option<Deadline>) -> Parked {
        let limit = SpinLimit { until: deadline.map(|deadline| deadline.at), ..SpinLimit::NONE };
        match Self::spin_until(word, |value| value != expected, limit) {
            Ok(_) => Parked::Changed,
            Err(_) => Parked::TimedOut,
        }
    }

    fn wake(_word: *const AtomicU32, _lane: Lane, _count: u32) -> u32 {
        0 // a parked thread sees the word change
    }

    fn now() -> u64 {
        static TICKS: AtomicU64 = AtomicU64::new(0);
        TICKS.fetch_add(1, Relaxed)
    }
}
