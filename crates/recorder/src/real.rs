//! The next library's functions: the C library's, or those of `libturnwise_preload.so`. Looked up by the constructor,
//! or at first use before it: no later call enters the loader, whose lock a thread that waits for us may hold.

use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use libc::{pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t};
use turnwise_interpose::{Real, Symbol, find, real};
use turnwise_preload_abi::libraries::{PRELOAD, is_library};

/// The result of a try by the preload library for a lock that was acquired past sleepers.
pub(crate) const PAST_SLEEPERS: c_int = -1;

real! {
    fn mutex_init(m: *mut pthread_mutex_t, a: *const pthread_mutexattr_t) = plain c"pthread_mutex_init";
    fn mutex_destroy(m: *mut pthread_mutex_t) = plain c"pthread_mutex_destroy";
    fn mutex_lock(m: *mut pthread_mutex_t) = plain c"pthread_mutex_lock";
    fn mutex_trylock(m: *mut pthread_mutex_t) = telling c"pthread_mutex_trylock", c"turnwise_mutex_trylock";
    fn mutex_unlock(m: *mut pthread_mutex_t) = plain c"pthread_mutex_unlock";
    fn mutex_timedlock(m: *mut pthread_mutex_t, t: *const timespec) = plain c"pthread_mutex_timedlock";
    fn mutex_clocklock(m: *mut pthread_mutex_t, clock: clockid_t, t: *const timespec)
        = plain c"pthread_mutex_clocklock";
    fn cond_init(c: *mut pthread_cond_t, a: *const pthread_condattr_t) = cond c"pthread_cond_init";
    fn cond_destroy(c: *mut pthread_cond_t) = cond c"pthread_cond_destroy";
    fn cond_signal(c: *mut pthread_cond_t) = cond c"pthread_cond_signal";
    fn cond_broadcast(c: *mut pthread_cond_t) = cond c"pthread_cond_broadcast";
    fn rwlock_init(l: *mut pthread_rwlock_t, a: *const pthread_rwlockattr_t) = plain c"pthread_rwlock_init";
    fn rwlock_destroy(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_destroy";
    fn rwlock_rdlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_rdlock";
    fn rwlock_tryrdlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_tryrdlock";
    fn rwlock_timedrdlock(l: *mut pthread_rwlock_t, t: *const timespec) = plain c"pthread_rwlock_timedrdlock";
    fn rwlock_clockrdlock(l: *mut pthread_rwlock_t, clock: clockid_t, t: *const timespec)
        = plain c"pthread_rwlock_clockrdlock";
    fn rwlock_wrlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_wrlock";
    fn rwlock_trywrlock(l: *mut pthread_rwlock_t)
        = telling c"pthread_rwlock_trywrlock", c"turnwise_rwlock_trywrlock";
    fn rwlock_timedwrlock(l: *mut pthread_rwlock_t, t: *const timespec) = plain c"pthread_rwlock_timedwrlock";
    fn rwlock_clockwrlock(l: *mut pthread_rwlock_t, clock: clockid_t, t: *const timespec)
        = plain c"pthread_rwlock_clockwrlock";
    fn rwlock_unlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_unlock";
    fn spin_init(l: *mut pthread_spinlock_t, shared: c_int) = plain c"pthread_spin_init";
    fn spin_destroy(l: *mut pthread_spinlock_t) = plain c"pthread_spin_destroy";
    fn spin_lock(l: *mut pthread_spinlock_t) = plain c"pthread_spin_lock";
    fn spin_trylock(l: *mut pthread_spinlock_t) = plain c"pthread_spin_trylock";
    fn spin_unlock(l: *mut pthread_spinlock_t) = plain c"pthread_spin_unlock";
    fn chroot(p: *const libc::c_char) = plain c"chroot";
    fn setuid(u: libc::uid_t) = plain c"setuid";
    fn seteuid(u: libc::uid_t) = plain c"seteuid";
    fn setreuid(r: libc::uid_t, e: libc::uid_t) = plain c"setreuid";
    fn setresuid(r: libc::uid_t, e: libc::uid_t, s: libc::uid_t) = plain c"setresuid";
    fn setrlimit(r: c_int, l: *const libc::rlimit) = plain c"setrlimit";
    fn setrlimit64(r: c_int, l: *const libc::rlimit64) = plain c"setrlimit64";
    fn dlclose(handle: *mut c_void) = plain c"dlclose";
}

/// The preload library's counters of the calling thread.
pub(crate) static THREAD_EVENTS: Real = Real::new(Symbol::plain(c"turnwise_thread_events"));

/// The next library's waits, for `c/wait.c`.
pub(crate) static COND_WAIT: Real = Real::new(Symbol::cond(c"pthread_cond_wait"));
/// The wait with a time.
pub(crate) static COND_TIMEDWAIT: Real = Real::new(Symbol::cond(c"pthread_cond_timedwait"));
/// The wait with a clock and a time.
pub(crate) static COND_CLOCKWAIT: Real = Real::new(Symbol::plain(c"pthread_cond_clockwait"));

/// Looks up everything here, for the constructor, so that no call enters the loader.
pub(crate) fn look_up_all() {
    look_up();
    for wait in [&COND_WAIT, &COND_TIMEDWAIT, &COND_CLOCKWAIT] {
        wait.get();
    }
    if next_is_preload() {
        THREAD_EVENTS.get();
    }
    // SAFETY: takes the error that the look-up of a missing function left for the program to read.
    unsafe { libc::dlerror() };
}

/// Returns whether the next library is `libturnwise_preload.so`. The first call, by the constructor, uses the loader.
pub(crate) fn next_is_preload() -> bool {
    const NO: u32 = 1;
    const YES: u32 = 2;
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    match KNOWN.load(Relaxed) {
        NO => false,
        YES => true,
        _ => {
            let is = looks_like_preload();
            KNOWN.store(if is { YES } else { NO }, Relaxed);
            is
        }
    }
}

#[cold]
fn looks_like_preload() -> bool {
    let function = Symbol::plain(c"pthread_mutex_lock").find();
    // SAFETY: the next library stays loaded, since it was loaded before the program.
    find(function.addr()).is_some_and(|library| is_library(unsafe { library.name() }.to_bytes(), PRELOAD))
}
