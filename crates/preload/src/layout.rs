//! The bytes of glibc's objects as we use them. `docs/preload.md` has the tables.

use crate::word::LockWord;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

/// `pthread_mutex_t` (40 bytes on x86-64, 48 on aarch64) and `mtx_t`.
#[repr(C)]
pub(crate) struct Mutex {
    /// Bytes 0..8: the lock.
    pub(crate) lock: LockWord,
    /// Bytes 8..16: recursive and error-checking kinds: the owner ([`crate::owner`]), 0: none.
    pub(crate) owner: AtomicUsize,
    /// Bytes 16..20: glibc's kind; static initialisers store it here.
    pub(crate) kind: AtomicU32,
    /// Bytes 20..24: recursive kind: acquisitions beyond the first. Only the owner touches it.
    pub(crate) depth: AtomicU32,
    /// Bytes 24..28: under a policy file: which rule applies to this mutex ([`crate::rules`]), 0: not decided yet. The
    /// C library keeps its list of robust mutexes here, and clears it at `pthread_mutex_init`; other kinds do not touch
    /// it.
    pub(crate) cached_rule: AtomicU32,
    /// Bytes 28..32: waits on condition variables that will reacquire it ([`crate::waits`]).
    pub(crate) waits: AtomicU32,
}

/// A mutex of the C library as far as we write to it (`struct __pthread_mutex_s` of its `bits/struct_mutex.h`).
#[repr(C)]
pub(crate) struct LibcUsers {
    lock_and_count: AtomicU64,
    /// Bytes 8..12: thread id of the owner.
    pub(crate) owner: AtomicU32,
    /// Bytes 12..16: 1 while it is locked, and 1 for each wait.
    pub(crate) users: AtomicU32,
}

/// The mutex kinds, in the low bits of [`Mutex::kind`].
pub(crate) mod kind {
    pub(crate) const MASK: u32 = 3;
    pub(crate) const NORMAL: u32 = 0;
    pub(crate) const RECURSIVE: u32 = 1;
    pub(crate) const ERRORCHECK: u32 = 2;
    pub(crate) const ADAPTIVE: u32 = 3;
    /// Robust mutexes.
    pub(crate) const ROBUST: u32 = 0x10;
    /// Robust 0x10, priority inheritance 0x20, priority protection 0x40, process-shared 0x80: the C library's.
    pub(crate) const PASS: u32 = ROBUST | 0x20 | 0x40 | 0x80;
    /// The value that glibc leaves in a destroyed mutex; it contains [`PASS`], so the C library returns EINVAL for it.
    pub(crate) const DESTROYED: u32 = u32::MAX;
}

/// `pthread_cond_t` and `cnd_t` (48 bytes). All other bytes stay 0: glibc marks its process-shared ones there.
#[repr(C, align(8))]
pub(crate) struct Cond {
    /// Bytes 0..8: see [`crate::cond`].
    pub(crate) word: AtomicU64,
    /// Bytes 8..12: bit 0: a destroyer waits; bits 1..32: the number of threads that may yet touch the object.
    pub(crate) inside: AtomicU32,
    /// Bytes 12..16: the clock of timed waits, `CLOCK_REALTIME` (0) or `CLOCK_MONOTONIC` (1).
    pub(crate) clock: AtomicU32,
    /// Bytes 16..20: whether polling before a sleep pays.
    pub(crate) spin_then_sleep: turnwise::condvar::SpinThenSleep<turnwise::platform::Native>,
}

/// `pthread_rwlock_t` (56 bytes).
#[repr(C, align(8))]
pub(crate) struct RwLock {
    /// Bytes 0..12: the lock itself.
    pub(crate) lock: turnwise::RawRwSem,
    /// Bytes 16..24: the writer that holds the lock ([`crate::owner`]), 0: none.
    pub(crate) writer: AtomicUsize,
    /// Bytes 24..28: whether its readers are spread over slots: the gate of [`turnwise::big_reader::Spreading`].
    pub(crate) gate: AtomicU32,
    /// Bytes 28..32: glibc's mark of process-shared locks.
    pub(crate) shared: AtomicU32,
    /// Bytes 32..36: how often readers have met since the last write. (The C library has its elision here.)
    pub(crate) met: AtomicU32,
    /// Bytes 36..40: unused.
    unused: AtomicU32,
    /// Bytes 40..44: under a policy file: which rule applies to this lock, 0: not decided yet. The C library does not
    /// use them.
    pub(crate) cached_rule: AtomicU32,
    /// Bytes 44..48: the number of its slots ([`crate::slots`]); 0: it has none yet.
    pub(crate) slots: AtomicU32,
    /// Bytes 48..52: glibc's kind; static initialisers store it here.
    pub(crate) kind: AtomicU32,
}

const _: () = {
    use core::mem::{offset_of, size_of};
    assert!(size_of::<RwLock>() <= size_of::<libc::pthread_rwlock_t>());
    assert!(offset_of!(RwLock, writer) == 16 && offset_of!(RwLock, shared) == 28 && offset_of!(RwLock, kind) == 48);
    assert!(offset_of!(RwLock, cached_rule) == 40);
};

const _: () = {
    use core::mem::{offset_of, size_of};
    assert!(size_of::<Mutex>() <= size_of::<libc::pthread_mutex_t>());
    assert!(size_of::<Cond>() <= 24, "objects of glibc 2.2 had 24 bytes");
    assert!(size_of::<libc::pthread_cond_t>() == 48);
    assert!(offset_of!(Mutex, lock) == 0, "its address is that of the object");
    assert!(offset_of!(Mutex, kind) == 16 && offset_of!(Mutex, cached_rule) == 24 && offset_of!(Mutex, waits) == 28);
    assert!(offset_of!(LibcUsers, owner) == 8 && offset_of!(LibcUsers, users) == 12);
    // An all-zero mutex must be what the static initialiser makes.
    assert!(kind::NORMAL == 0 && kind::RECURSIVE == libc::PTHREAD_MUTEX_RECURSIVE as u32);
    assert!(kind::ERRORCHECK == libc::PTHREAD_MUTEX_ERRORCHECK as u32);
};

impl Mutex {
    /// Views the caller's mutex in our layout.
    ///
    /// # Safety
    /// `object` is a `pthread_mutex_t` or `mtx_t` that lives while the reference is used.
    #[inline(always)]
    pub(crate) unsafe fn of<'a>(object: *mut libc::pthread_mutex_t) -> &'a Mutex {
        // SAFETY: the object is large enough and aligned to 8; all fields are atomic words, valid with any bytes.
        unsafe { &*object.cast::<Mutex>() }
    }
}

impl Cond {
    /// Views the caller's condition variable in our layout.
    ///
    /// # Safety
    /// `object` is a `pthread_cond_t` or `cnd_t` that lives while the reference is used.
    pub(crate) unsafe fn of<'a>(object: *mut libc::pthread_cond_t) -> &'a Cond {
        // SAFETY: the object is large enough and aligned to 8; all fields are atomic words, valid with any bytes.
        unsafe { &*object.cast::<Cond>() }
    }
}

impl RwLock {
    /// Views the caller's readers-writer lock in our layout.
    ///
    /// # Safety
    /// `object` is a `pthread_rwlock_t` that lives while the reference is used.
    #[inline(always)]
    pub(crate) unsafe fn of<'a>(object: *mut libc::pthread_rwlock_t) -> &'a RwLock {
        // SAFETY: the object is large enough and aligned to 8; all fields are atomic words, valid with any bytes.
        unsafe { &*object.cast::<RwLock>() }
    }
}
