//! The mutex of Linux 3.7 to 3.10 on x86-64, before and after the two patches of `mutex_spinners` (W. Long, "mutex:
//! Improve mutex performance by doing less atomic-ops & better spinning", April 2013).
//!
//! | bytes | word | meaning | written by |
//! |---|---|---|---|
//! | 4 | count | free, held, or held and a thread may sleep: see below | all threads |
//! | 8 | `wait_lock` | guards the list | [`KernelTicketLock`] |
//! | 4 | owner | token of the owner, 0: none, or not yet, or no longer | the thread that takes the lock; `unlock`, first of all |
//! | 16 | list | the sleepers, longest first | the owner of `wait_lock` |
//! | 8 | spinners | tail of the MCS queue: with patch 2 only | spinners |
//!
//! All 40 bytes are in one cache line, as there: the owner's stores disturb the spinners.
//!
//! The count is signed. The word holds one less than the kernel's, so that zero bytes are a free lock:
//!
//! | kernel's count | word | state |
//! |---|---|---|
//! | 1 | 0 | free |
//! | 0 | -1 | held, no waiters |
//! | below 0 | below -1 | held, or being released; a thread may sleep |
//!
//! Invariants:
//! 1. A thread that changes the count from free has the lock.
//! 2. A waiter that sleeps is in the list, and the count is below 0; an `unlock` that finds it so sets the count to
//!    free and wakes the first in the list, under `wait_lock`. The first stays in the list until it has the lock.
//! 3. The list is empty or the count is below 0, except between that release and the next waiter's check of the count.
//!
//! **`unlock` touches the lock after releasing it**: the slow half sets the count to free, and then still has
//! `wait_lock`. A thread that got the lock and frees its memory at once frees it while the last owner still uses it.

pub mod mcs;
pub mod policy;

pub use policy::{Baseline, NoSpin, Patch1, Patch1And2, Policy};

use crate::ticket::KernelTicketLock;
use crate::wait::{self, List, Slice, Waiter};
use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use policy::Spinners;
use turnwise::platform::{DefaultPlatform, IntWord, Pause, Platform, Preempt, SpinLimit, Token, Word};
use turnwise::raw::{GuardNoSend, RawLock};

const FREE: u32 = 0;
const HELD: u32 = FREE.wrapping_sub(1);
/// The count that is the kernel's -1: held, and a thread may sleep.
const WAITERS: u32 = FREE.wrapping_sub(2);
/// The value of the owner's word when there is no owner.
const NOBODY: u32 = 0;

/// Returns the kernel's count for that of the word.
const fn kernels(count: u32) -> i32 {
    count.wrapping_add(1).cast_signed()
}

/// The mutex without data, in the version `V`. Zero bytes are an unlocked mutex.
#[repr(C)]
pub struct LinuxMutex<V: Policy, P: Platform = DefaultPlatform> {
    count: P::U32,
    wait_lock: KernelTicketLock<P>,
    owner: P::U32,
    list: List<P>,
    spinners: V::Spinners<P>,
}

lock_basics! { LinuxMutex<V>, |lock|
    count: kernels(lock.count.load(Relaxed)), owner: lock.owner.load(Relaxed), list: !lock.list.is_empty()
}

/// How a spinner's round ended.
enum Round {
    Acquired,
    Again,
    Sleep,
}

// SAFETY: one thread takes the count from free to held, and acquires (linux_mutex.acquire) what the last owner released
// (linux_mutex.release); the owner field names its thread, so guards stay on it.
unsafe impl<V: Policy, P: Platform> RawLock for LinuxMutex<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        LinuxMutex {
            count: P::U32::new(FREE),
            wait_lock: KernelTicketLock::new_in(),
            owner: P::U32::new(NOBODY),
            list: List::new_in(),
            spinners: V::Spinners::new_in(),
        }
    }

    #[inline]
    fn lock(&self) {
        // ORDERING linux_mutex.acquire: pairs with linux_mutex.release; shows what the last owner wrote.
        if self.count.fetch_sub(1, Acquire) == FREE {
            self.set_owner();
        } else {
            self.lock_slow();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        let taken = self.exchange();
        if taken {
            self.set_owner();
        }
        taken
    }

    /// Releases the lock; if a thread may sleep, wakes the one that came first. It may touch the lock after another
    /// thread has it.
    #[inline]
    unsafe fn unlock(&self) {
        self.owner.store(NOBODY, Relaxed);
        // ORDERING linux_mutex.release: pairs with linux_mutex.acquire: shows what we wrote.
        if self.count.fetch_add(1, Release) != HELD {
            self.unlock_slow();
        }
    }

    /// Returns whether a thread has the lock at this moment, or is about to release it.
    fn is_locked(&self) -> bool {
        self.count.load(Relaxed) != FREE
    }
}

impl<V: Policy, P: Platform> LinuxMutex<V, P> {
    fn set_owner(&self) {
        self.owner.store(P::current().get(), Relaxed);
    }

    /// Takes a free lock, by a compare-exchange.
    #[inline]
    fn exchange(&self) -> bool {
        // ORDERING linux_mutex.acquire: pairs with linux_mutex.release, as in `lock`.
        self.count.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn unlock_slow(&self) {
        let list = self.list.lock(&self.wait_lock);
        // ORDERING linux_mutex.release: pairs with linux_mutex.acquire, as in `unlock`. From here on another thread may
        // have the lock.
        self.count.store(FREE, Release);
        if let Some(first) = list.first() {
            first.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self) {
        P::me(); // a thread that contends gets a name, so that others can check whether it runs
        P::preempt(Preempt::Off);
        if !(V::SPINS && self.spin()) {
            self.lock_asleep();
        }
        P::preempt(Preempt::On);
    }

    /// Spins while the owner runs; `true`: acquired.
    fn spin(&self) -> bool {
        if V::Spinners::<P>::GATE {
            let owner = Token::new(self.owner.load(Relaxed));
            if owner.is_some_and(|owner| !wait::runs::<P>(owner)) {
                return false;
            }
        }
        let mut slice = Slice::begin::<P>();
        loop {
            match self.spinners.round(|| self.spin_round(&mut slice)) {
                Round::Acquired => return true,
                Round::Sleep => return false,
                Round::Again => P::pause(Pause::Relax),
            }
        }
    }

    fn spin_round(&self, slice: &mut Slice) -> Round {
        let owner = Token::new(self.owner.load(Relaxed));
        if owner.is_some_and(|owner| !self.spin_on_owner(owner, slice)) {
            return Round::Sleep;
        }
        if (!V::LOOKS_FIRST || self.count.load(Relaxed) == FREE) && self.exchange() {
            self.set_owner();
            return Round::Acquired;
        }
        // No thread is the owner, and yet the lock is taken: its owner is about to store its name, or was preempted.
        if owner.is_none() && slice.is_over::<P>() { Round::Sleep } else { Round::Again }
    }

    /// Waits while `owner` is the owner and runs; `true`: now there is none. An owner that succeeds another is a sign
    /// of much contention, and ends the spinning.
    fn spin_on_owner(&self, owner: Token, slice: &Slice) -> bool {
        let limit = SpinLimit { until: slice.end, owner: Some(owner), need_resched: true, ..SpinLimit::NONE };
        let now = P::spin_until(&self.owner, |now| now != owner.get(), limit);
        now.unwrap_or_else(|_| self.owner.load(Relaxed)) == NOBODY
    }

    /// Waits in the list, asleep. Preemption is off except for the sleep itself.
    fn lock_asleep(&self) {
        let claimed = Cell::new(false);
        let sleep = |me: &Waiter<P>| {
            P::preempt(Preempt::On);
            me.sleep();
            P::preempt(Preempt::Off);
        };
        let list = self.list.lock(&self.wait_lock).wait_until(
            |_| claimed.set(self.claim()),
            sleep,
            |_, _| claimed.get() || self.claim(),
        );
        self.set_owner();
        if list.is_empty() {
            self.count.store(HELD, Relaxed);
        }
    }

    /// Announces that a thread sleeps; `true`: the lock was free, and is ours. The caller has `wait_lock`.
    fn claim(&self) -> bool {
        // As on x86: any count below 0 makes the next `unlock` take the slow half.
        if V::LOOKS_FIRST && kernels(self.count.load(Relaxed)) < 0 {
            return false; // announced already
        }
        // ORDERING linux_mutex.acquire: pairs with linux_mutex.release, as in `lock`.
        self.count.swap(WAITERS, Acquire) == FREE
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<LinuxMutex<Patch1And2>>() == 40, "as there");
    assert!(size_of::<LinuxMutex<Patch1>>() == 32, "patch 2 costs 8 bytes");
    assert!(size_of::<LinuxMutex<Baseline>>() == 32, "patch 1 costs nothing");
    assert!(size_of::<LinuxMutex<NoSpin>>() == 32, "and without spinning neither does patch 2");
};
