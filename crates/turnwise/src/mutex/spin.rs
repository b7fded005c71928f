//! The mutex as a spinner sees it ([`crate::wait::spin`]).

use super::raw::{OWNER, RawMutex, WAITERS};
use super::wait::Waiter;
use crate::events::Event;
use crate::osq::Osq;
use crate::platform::{Deadline, Platform, Token};
use crate::wait::{Contender, Found, spin};

struct Spinner<'a, P: Platform> {
    waiter: &'a mut Waiter,
    lock: &'a RawMutex<P>,
}

impl<'a, P: Platform> Contender<'a, P> for Spinner<'a, P> {
    fn word(&self) -> &'a P::U32 {
        &self.lock.word
    }

    fn queue(&self) -> &'a Osq<P> {
        &self.lock.spinners
    }

    fn queues(&self) -> bool {
        !self.waiter.is_first()
    }

    fn found(&self, word: u32) -> Found {
        match Token::new(word & OWNER) {
            _ if self.waiter.may_take(word) => Found::Free,
            None => Found::Reserved,
            owner => Found::Held(owner),
        }
    }

    fn take(&mut self, word: u32) -> bool {
        let taken = self.waiter.take(self.lock, word);
        self.lock.counters.count_if(taken && word & WAITERS != 0, Event::Stole);
        taken
    }
}

impl Waiter {
    /// Spins for the lock; returns whether it acquired it.
    pub(super) fn spin<P: Platform>(&mut self, lock: &RawMutex<P>, deadline: Option<Deadline>) -> bool {
        let settings = self.settings;
        let mut since = self.since;
        let end = spin(&mut Spinner { waiter: self, lock }, &settings, deadline, &mut since);
        self.since = since;
        let (Ok(how) | Err(how)) = end;
        lock.counters.count(how);
        end.is_ok()
    }
}
