//! The kinds of locks, by the functions in which threads wait for them.

use turnwise_profile::analysis::kind_of;
use turnwise_profile::model::Frame;

/// A kind of lock, or of event, that threads wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether only another thread of the process can end the wait; an event may also come from elsewhere.
    pub is_lock: bool,
}

const fn lock(name: &'static str) -> Kind {
    Kind { name, is_lock: true }
}

const fn event(name: &'static str) -> Kind {
    Kind { name, is_lock: false }
}

impl Kind {
    /// A mutex of the C library.
    pub const MUTEX: Kind = lock("mutex");
    /// A readers-writer lock of the C library, to read.
    pub const READ: Kind = lock("read");
    /// A readers-writer lock of the C library, to write.
    pub const WRITE: Kind = lock("write");
    /// The end of a thread.
    pub const THREAD: Kind = lock("join");
    /// A condition variable of the C library.
    pub const CONDITION: Kind = event("condition variable");
    /// Unknown.
    pub const FUTEX: Kind = event("futex");
}

/// Parts of the names of the C library's functions, and of C++ runtimes'.
const FUNCTIONS: &[(&str, Kind)] = &[
    ("pthread_mutex_", Kind::MUTEX),
    ("mtx_", Kind::MUTEX),
    ("pthread_rwlock_rd", Kind::READ),
    ("pthread_rwlock_timedrd", Kind::READ),
    ("pthread_rwlock_clockrd", Kind::READ),
    ("pthread_rwlock_wr", Kind::WRITE),
    ("pthread_rwlock_timedwr", Kind::WRITE),
    ("pthread_rwlock_clockwr", Kind::WRITE),
    ("pthread_cond_", Kind::CONDITION),
    ("cnd_", Kind::CONDITION),
    ("pthread_barrier_", event("barrier")),
    ("pthread_once", event("pthread_once")),
    ("sem_", event("semaphore")),
    ("__atomic_futex_unsigned", event("std::future")),
];

/// Returns the kind by the functions that pass a wait on to the kernel, innermost first.
pub(super) fn of(functions: &[Frame]) -> Option<Kind> {
    let mut kind = None;
    for frame in functions {
        if let Some((_, known)) = FUNCTIONS.iter().find(|(part, _)| frame.function.contains(part)) {
            return kind.or(Some(*known));
        }
        kind = kind_of(frame).map(|kind| Kind { name: kind.name(), is_lock: kind.is_lock() }).or(kind);
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_are_known_tell_the_kind() {
        let frame = |function: &&str| Frame { function: (*function).to_owned(), ..Frame::default() };
        let kind = |functions: &[&str]| of(&functions.iter().map(frame).collect::<Vec<_>>()).map(|kind| kind.name);
        assert_eq!(kind(&["libc.so.6+0x8b1a2", "__pthread_mutex_lock", "std::mutex::lock"]), Some("mutex"));
        assert_eq!(kind(&["__pthread_rwlock_rdlock_full64", "pthread_rwlock_rdlock"]), Some("read"));
        assert_eq!(kind(&["pthread_rwlock_clockwrlock"]), Some("write"));
        assert_eq!(kind(&["__new_sem_wait_slow64.constprop.0"]), Some("semaphore"));
        let rust = ["syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended"];
        assert_eq!(kind(&rust), Some("std::sync::Mutex"));
        let cpp = ["syscall", "std::__atomic_semaphore::_M_acquire()", "std::counting_semaphore<1l>::acquire()"];
        assert_eq!(kind(&cpp), Some("std::counting_semaphore"));
        let channel = ["syscall", "std::thread::park", "std::sync::mpmc::list::Channel<T>::recv"];
        assert_eq!(kind(&channel), Some("std::sync::mpsc"));
        assert_eq!(kind(&["syscall", "consume"]), None);
    }
}
