//! How a thread waits for the mutex: the parts of [`crate::wait::Waiter`] that are the mutex's own.

use super::raw::{BLOCKED, HANDOFF, HANDOFF_MASK, OWNER, RawMutex, STAMP, WAITERS};
use crate::events::Event;
#[cfg(feature = "spin")]
use crate::osq::Osq;
use crate::platform::{Lane, Parked, Platform, Token, Word};
use crate::wait::{Found, SleepingLock, Stamp, Waiter};
use core::sync::atomic::Ordering::Relaxed;

impl<P: Platform> SleepingLock for RawMutex<P> {
    type Platform = P;
    type Mode = ();
    const HELD: u32 = OWNER;
    const HANDOFF: u32 = HANDOFF;
    const PENDING: u32 = HANDOFF_MASK;
    const STAMP: Stamp = STAMP;

    fn word(&self) -> &P::U32 {
        &self.word
    }

    #[cfg(feature = "spin")]
    fn spinners(&self) -> &Osq<P> {
        &self.spinners
    }

    fn flag((): ()) -> u32 {
        WAITERS
    }

    fn lane((): ()) -> Lane {
        Lane::Waiters
    }

    fn found(waiter: &Waiter<'_, Self>, word: u32) -> Found {
        let barred = if waiter.is_first() {
            OWNER
        } else if waiter.woken {
            OWNER | HANDOFF
        } else {
            BLOCKED
        };
        match Token::new(word & OWNER) {
            _ if word & barred == 0 => Found::Free,
            None => Found::Reserved,
            owner => Found::Held(owner),
        }
    }

    fn take_for(waiter: &Waiter<'_, Self>, word: u32, lapsed: bool) -> bool {
        let duty = if waiter.woken { WAITERS } else { 0 };
        let kept = if word & HANDOFF_MASK == 0 { 0 } else { word & WAITERS }; // invariant 2
        let taken = waiter.lock.take(word, kept | duty);
        let stole = lapsed || !waiter.woken && word & WAITERS != 0;
        waiter.lock.counters.count_if(taken && stole, Event::Stole);
        waiter.lock.counters.count_if(taken && !stole && word & HANDOFF_MASK != 0, Event::HandedOff);
        taken
    }

    fn give_up(waiter: &Waiter<'_, Self>, word: u32) -> bool {
        if !waiter.is_first() && !waiter.woken {
            return true;
        }
        let left = waiter.lock.word.compare_exchange(word, word & !waiter.request | WAITERS, Relaxed, Relaxed).is_ok();
        if left && waiter.is_first() {
            P::wake(&raw const waiter.lock.word, Lane::First, u32::MAX);
        }
        left
    }

    fn count(&self, event: Event) {
        self.counters.count(event);
    }

    fn count_sleep(&self, parked: Parked) {
        self.counters.count_sleep(parked);
    }
}
