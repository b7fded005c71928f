//! A lock and two condition variables, of all kinds.

use super::NO_PANIC;
use crate::load::monitor::{Monitor, Tell};
use libc::{pthread_cond_t, pthread_mutex_t};
use std::cell::UnsafeCell;

/// A mutex of some kind with its condition variables.
pub struct Pair<M, C> {
    mutex: M,
    conditions: [C; 2],
}

/// A mutex and a condition variable that waits with a guard of it in place.
macro_rules! in_place {
    ($library:ident) => {
        impl<T: Send + 'static> Monitor<T> for Pair<$library::Mutex<T>, $library::Condvar> {
            fn new(value: T) -> Self {
                Pair { mutex: $library::Mutex::new(value), conditions: [const { $library::Condvar::new() }; 2] }
            }

            #[inline]
            fn enter<R>(
                &self,
                on: usize,
                mut wait: impl FnMut(&mut T) -> bool,
                f: impl FnOnce(&mut T) -> (R, Tell),
            ) -> R {
                let mut guard = self.mutex.lock();
                while wait(&mut guard) {
                    self.conditions[on].wait(&mut guard);
                }
                let (result, tell) = f(&mut guard);
                tell.by(|on| self.conditions[on].notify_one(), |on| self.conditions[on].notify_all());
                result
            }
        }
    };
}

in_place!(turnwise);
in_place!(parking_lot);

impl<T: Send + 'static> Monitor<T> for Pair<std::sync::Mutex<T>, std::sync::Condvar> {
    fn new(value: T) -> Self {
        Pair { mutex: std::sync::Mutex::new(value), conditions: Default::default() }
    }

    #[inline]
    fn enter<R>(&self, on: usize, mut wait: impl FnMut(&mut T) -> bool, f: impl FnOnce(&mut T) -> (R, Tell)) -> R {
        let mut guard = self.mutex.lock().expect(NO_PANIC);
        while wait(&mut guard) {
            guard = self.conditions[on].wait(guard).expect(NO_PANIC);
        }
        let (result, tell) = f(&mut guard);
        tell.by(|on| self.conditions[on].notify_one(), |on| self.conditions[on].notify_all());
        result
    }
}

/// The C library's mutex and condition variables, and the data that they protect.
pub struct PthreadMonitor<T> {
    mutex: UnsafeCell<pthread_mutex_t>,
    conditions: [UnsafeCell<pthread_cond_t>; 2],
    data: UnsafeCell<T>,
}

impl<T> Drop for PthreadMonitor<T> {
    fn drop(&mut self) {
        // SAFETY: no thread has the mutex and none waits: we own all of them.
        unsafe {
            self.conditions.iter().for_each(|condition| {
                libc::pthread_cond_destroy(condition.get());
            });
            libc::pthread_mutex_destroy(self.mutex.get());
        }
    }
}

// SAFETY: the mutex gives `&mut T` to one thread at a time.
unsafe impl<T: Send> Sync for PthreadMonitor<T> {}

impl<T: Send + 'static> Monitor<T> for PthreadMonitor<T> {
    fn new(value: T) -> Self {
        PthreadMonitor {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            conditions: [const { UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER) }; 2],
            data: UnsafeCell::new(value),
        }
    }

    #[inline]
    fn enter<R>(&self, on: usize, mut wait: impl FnMut(&mut T) -> bool, f: impl FnOnce(&mut T) -> (R, Tell)) -> R {
        // SAFETY: statically initialised, and it does not move while it is borrowed.
        let locked = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        debug_assert_eq!(locked, 0);
        // SAFETY: we have the mutex; the reference ends before it is released.
        while wait(unsafe { &mut *self.data.get() }) {
            // SAFETY: initialised as the mutex is, which we have; all waits on it name this mutex.
            unsafe { libc::pthread_cond_wait(self.conditions[on].get(), self.mutex.get()) };
        }
        // SAFETY: we have the mutex.
        let (result, tell) = f(unsafe { &mut *self.data.get() });
        // SAFETY: initialised; this thread acquired the mutex above.
        unsafe {
            tell.by(
                |on| libc::pthread_cond_signal(self.conditions[on].get()),
                |on| libc::pthread_cond_broadcast(self.conditions[on].get()),
            );
            libc::pthread_mutex_unlock(self.mutex.get());
        }
        result
    }
}
