//! The techniques of spinning for the lock before a sleep that the paper and the issue behind it compare.
//!
//! All techniques stop after a number of tries, when a thread is queued (except the last), and when the owner is off
//! its CPU. The paper has these rules for its own technique; the others get them too, so that nothing else differs.

use super::queue::Waiter;
use super::{NOBODY, OsvMutex};
use crate::sealed::Sealed;
use core::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{OnCpu, Pause, Platform, Token, Word};

/// The number of tries of the paper's spin.
pub const TRIES: u32 = 1000;

/// How a thread that does not get the lock at once spins for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Technique {
    /// It does not spin.
    None,
    /// It spins in the count, not in the queue, until the lock is on offer. This is the paper's technique.
    Offer,
    /// It spins in the count, not in the queue, until it is the only one in the count, then until the lock is on offer.
    OnlyOne,
    /// It spins outside the count, by tries like those of `try_lock`.
    Polling,
    /// It spins in the queue, until it is woken.
    Woken,
}

/// A version of the lock. The types below are all there are.
pub trait Policy: Sealed + Send + Sync + 'static {
    /// How a thread spins.
    const TECHNIQUE: Technique;
    /// The maximum number of tries of a spin.
    const TRIES: u32;
    /// Whether the waker makes the waiter the owner, which otherwise does that itself as it runs. Spinners then also
    /// see a lock whose owner is not running while it is handed over.
    const OWNER_AT_WAKE: bool = false;
}

versions! {
    /// The original, without spinning.
    NoSpin { const TECHNIQUE: Technique = Technique::None; const TRIES: u32 = 0; }
    /// The paper's technique, number 2: up to `N` polls for an offer, between the count and the queue.
    Spin<N = TRIES> { const TECHNIQUE: Technique = Technique::Offer; const TRIES: u32 = N; }
    /// Technique 1: wait for a count of 1, then take the offer.
    SpinToOne<N = TRIES> { const TECHNIQUE: Technique = Technique::OnlyOne; const TRIES: u32 = N; }
    /// Technique 3: not counted while it spins.
    SpinPolling<N = TRIES> { const TECHNIQUE: Technique = Technique::Polling; const TRIES: u32 = N; }
    /// Spinning in the queue: a delayed sleep.
    SpinAfterPush<N = TRIES> { const TECHNIQUE: Technique = Technique::Woken; const TRIES: u32 = N; }
}

/// The version `V`, with the owner set by its waker.
pub struct OwnerAtWake<V>(core::marker::PhantomData<V>);

impl<V: Policy> Policy for OwnerAtWake<V> {
    const TECHNIQUE: Technique = V::TECHNIQUE;
    const TRIES: u32 = V::TRIES;
    const OWNER_AT_WAKE: bool = true;
}

impl<V> Sealed for OwnerAtWake<V> {}

impl<V: Policy, P: Platform> OsvMutex<V, P> {
    /// Spins by technique 3, before the thread is in the count; returns whether it has the lock.
    pub(super) fn poll(&self, me: Token) -> bool {
        self.try_lock_as(me) || self.tries(|| self.try_lock_as(me))
    }

    /// Spins by technique 1 or 2, when the thread is in the count; returns whether it is responsible for the lock.
    #[inline]
    pub(super) fn spin_before_push(&self) -> bool {
        match V::TECHNIQUE {
            Technique::Offer => self.tries(|| self.take_offer()),
            Technique::OnlyOne => self.tries(|| self.count.load(Relaxed) == 1 && self.take_offer()),
            _ => false,
        }
    }

    /// Spins when the thread is in the queue; returns whether the lock was handed to it.
    #[inline]
    pub(super) fn spin_after_push(&self, waiter: &Waiter<P>) -> bool {
        if V::TECHNIQUE != Technique::Woken {
            return false;
        }
        for _ in 0..V::TRIES {
            if waiter.is_woken() {
                return true;
            }
            if self.owner_is_off() {
                return false;
            }
            P::pause(Pause::Relax);
        }
        false
    }

    /// Makes up to the policy's number of tries, while it pays; returns whether one succeeded.
    fn tries(&self, mut once: impl FnMut() -> bool) -> bool {
        for _ in 0..V::TRIES {
            if !self.queue.looks_empty() || self.owner_is_off() {
                return false;
            }
            if once() {
                return true;
            }
            P::pause(Pause::Relax);
        }
        false
    }

    /// Returns whether there is an owner, and it does not run.
    fn owner_is_off(&self) -> bool {
        let owner = self.owner.load(Relaxed);
        owner != NOBODY && Token::new(owner as u32).is_some_and(|owner| P::on_cpu(owner) == OnCpu::NotRunning)
    }
}
