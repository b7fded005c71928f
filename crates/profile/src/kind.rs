//! The types of locks and of what else threads sleep on.

use serde::{Deserialize, Serialize};

/// Defines the kinds: for people, whether it is a lock, and whether threads sleep on words of their own for it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal $(lock $lock:tt)? $(parked $parked:tt)?;)*) => {
        /// The type of a lock, as the program declared it; or of something else that threads sleep on.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum LockKind {
            $($(#[$doc])* $kind,)*
        }

        impl LockKind {
            /// Returns the kind in a word or two.
            pub fn name(self) -> &'static str {
                match self {
                    $(LockKind::$kind => $name,)*
                }
            }

            pub(crate) fn by_name(name: &str) -> Option<LockKind> {
                [$(LockKind::$kind),*].into_iter().find(|kind| kind.name() == name)
            }

            /// Returns whether it is a lock: a thread has it, and others wait for that to end.
            pub fn is_lock(self) -> bool {
                match self {
                    $(LockKind::$kind => false $(|| stringify!($lock) == "+")?,)*
                }
            }

            /// Returns whether the address tells nothing: each thread sleeps on a word of its own, or it is a thread.
            pub fn is_parked(self) -> bool {
                match self {
                    $(LockKind::$kind => false $(|| stringify!($parked) == "+")?,)*
                }
            }
        }
    };
}

kinds! {
    /// `pthread_mutex_t`, normal or adaptive.
    #[default]
    Mutex = "mutex" lock +;
    /// `pthread_mutex_t`, recursive.
    RecursiveMutex = "recursive mutex" lock +;
    /// `pthread_mutex_t`, error-checking.
    ErrorCheckMutex = "error-checking mutex" lock +;
    /// Robust, priority-inheriting, priority-protected or process-shared.
    SpecialMutex = "special mutex" lock +;
    /// `pthread_rwlock_t`.
    RwLock = "rwlock" lock +;
    /// `pthread_spinlock_t`.
    SpinLock = "spin lock" lock +;
    /// A word that threads sleep on by the kernel's futex calls: a lock's, a condition variable's, or any other.
    Futex = "futex";
    /// The mutex of Rust's std.
    RustMutex = "std::sync::Mutex" lock +;
    /// The readers-writer lock of Rust's std.
    RustRwLock = "std::sync::RwLock" lock +;
    /// The condition variable of Rust's std.
    RustCondvar = "std::sync::Condvar";
    /// `Once`, `OnceLock` and `LazyLock` of Rust's std.
    RustOnce = "std::sync::Once";
    /// `park` of Rust's std.
    RustPark = "std::thread::park" parked +;
    /// The channels of Rust's std.
    RustChannel = "std::sync::mpsc" parked +;
    /// The locks of Rust's `parking_lot`.
    ParkingLot = "parking_lot" lock + parked +;
    /// Its condition variable.
    ParkingLotCondvar = "parking_lot::Condvar" parked +;
    /// Our locks, where the program itself has them.
    Turnwise = "turnwise" lock +;
    /// Abseil's mutex.
    Absl = "absl::Mutex" lock + parked +;
    /// Abseil's condition variable, and what is made of it.
    AbslCondVar = "absl::CondVar" parked +;
    /// C++'s semaphores.
    CppSemaphore = "std::counting_semaphore";
    /// `std::latch`.
    CppLatch = "std::latch";
    /// `std::barrier`.
    CppBarrier = "std::barrier";
    /// `std::atomic::wait`.
    CppAtomic = "std::atomic::wait";
    /// CPython's mutex.
    PyMutex = "PyMutex" lock + parked +;
    /// What OpenMP's runtime sleeps on.
    OpenMp = "OpenMP";
    /// `sem_t`.
    Semaphore = "sem_t";
    /// `pthread_barrier_t`.
    Barrier = "barrier";
    /// The end of a thread.
    Join = "join" parked +;
    /// `pthread_once_t`.
    Once = "once";
}

impl LockKind {
    /// Returns whether it is a lock of pthread's: its acquisitions are known, and another lock can take its place.
    pub fn is_pthread(self) -> bool {
        use LockKind::{ErrorCheckMutex, Mutex, RecursiveMutex, RwLock, SpecialMutex, SpinLock};
        matches!(self, Mutex | RecursiveMutex | ErrorCheckMutex | SpecialMutex | RwLock | SpinLock)
    }
}
