//! The native platform without `on_cpu`: no thread knows whether an owner runs. The benefit of the `on_cpu` layer is
//! the difference between a lock on [`Blind`] and the same lock on [`Native`].

use std::sync::OnceLock;
use turnwise::platform::native::SLOTS;
use turnwise::platform::{
    Deadline, Hint, Lane, Me, Native, OnCpu, Parked, Pause, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word,
};

/// [`Native`], but spins do not check the owner, and [`Platform::on_cpu`] returns [`OnCpu::Unknown`].
pub struct Blind;

/// By native token. Slots are typed by platform, so the native ones cannot serve.
static TABLE: [OnceLock<ThreadSlot<Blind>>; SLOTS + FIRST] = [const { OnceLock::new() }; SLOTS + FIRST];

/// Tokens below this have no slot, on the native platform neither.
const FIRST: usize = 2;

/// Defines functions that do what the native platform's do.
macro_rules! natively {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $out:ty)?;)*) => {$(
        #[inline(always)]
        fn $name($($argument: $type),*) $(-> $out)? {
            Native::$name($($argument),*)
        }
    )*};
}

// SAFETY: tokens are the native platform's, which names threads uniquely; a slot belongs to its token alone and
// lives in a static.
unsafe impl Platform for Blind {
    type U32 = <Native as Platform>::U32;
    type U64 = <Native as Platform>::U64;
    type Ptr<T: 'static> = <Native as Platform>::Ptr<T>;

    natively! {
        pause(pause: Pause);
        park(word: &Self::U32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked;
        wake(word: *const Self::U32, lane: Lane, count: u32) -> u32;
        requeue(from: &Self::U32, expected: u32, to: *const Self::U32) -> Option<u32>;
        now() -> u64;
        wall() -> u64;
        current() -> Token;
        generation() -> u32;
    }

    #[inline]
    fn spin_until<W: Word>(
        word: &W,
        ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        Native::spin_until(word, ready, SpinLimit { owner: None, ..limit })
    }

    fn me() -> Option<Me<Self>> {
        Native::me().map(|me| Me { token: me.token, slot: Self::slot(me.token) })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        TABLE[token.get() as usize].get_or_init(ThreadSlot::new_in)
    }

    fn on_cpu(_token: Token) -> OnCpu {
        OnCpu::Unknown
    }

    #[inline(always)]
    fn hint(hint: Hint) -> u32 {
        if hint == Hint::LineNs { 0 } else { Native::hint(hint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise::Mutex;

    #[test]
    fn a_lock_works_on_it() {
        let mutex = Mutex::<u64, Blind>::new_in(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..10_000).for_each(|_| *mutex.lock() += 1));
            }
        });
        assert_eq!(mutex.into_inner(), 40_000);
    }

    #[test]
    fn a_thread_keeps_its_slot_and_nothing_is_known_of_it() {
        std::thread::spawn(|| {
            let me = Blind::me().expect("a fresh thread gets a slot");
            assert!(std::ptr::eq(me.slot, Blind::slot(me.token)));
            assert_eq!(Blind::on_cpu(me.token), OnCpu::Unknown);
        })
        .join()
        .expect("the thread does not panic");
    }
}
