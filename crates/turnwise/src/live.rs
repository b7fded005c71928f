//! Feature `live`: a watcher is notified of this process's waits for mutexes and readers-writer locks, and may decide
//! how they wait. Crate `turnwise-live` has the watcher that keeps a live view, which `turnwise top` shows.
//!
//! Only contended paths check whether there is one: a load and a branch. Without the feature they do not.
//!
//! Reported are waits for `Mutex`, also after a condition variable's, for `ReentrantMutex` and for `RwSem` in its three
//! modes. Upgrades and waits for other locks are not.

pub use crate::wait::Tuned;

use crate::platform::native::WATCHER;
use crate::platform::{Native, Platform};
use core::any::TypeId;
use core::sync::atomic::Ordering::{Acquire, Release};

/// The way in which a thread waits for a lock.
///
/// ```
/// use turnwise::live::Kind;
///
/// let is_exclusive = |kind| matches!(kind, Kind::Mutex | Kind::Write);
/// assert!(is_exclusive(Kind::Mutex) && !is_exclusive(Kind::Read));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(clippy::exhaustive_enums, reason = "for turnwise-live, which is released with it")]
pub enum Kind {
    /// For a mutex.
    Mutex,
    /// For a readers-writer lock, to read; also with the right to upgrade.
    Read,
    /// For a readers-writer lock, to write.
    Write,
}

/// A wait that is about to begin.
///
/// ```
/// use turnwise::live::Wait;
///
/// /// What a watcher may print.
/// fn shown(wait: &Wait) -> String {
///     format!("{:?} at {:#x}, which {} has", wait.kind, wait.lock, wait.owner)
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Wait {
    /// The address of the lock.
    pub lock: usize,
    /// The way of waiting.
    pub kind: Kind,
    /// The token number of the thread that has the lock; 0 if it is not known, as for readers.
    pub owner: u32,
}

/// Functions that are called around waits. They must not wait for a lock of this crate.
///
/// ```
/// use turnwise::live::{Watcher, watch};
///
/// /// Lets each wait take place as it would without a watcher.
/// static PLAIN: Watcher = Watcher { wait: |_, acquire| _ = acquire(None), released: |_| () };
/// watch(&PLAIN);
/// ```
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "turnwise-live, which is released with it, makes one")]
pub struct Watcher {
    /// Called in place of a wait. It calls its second argument, which is the wait, with settings for it, or `None` for
    /// the policy's numbers. That call returns whether the wait ended with the lock. If the function does not make it,
    /// the wait takes place after the function returns.
    pub wait: fn(&Wait, &mut dyn FnMut(Option<Tuned>) -> bool),
    /// Called after the release of a mutex for which others waited. The lock may be gone.
    pub released: fn(usize),
}

impl Watcher {
    /// Runs a wait inside the watcher's function; returns whether it ended with the lock.
    pub(crate) fn around(&self, wait: &Wait, mut acquire: impl FnMut(Option<Tuned>) -> bool) -> bool {
        let mut acquired = None;
        // A second call would wait for a lock that this thread has.
        (self.wait)(wait, &mut |set| *acquired.get_or_insert_with(|| acquire(set)));
        acquired.unwrap_or_else(|| acquire(None))
    }
}

/// Installs `watcher` for waits on the native platform that begin from now on, in place of the previous one.
pub fn watch(watcher: &'static Watcher) {
    // ORDERING watcher.place: Release pairs with the Acquire in `watcher`: its fields are seen with it.
    WATCHER.store(core::ptr::from_ref(watcher).cast_mut(), Release);
}

/// Returns the watcher of waits on `P`, if there is one.
#[inline]
pub(crate) fn watcher<P: Platform>() -> Option<&'static Watcher> {
    if TypeId::of::<P>() != TypeId::of::<Native>() {
        return None;
    }
    // ORDERING watcher.place: Acquire pairs with the Release in `watch`.
    let watcher = WATCHER.load(Acquire);
    // SAFETY: the pointer is null, or `watch` derived it from a reference that lives as long as the process.
    unsafe { watcher.as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mutex, RwSem};
    use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::sync::Mutex as StdMutex;
    use std::thread;
    use std::time::Duration;
    use std::vec::Vec;

    static REPORTED: StdMutex<Vec<Wait>> = StdMutex::new(Vec::new());
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    static SILENT: AtomicBool = AtomicBool::new(false);

    static WATCHER: Watcher = Watcher {
        wait: |wait, acquire| {
            REPORTED.lock().unwrap().push(*wait);
            if !SILENT.load(SeqCst) {
                // With its own settings, and a second time: the lock is acquired once.
                let sleeps = Tuned { spin_ns: Some(0), ..Tuned::default() };
                let acquired = acquire(Some(sleeps));
                // Not always: other tests' waits come here, too, and some have deadlines.
                assert_eq!(acquire(None), acquired);
            }
        },
        released: |lock| RELEASED.store(lock, SeqCst),
    };

    /// Waits until a wait for a lock at this address has been reported.
    fn reported_for(lock: usize) -> Wait {
        loop {
            if let Some(wait) = REPORTED.lock().unwrap().iter().find(|wait| wait.lock == lock) {
                return *wait;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn mutex_while(silent: bool) {
        SILENT.store(silent, SeqCst);
        let mutex = Mutex::new(0);
        let lock = core::ptr::from_ref(mutex.raw()).addr();
        thread::scope(|scope| {
            let mut guard = mutex.lock();
            scope.spawn(|| *mutex.lock() += 1);
            let wait = reported_for(lock);
            assert_eq!(wait.kind, Kind::Mutex);
            thread::sleep(Duration::from_millis(5)); // until it sleeps
            *guard += 1;
            drop(guard);
            assert!(RELEASED.load(SeqCst) == lock || silent, "others waited");
        });
        assert_eq!(mutex.into_inner(), 2);
        REPORTED.lock().unwrap().retain(|wait| wait.lock != lock);
    }

    #[test]
    fn a_watcher_is_notified_of_waits_and_cannot_break_a_lock() {
        watch(&WATCHER);
        mutex_while(false);
        mutex_while(true);
        SILENT.store(false, SeqCst);
        let sem = RwSem::new(0);
        let lock = core::ptr::from_ref(sem.raw()).addr();
        thread::scope(|scope| {
            let guard = sem.write();
            scope.spawn(|| drop(sem.read()));
            assert_eq!(reported_for(lock).kind, Kind::Read);
            REPORTED.lock().unwrap().clear();
            scope.spawn(|| *sem.write() += 1);
            assert_eq!(reported_for(lock).kind, Kind::Write);
            drop(guard);
        });
        assert_eq!(sem.into_inner(), 1);
    }
}
