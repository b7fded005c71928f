//! The readers-writer lock as a spinner sees it ([`crate::wait::spin`]).
//!
//! Writers, and threads that wait to be upgradable, join the queue. Readers need none: one writer's release lets them
//! all in.

use super::raw::{COUNT, HELD, RawRwSem, WRITER};
use super::wait::{Kind, Waiter};
use crate::osq::Osq;
use crate::platform::{Deadline, Platform, SpinLimit, Token, Word};
use crate::wait::{Contender, Found, policy, spin};
use core::sync::atomic::Ordering::Relaxed;

impl<P: Platform> RawRwSem<P> {
    /// Returns the token number of the writer that has the lock, 0 if none has it, for diagnostics. A writer that has
    /// just acquired the lock may not have stored its own yet.
    pub fn writer(&self) -> u32 {
        self.writer_of(self.word.load(Relaxed))
    }

    /// Returns the token number of the writer in `word`, as noted next to the word; 0 if there is no writer.
    fn writer_of(&self, word: u32) -> u32 {
        if word & WRITER != 0 { self.owner.load(Relaxed) } else { 0 }
    }
}

struct Spinner<'a, P: Platform> {
    waiter: &'a mut Waiter,
    lock: &'a RawRwSem<P>,
}

impl<'a, P: Platform> Contender<'a, P> for Spinner<'a, P> {
    fn word(&self) -> &'a P::U32 {
        &self.lock.word
    }

    fn queue(&self) -> &'a Osq<P> {
        &self.lock.spinners
    }

    fn queues(&self) -> bool {
        !self.waiter.is_first() && !matches!(self.waiter.kind, Kind::Reader(_))
    }

    /// Successive readers count as one section; each successive writer is a new one, with a new owner to watch.
    fn found(&self, word: u32) -> Found {
        let barred = self.waiter.barred_by(word);
        let held = match self.waiter.kind {
            Kind::Reader(_) => WRITER,
            _ => HELD,
        };
        if barred == 0 {
            Found::Free
        } else if barred & !HELD != 0 || word & held == 0 {
            Found::Reserved
        } else {
            Found::Held(Token::new(self.lock.writer_of(word)))
        }
    }

    fn take(&mut self, word: u32) -> bool {
        self.waiter.take(self.lock, word, false)
    }
}

impl Waiter {
    /// Spins for the lock; returns whether it acquired it.
    pub(super) fn spin<P: Platform>(&mut self, lock: &RawRwSem<P>, deadline: Option<Deadline>) -> bool {
        let settings = self.settings;
        let mut since = self.since;
        let end = spin(&mut Spinner { waiter: self, lock }, &settings, deadline, &mut since);
        self.since = since;
        let (Ok(how) | Err(how)) = end;
        lock.counters.count(how);
        end.is_ok()
    }
}

/// Spins briefly for the upgrader: the readers may leave.
pub(super) fn upgrade<P: Platform>(lock: &RawRwSem<P>, deadline: Option<Deadline>) {
    let end = P::now().saturating_add(2 * policy().still_ns);
    let until = Some(deadline.map_or(end, |deadline| deadline.monotonic::<P>().min(end)));
    let limit = SpinLimit { until, still_ns: Some(u32::MAX), ..SpinLimit::NONE };
    let _ = P::spin_until(&lock.word, |now| now & COUNT == 0, limit);
}
