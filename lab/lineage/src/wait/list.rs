//! A list of waiters, each on the stack of its thread: first come, first woken.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, Lane, Platform, Word};

/// What a waiter waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// A waiter's word: it sleeps, or is about to.
pub(crate) const ASLEEP: u32 = 1;
/// A waiter's word: it was woken, or granted the lock.
pub(crate) const AWAKE: u32 = 0;

/// A thread in a list. Only the owner of the lock that guards the list accesses its place and its kind.
///
/// It is on a cache line of its own, wherever the compiler puts it in a stack frame.
#[repr(align(64))]
pub(crate) struct Waiter<P: Platform> {
    next: P::Ptr<Waiter<P>>,
    prev: P::Ptr<Waiter<P>>,
    pub(crate) word: P::U32,
    pub(crate) kind: Kind,
}

impl<P: Platform> Waiter<P> {
    pub(crate) fn new(kind: Kind, word: u32) -> Self {
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
    pub(crate) unsafe fn grant(waiter: *const Self) {
        // SAFETY: contract of `grant`: the waiter is not granted yet, so it stays in place until the store.
        let word = unsafe { &raw const (*waiter).word };
        // SAFETY: contract of `grant`: the waiter is not granted yet, so it stays in place until this store.
        // ORDERING waiter.grant: pairs with the Acquire in `await_grant`; shows what the granter and those before did.
        unsafe { &*word }.store(AWAKE, Release);
        P::wake(word, Lane::Waiters, 1);
    }

    /// Sleeps until granted. The word was [`ASLEEP`] from the beginning.
    pub(crate) fn await_grant(&self) {
        // ORDERING waiter.grant: pairs with the Release in `grant`: shows what the granter did.
        while self.word.load(Acquire) != AWAKE {
            self.sleep();
        }
    }
}

/// The list. Zero bytes are an empty list. Only the owner of the lock that guards it may call its methods.
#[repr(C)]
pub(crate) struct List<P: Platform> {
    head: P::Ptr<Waiter<P>>,
    tail: P::Ptr<Waiter<P>>,
}

impl List<DefaultPlatform> {
    pub(crate) const fn new() -> Self {
        use core::sync::atomic::AtomicPtr;
        List { head: AtomicPtr::new(ptr::null_mut()), tail: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<P: Platform> List<P> {
    pub(crate) fn new_in() -> Self {
        List { head: P::Ptr::new(ptr::null_mut()), tail: P::Ptr::new(ptr::null_mut()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Relaxed).is_null()
    }

    /// Returns whether `waiter` is the only one in the list.
    pub(crate) fn is_alone(&self, waiter: &Waiter<P>) -> bool {
        ptr::eq(self.head.load(Relaxed), waiter) && ptr::eq(self.tail.load(Relaxed), waiter)
    }

    /// Returns the waiter that came first.
    ///
    /// # Safety
    /// The caller has the list's lock, and uses the waiter only while it has, and not after it was removed and granted.
    pub(crate) unsafe fn first(&self) -> Option<&Waiter<P>> {
        // SAFETY: contract of `push`: a waiter in the list stays in place until it is removed.
        unsafe { self.head.load(Relaxed).as_ref() }
    }

    /// Returns the waiter that came after `waiter`.
    ///
    /// # Safety
    /// As for [`List::first`]; `waiter` is in the list.
    pub(crate) unsafe fn after<'a>(&self, waiter: &'a Waiter<P>) -> Option<&'a Waiter<P>> {
        // SAFETY: contract of `push`: a waiter in the list stays in place until it is removed.
        unsafe { waiter.next.load(Relaxed).as_ref() }
    }

    /// Appends a waiter.
    ///
    /// # Safety
    /// The caller has the list's lock; `waiter` is in no list, and stays in place until it is removed.
    pub(crate) unsafe fn push(&self, waiter: &Waiter<P>) {
        let (last, new) = (self.tail.load(Relaxed), ptr::from_ref(waiter).cast_mut());
        waiter.prev.store(last, Relaxed);
        waiter.next.store(ptr::null_mut(), Relaxed);
        // SAFETY: contract of `push`: a waiter in the list stays in place until it is removed.
        unsafe { last.as_ref() }.map_or(&self.head, |last| &last.next).store(new, Relaxed);
        self.tail.store(new, Relaxed);
    }

    /// Removes a waiter, wherever it stands.
    ///
    /// # Safety
    /// The caller has the list's lock; `waiter` is in this list.
    pub(crate) unsafe fn remove(&self, waiter: &Waiter<P>) {
        let (prev, next) = (waiter.prev.load(Relaxed), waiter.next.load(Relaxed));
        // SAFETY: contract of `push`: the neighbours are in the list, hence in place.
        let (before, after) = unsafe { (prev.as_ref(), next.as_ref()) };
        before.map_or(&self.head, |before| &before.next).store(next, Relaxed);
        after.map_or(&self.tail, |after| &after.prev).store(prev, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    type W = Waiter<DefaultPlatform>;

    fn order(list: &List<DefaultPlatform>) -> Vec<*const W> {
        let mut found = Vec::new();
        // SAFETY: one thread, and the waiters outlive the lists of these tests.
        let mut next = unsafe { list.first() };
        while let Some(waiter) = next {
            found.push(ptr::from_ref(waiter));
            // SAFETY: contract of `List::after`: one thread, and the waiter is in the list.
            next = unsafe { list.after(waiter) };
        }
        found
    }

    #[test]
    fn waiters_leave_from_every_place() {
        for leaves in 0..3 {
            let list = List::new();
            let waiters = [(); 3].map(|()| W::new(Kind::Write, AWAKE));
            // SAFETY: one thread; the waiters stay in place.
            unsafe { waiters.iter().for_each(|w| list.push(w)) };
            assert!(!list.is_alone(&waiters[0]));
            // SAFETY: it is in the list.
            unsafe { list.remove(&waiters[leaves]) };
            let rest: Vec<_> = (0..3).filter(|&n| n != leaves).map(|n| &raw const waiters[n]).collect();
            assert_eq!(order(&list), rest);
            // SAFETY: contract of `List::push`: one thread; the waiter is in no list, and stays in place.
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
