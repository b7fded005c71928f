//! The kinds of mutex. All functions return 0 or an errno value, as pthread functions do.
//!
//! Normal and adaptive mutexes are the bare lock. Recursive and error-checking ones also store their owner, which only
//! the owner writes while it holds the lock: a thread that finds its own identity there holds the lock.

use crate::layout::{Mutex, kind};
use crate::policy;
use crate::rules::{self, Caller};
use crate::waits::Counted;
use crate::word::LockWord;
use crate::{live, owner, real};
use core::hint::black_box;
use core::sync::atomic::Ordering::Relaxed;
use libc::{EAGAIN, EBUSY, EDEADLK, EOWNERDEAD, EPERM, ETIMEDOUT, c_int, pthread_mutex_t, pthread_mutexattr_t};
use turnwise::mutex::{Owed, RawMutex};
use turnwise::platform::Deadline;
use turnwise::raw::RawLock;
use turnwise_interpose::with_caller;
use turnwise_preload_abi::Lock;

/// The kind of a mutex, from its kind field.
enum Kind {
    Plain,
    Recursive,
    ErrorCheck,
}

/// The path that a call takes, by one load of the mutex's kind and one of the policy.
pub(crate) enum Path {
    /// The mutex is plain and ours, under the default policy.
    Plain,
    /// The mutex is recursive or error-checking and ours, under the default policy.
    Owned,
    /// Any other case, which takes more than that to classify.
    Slow,
}

impl Mutex {
    /// Returns the path that a call takes.
    #[inline(always)]
    pub(crate) fn path(&self) -> Path {
        let (bits, policy) = (self.kind.load(Relaxed), policy::fast_bits());
        if bits | policy == 0 {
            return Path::Plain; // first, being the most frequent
        }
        if bits & !kind::MASK | policy != 0 {
            return Path::Slow;
        }
        if bits == kind::ADAPTIVE { Path::Plain } else { Path::Owned }
    }

    /// Returns kind and policy; `None`: the mutex is the C library's, because it is robust, priority-inheriting or
    /// -protected, process-shared or destroyed, or because a rule says so.
    fn kind(&self, caller: Caller) -> Option<(Kind, Lock)> {
        let bits = self.kind.load(Relaxed);
        if bits & kind::PASS != 0 {
            return None;
        }
        let policy = policy::of(&self.cached_rule, core::ptr::from_ref(self).addr(), caller)?;
        let kind = match bits & kind::MASK {
            kind::RECURSIVE => Kind::Recursive,
            kind::ERRORCHECK => Kind::ErrorCheck,
            _ => Kind::Plain,
        };
        Some((kind, policy))
    }

    fn is_mine(&self) -> bool {
        self.owner.load(Relaxed) == owner::current()
    }

    /// Stores the calling thread as the owner, after it has acquired the lock.
    fn own(&self) -> c_int {
        self.owner.store(owner::current(), Relaxed);
        0
    }

    /// Counts one more acquisition by the owner.
    fn inc_depth(&self) -> c_int {
        match self.depth.load(Relaxed).checked_add(1) {
            Some(depth) => {
                self.depth.store(depth, Relaxed);
                0
            }
            None => EAGAIN,
        }
    }

    /// Counts one acquisition less, if the owner has more than one.
    fn dec_depth(&self) -> c_int {
        self.depth.store(self.depth.load(Relaxed) - 1, Relaxed);
        0
    }

    fn is_recursive(&self) -> bool {
        self.kind.load(Relaxed) & kind::MASK == kind::RECURSIVE
    }

    fn as_pthread(&self) -> *mut pthread_mutex_t {
        core::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Leaves the call to the C library.
fn foreign(mutex: &Mutex, function: unsafe extern "C" fn(*mut pthread_mutex_t) -> c_int) -> c_int {
    // SAFETY: the object is the C library's, and the caller uses it as POSIX says.
    unsafe { function(mutex.as_pthread()) }
}

/// Returns whether the C library must handle this mutex.
pub(crate) fn is_foreign(mutex: &Mutex) -> bool {
    mutex.kind(Caller::UNKNOWN).is_none()
}

/// Acquires the mutex, whatever its kind and policy. It does not have the Rust ABI: such functions may unwind, so a
/// fast path that ended in one could not jump to it, and would need a stack frame.
pub(crate) extern "C" fn lock(mutex: &Mutex, caller: Caller) -> c_int {
    let wait = |word: &LockWord, policy| {
        if !word.lock_at_once(policy) {
            live::wait_for_mutex(mutex, policy, caller, |tuned| {
                word.lock(policy, tuned);
                true
            });
        }
        0
    };
    lock_by(mutex, caller, wait).unwrap_or_else(|| foreign(mutex, real::pthread_mutex_lock))
}

/// Acquires the mutex by [`Path::Plain`].
#[inline(always)]
pub(crate) fn lock_plain(mutex: &Mutex) -> c_int {
    // SAFETY: the caller's mutex; a thread that has it already waits forever, as POSIX says of this kind.
    if mutex.lock.adaptive().lock_fast() { 0 } else { unsafe { lock_contended(mutex) } }
}

/// Acquires the mutex by [`Path::Owned`].
#[inline(always)]
pub(crate) fn lock_owned(mutex: &Mutex) -> c_int {
    // The owner is not checked first: loading the cache line before the exchange would fetch it twice under contention.
    if mutex.lock.adaptive().lock_fast() {
        return mutex.own();
    }
    if mutex.is_mine() {
        return if mutex.is_recursive() { mutex.inc_depth() } else { EDEADLK };
    }
    // SAFETY: the caller does not hold it, as was just seen.
    unsafe { lock_contended(mutex) }
}

with_caller! {
    /// Finishes [`lock_plain`] and [`lock_owned`] under contention: jumps to [`wait`]. The fast paths jump here.
    lock_contended(&Mutex) -> wait;
}

/// Acquires the mutex, by [`Path::Plain`] or [`Path::Owned`], under contention.
#[cold]
extern "C" fn wait(mutex: &Mutex, caller: Caller) -> c_int {
    if !mutex.lock.adaptive().lock_flagged() {
        live::wait_for_mutex(mutex, Lock::Adaptive, caller, |tuned| {
            match tuned {
                None => mutex.lock.adaptive().lock_contended(),
                Some(tuned) => mutex.lock.adaptive().lock_tuned(tuned),
            }
            true
        });
    }
    if matches!(mutex.path(), Path::Owned) {
        mutex.own();
    }
    0
}

/// Acquires the mutex by [`Path::Owned`] if it is available immediately.
#[inline(never)] // so that the plain kinds need no stack frame
pub(crate) extern "C" fn try_lock_owned(mutex: &Mutex) -> c_int {
    if mutex.is_mine() {
        return if mutex.is_recursive() { mutex.inc_depth() } else { EBUSY };
    }
    if mutex.lock.adaptive().try_lock() { mutex.own() } else { EBUSY }
}

/// Releases the mutex by [`Path::Plain`].
#[inline(always)]
pub(crate) fn unlock_plain(mutex: &Mutex) -> c_int {
    let object = mutex.as_pthread();
    // SAFETY: POSIX requires that the caller holds the mutex.
    match unsafe { mutex.lock.adaptive().unlock_fast() } {
        None => 0,
        Some(owed) => wake_owed(object, owed),
    }
}

/// Releases the mutex by [`Path::Owned`].
#[inline(always)]
pub(crate) fn unlock_owned(mutex: &Mutex) -> c_int {
    if !mutex.is_mine() {
        return EPERM;
    }
    if mutex.depth.load(Relaxed) > 0 {
        return mutex.dec_depth(); // recursive: other kinds have no depth
    }
    mutex.owner.store(0, Relaxed);
    // `is_mine` has shown that the caller holds the mutex: only the owner finds itself in `owner`.
    unlock_plain(mutex)
}

/// Finishes [`unlock_plain`] and [`unlock_owned`] where a thread may have to be woken. The fast paths jump here, so it
/// does not have the Rust ABI (see [`lock`]), and the compiler must not know that it always returns 0, or it would turn
/// the jump into a call. The object may be gone: only its address is used.
#[cold]
#[inline(never)]
extern "C" fn wake_owed(object: *mut pthread_mutex_t, owed: Owed) -> c_int {
    RawMutex::wake_owed(object.cast::<RawMutex>(), owed);
    live::released(object.addr());
    black_box(0)
}

/// Acquires the mutex, or gives up with ETIMEDOUT at `deadline`. An invalid deadline affects only a caller that must
/// wait. `None`: the mutex is the C library's.
pub(crate) fn lock_until(mutex: &Mutex, caller: Caller, deadline: Result<Deadline, c_int>) -> Option<c_int> {
    lock_by(mutex, caller, |word, policy| {
        if word.try_lock(policy) {
            return 0;
        }
        match deadline {
            Ok(deadline) => {
                let wait = |tuned| word.lock_until(policy, deadline, tuned);
                if live::wait_for_mutex(mutex, policy, caller, wait) { 0 } else { ETIMEDOUT }
            }
            Err(errno) => errno,
        }
    })
}

/// Acquires the mutex through `wait`; `None`: the mutex is the C library's.
#[inline]
fn lock_by(mutex: &Mutex, caller: Caller, wait: impl FnOnce(&LockWord, Lock) -> c_int) -> Option<c_int> {
    let (kind, policy) = mutex.kind(caller)?;
    match kind {
        Kind::Plain => return Some(wait(&mutex.lock, policy)),
        Kind::Recursive if mutex.is_mine() => return Some(mutex.inc_depth()),
        Kind::ErrorCheck if mutex.is_mine() => return Some(EDEADLK),
        Kind::Recursive | Kind::ErrorCheck => {}
    }
    Some(match wait(&mutex.lock, policy) {
        0 => mutex.own(),
        errno => errno,
    })
}

/// Acquires the mutex by [`Path::Plain`] or [`Path::Owned`] if it is available immediately, or else by `slow`.
#[inline(always)]
pub(crate) fn try_lock_by(mutex: &Mutex, slow: impl FnOnce() -> c_int) -> c_int {
    match mutex.path() {
        Path::Plain if mutex.lock.adaptive().try_lock() => 0,
        Path::Plain => EBUSY,
        Path::Owned => try_lock_owned(mutex),
        Path::Slow => slow(),
    }
}

/// Acquires the mutex if it is available immediately, whatever its kind and policy.
pub(crate) extern "C" fn try_lock(mutex: &Mutex, caller: Caller) -> c_int {
    let Some((kind, policy)) = mutex.kind(caller) else { return foreign(mutex, real::pthread_mutex_trylock) };
    match kind {
        Kind::Recursive if mutex.is_mine() => mutex.inc_depth(),
        _ if !mutex.lock.try_lock(policy) => EBUSY,
        Kind::Plain => 0,
        Kind::Recursive | Kind::ErrorCheck => mutex.own(),
    }
}

/// Releases the mutex, whatever its kind and policy.
pub(crate) extern "C" fn unlock(mutex: &Mutex) -> c_int {
    let Some((kind, policy)) = mutex.kind(Caller::UNKNOWN) else { return foreign(mutex, real::pthread_mutex_unlock) };
    match kind {
        Kind::Plain => {}
        Kind::Recursive | Kind::ErrorCheck if !mutex.is_mine() => return EPERM,
        Kind::Recursive if mutex.depth.load(Relaxed) > 0 => return mutex.dec_depth(),
        Kind::Recursive | Kind::ErrorCheck => mutex.owner.store(0, Relaxed),
    }
    // SAFETY: the caller holds the mutex: a plain one by the contract of `pthread_mutex_unlock`, else by `is_mine`.
    unsafe { mutex.lock.unlock(policy) };
    0
}

/// Releases the mutex for a wait on a condition variable.
///
/// # Errors
/// The caller may not release it.
pub(crate) fn unlock_to_wait(mutex: &Mutex) -> Result<Counted, c_int> {
    let counted = match mutex.kind(Caller::UNKNOWN) {
        None => mutex.count_libc_wait(),
        Some((Kind::Recursive | Kind::ErrorCheck, _)) if !mutex.is_mine() => Counted::NOT,
        Some(_) => mutex.count_wait(),
    };
    match unlock(mutex) {
        0 => Ok(counted),
        errno => {
            mutex.uncount_wait(counted);
            Err(errno)
        }
    }
}

/// Acquires the mutex again after a wait on a condition variable, before which [`unlock_to_wait`] returned `counted`.
pub(crate) fn lock_after_wait(mutex: &Mutex, counted: Counted, caller: Caller) -> c_int {
    let errno = lock(mutex, caller);
    if matches!(errno, 0 | EOWNERDEAD) {
        mutex.uncount_wait(counted);
    }
    errno
}

/// Makes raw memory an unlocked mutex.
///
/// # Safety
/// `object` is writable and no thread uses it; `attributes` is null or initialised.
pub(crate) unsafe extern "C" fn init(
    object: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
    caller: Caller,
) -> c_int {
    let kind = if attributes.is_null() {
        Some(kind::NORMAL)
    } else {
        // SAFETY: contract of `init`: the attributes are initialised.
        unsafe { kind_of(attributes) }
    };
    let Some(kind) = kind else {
        // SAFETY: contract of `init`, which is that of `real::pthread_mutex_init`.
        return unsafe { real::pthread_mutex_init(object, attributes) };
    };
    let cached_rule = if policy::current().is_none() { rules::decide_new(object.addr(), caller) } else { 0 };
    // SAFETY: contract of `init`: the object is writable; zero bytes are a valid mutex, of ours and of the C library's.
    unsafe {
        object.write_bytes(0, 1);
        if cached_rule != 0 && rules::unpack(cached_rule).is_none() {
            real::pthread_mutex_init(object, attributes);
        } else {
            Mutex::of(object).kind.store(kind, Relaxed);
        }
        Mutex::of(object).cached_rule.store(cached_rule, Relaxed);
    }
    0
}

// SAFETY: `pthread.h` declares the function with this type.
unsafe extern "C" {
    /// The libc crate lacks this C library function.
    fn pthread_mutexattr_gettype(attributes: *const pthread_mutexattr_t, kind: *mut c_int) -> c_int;
}

/// Returns the kind that the attributes request; `None`: a kind that only the C library has.
///
/// # Safety
/// `attributes` is initialised.
unsafe fn kind_of(attributes: *const pthread_mutexattr_t) -> Option<u32> {
    let (mut kind, mut shared, mut protocol, mut robust) = (0, 0, 0, 0);
    // SAFETY: the results are writable; these functions only read the attributes.
    unsafe {
        pthread_mutexattr_gettype(attributes, &mut kind);
        libc::pthread_mutexattr_getpshared(attributes, &mut shared);
        libc::pthread_mutexattr_getprotocol(attributes, &mut protocol);
        libc::pthread_mutexattr_getrobust(attributes, &mut robust);
    }
    let ours = shared == libc::PTHREAD_PROCESS_PRIVATE
        && protocol == libc::PTHREAD_PRIO_NONE
        && robust == libc::PTHREAD_MUTEX_STALLED;
    let kind = u32::try_from(kind).ok().filter(|k| *k <= kind::ADAPTIVE);
    kind.filter(|_| ours)
}

/// Destroys a mutex; EBUSY while it is locked or a wait on a condition variable will relock it.
pub(crate) fn destroy(mutex: &Mutex) -> c_int {
    let Some((_, policy)) = mutex.kind(Caller::UNKNOWN) else { return foreign(mutex, real::pthread_mutex_destroy) };
    if mutex.is_in_use(|| mutex.lock.is_locked(policy)) {
        return EBUSY;
    }
    mutex.kind.store(kind::DESTROYED, Relaxed);
    0
}
