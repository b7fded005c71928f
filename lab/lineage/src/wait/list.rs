//! A list of waiters, each on the stack of its thread, and the lock that guards it: first come, first woken.

use crate::ticket::KernelTicketLock;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Lane, Platform, Word};
use turnwise::raw::RawLock;

/// What a waiter waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// A waiter's word: it sleeps, or is about to.
const ASLEEP: u32 = 1;
/// A waiter's word: it was woken, or granted the lock.
const AWAKE: u32 = 0;

/// A thread in a list. Only the owner of the lock that guards the list accesses its place and its kind.
///
/// It is on a cache line of its own, wherever the compiler puts it in a stack frame.
#[repr(align(64))]
pub(crate) struct Waiter<P: Platform> {
    next: P::Ptr<Waiter<P>>,
    prev: P::Ptr<Waiter<P>>,
    word: P::U32,
    pub(crate) kind: Kind,
}

impl<P: Platform> Waiter<P> {
    fn new(kind: Kind, word: u32) -> Self {
        let null = || P::Ptr::new(ptr::null_mut());
        Waiter { next: null(), prev: null(), word: P::U32::new(word), kind }
    }

    /// Sleeps unless woken since the word was set to [`ASLEEP`]. It may wake up spuriously.
    pub(crate) fn sleep(&self) {
        P::park(&self.word, ASLEEP, Lane::Waiters, None);
    }

    /// Wakes the waiter if it sleeps or is about to; like the kernel's, this costs nothing when it does not.
    ///
    /// The caller has the list's lock, which the waiter takes before it goes away.
    pub(crate) fn wake(&self) {
        if self.word.load(Relaxed) == ASLEEP {
            self.word.store(AWAKE, Relaxed);
            P::wake(&raw const self.word, Lane::Waiters, 1);
        }
    }

    /// Grants `waiter`, which is no longer in a list, what it waits for, and wakes it.
    ///
    /// The waiter returns from [`Waiter::await_grant`] without taking a lock: the store is the last access to the node,
    /// and the wake-up uses only its address. (A pointer, since a reference would guarantee that the node stays.)
    ///
    /// # Safety
    /// `waiter` was in a list whose lock the caller has, and was not granted since.
    unsafe fn grant(waiter: *const Self) {
        // SAFETY: contract of `grant`: the waiter is not granted yet, so it stays in place until the store.
        let word = unsafe { &raw const (*waiter).word };
        // SAFETY: contract of `grant`: the waiter is not granted yet, so it stays in place until this store.
        // ORDERING waiter.grant: pairs with the Acquire in `await_grant`; shows what the granter and those before did.
        unsafe { &*word }.store(AWAKE, Release);
        P::wake(word, Lane::Waiters, 1);
    }

    /// Sleeps until granted. The word was [`ASLEEP`] from the beginning.
    fn await_grant(&self) {
        // ORDERING waiter.grant: pairs with the Release in `grant`: shows what the granter did.
        while self.word.load(Acquire) != AWAKE {
            self.sleep();
        }
    }
}

/// The list: the kernel's `wait_list`. Zero bytes are an empty list.
#[repr(C)]
pub(crate) struct List<P: Platform> {
    head: P::Ptr<Waiter<P>>,
    tail: P::Ptr<Waiter<P>>,
}

/// The list while the calling thread has its lock, the kernel's `wait_lock`: no other thread adds or removes a waiter.
pub(crate) struct Locked<'a, P: Platform> {
    lock: &'a KernelTicketLock<P>,
    list: &'a List<P>,
}

impl<P: Platform> List<P> {
    pub(crate) fn new_in() -> Self {
        let null = || P::Ptr::new(ptr::null_mut());
        List { head: null(), tail: null() }
    }

    /// Returns whether there are no waiters; a hint for a thread that does not have the lock.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Relaxed).is_null()
    }

    /// Locks the list by its lock, which is the same one each time.
    #[inline]
    pub(crate) fn lock<'a>(&'a self, lock: &'a KernelTicketLock<P>) -> Locked<'a, P> {
        lock.lock();
        Locked { lock, list: self }
    }
}

impl<P: Platform> Drop for Locked<'_, P> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: contract of `RawLock::unlock`: `List::lock` has locked it.
        unsafe { self.lock.unlock() };
    }
}

impl<P: Platform> Locked<'_, P> {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns whether `waiter` is the only one in the list.
    pub(crate) fn is_alone(&self, waiter: &Waiter<P>) -> bool {
        ptr::eq(self.list.head.load(Relaxed), waiter) && ptr::eq(self.list.tail.load(Relaxed), waiter)
    }

    /// Returns the waiter that came first.
    pub(crate) fn first(&self) -> Option<&Waiter<P>> {
        // SAFETY: contract of `push`: a waiter in the list stays in place until it is removed, for which the list is
        // borrowed exclusively.
        unsafe { self.list.head.load(Relaxed).as_ref() }
    }

    /// Returns how many readers stand before the first writer, and whether they are the whole list.
    pub(crate) fn readers_first(&self) -> (u32, bool) {
        let (mut readers, mut next) = (0, self.first());
        while let Some(reader) = next.filter(|next| next.kind == Kind::Read) {
            readers += 1;
            // SAFETY: contract of `push`: a waiter in the list stays in place until it is removed.
            next = unsafe { reader.next.load(Relaxed).as_ref() };
        }
        (readers, next.is_none())
    }

    /// Removes the first waiter and grants it what it waits for, if there is one and `may` says so; returns whether it
    /// did.
    pub(crate) fn grant_first_if(&mut self, may: impl FnOnce(&Self, &Waiter<P>) -> bool) -> bool {
        let Some(first) = self.first().filter(|first| may(self, first)) else { return false };
        let first = ptr::from_ref(first);
        // SAFETY: it is in the list, hence in place; removed and granted once.
        unsafe {
            self.remove(&*first);
            Waiter::grant(first);
        }
        true
    }

    /// Waits in the list, which is unlocked, until granted. `joined` comes before that, when the waiter is in the list.
    #[inline]
    pub(crate) fn wait_for_grant(mut self, kind: Kind, joined: impl FnOnce(&mut Self)) {
        let me = Waiter::new(kind, ASLEEP);
        // SAFETY: `me` is fresh, and stays until it is granted, hence removed.
        unsafe { self.push(&me) };
        joined(&mut self);
        drop(self);
        me.await_grant();
    }

    /// Waits in the list as a writer until `taken`, which is asked under the lock, first after `joined` and then
    /// whenever the waiter was woken; `sleep` is [`Waiter::sleep`] with what comes around it.
    #[inline]
    #[track_caller]
    pub(crate) fn wait_until(
        mut self,
        joined: impl FnOnce(&mut Self),
        sleep: impl Fn(&Waiter<P>),
        mut taken: impl FnMut(&Self, &Waiter<P>) -> bool,
    ) -> Self {
        let me = Waiter::new(Kind::Write, AWAKE);
        // SAFETY: `me` is fresh, and stays until it is removed below.
        unsafe { self.push(&me) };
        joined(&mut self);
        while !taken(&self, &me) {
            me.word.store(ASLEEP, Relaxed);
            let (lock, list) = (self.lock, self.list);
            drop(self);
            sleep(&me);
            self = list.lock(lock);
        }
        // SAFETY: it is in the list: a writer that is only woken stays there.
        unsafe { self.remove(&me) };
        self
    }

    /// Appends a waiter.
    ///
    /// # Safety
    /// `waiter` is in no list, and stays in place until it is removed.
    unsafe fn push(&mut self, waiter: &Waiter<P>) {
        let (last, new) = (self.list.tail.load(Relaxed), ptr::from_ref(waiter).cast_mut());
        waiter.prev.store(last, Relaxed);
        waiter.next.store(ptr::null_mut(), Relaxed);
        // SAFETY: contract of `push`: a waiter in the list stays in place until it is removed.
        unsafe { last.as_ref() }.map_or(&self.list.head, |last| &last.next).store(new, Relaxed);
        self.list.tail.store(new, Relaxed);
    }

    /// Removes a waiter, wherever it stands.
    ///
    /// # Safety
    /// `waiter` is in this list.
    unsafe fn remove(&mut self, waiter: &Waiter<P>) {
        let (prev, next) = (waiter.prev.load(Relaxed), waiter.next.load(Relaxed));
        // SAFETY: contract of `push`: the neighbours are in the list, hence in place.
        let (before, after) = unsafe { (prev.as_ref(), next.as_ref()) };
        before.map_or(&self.list.head, |before| &before.next).store(next, Relaxed);
        after.map_or(&self.list.tail, |after| &after.prev).store(prev, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;
    use turnwise::platform::DefaultPlatform;

    type W = Waiter<DefaultPlatform>;

    fn order(list: &Locked<'_, DefaultPlatform>) -> Vec<*const W> {
        // SAFETY: the waiters outlive the lists of these tests.
        let after = |waiter: &&W| unsafe { waiter.next.load(Relaxed).as_ref() };
        std::iter::successors(list.first(), after).map(ptr::from_ref).collect()
    }

    #[test]
    fn waiters_leave_from_every_place() {
        for leaves in 0..3 {
            let (lock, list) = (KernelTicketLock::new_in(), List::new_in());
            let waiters = [(); 3].map(|()| W::new(Kind::Write, AWAKE));
            let mut list = list.lock(&lock);
            // SAFETY: the waiters stay in place.
            unsafe { waiters.iter().for_each(|w| list.push(w)) };
            assert!(!list.is_alone(&waiters[0]));
            // SAFETY: it is in the list.
            unsafe { list.remove(&waiters[leaves]) };
            let rest: Vec<_> = (0..3).filter(|&n| n != leaves).map(|n| &raw const waiters[n]).collect();
            assert_eq!(order(&list), rest);
            // SAFETY: contract of `push`: the waiter is in no list, and stays in place.
            unsafe { list.push(&waiters[leaves]) };
            assert_eq!(order(&list)[2], &raw const waiters[leaves]);
            // SAFETY: all are in the list.
            unsafe { rest.iter().for_each(|&w| list.remove(&*w)) };
            assert!(list.is_alone(&waiters[leaves]) && !list.is_empty());
            // SAFETY: it is in the list.
            unsafe { list.remove(&waiters[leaves]) };
            assert!(list.is_empty());
        }
    }
}
