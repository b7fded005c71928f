//! The C library's own functions, for objects that pass through. They are looked up by the constructor, or at first use
//! before it: no later call enters the loader, whose lock may be held by a thread that waits for us.

use core::ffi::c_void;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use libc::{pthread_attr_t, pthread_key_t, pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t, pthread_t};
use turnwise_interpose::{Real, Symbol, real};

/// A thread's start routine.
pub(crate) type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

real! {
    fn mutex_init(m: *mut pthread_mutex_t, a: *const pthread_mutexattr_t) = plain c"pthread_mutex_init";
    fn mutex_destroy(m: *mut pthread_mutex_t) = plain c"pthread_mutex_destroy";
    fn mutex_lock(m: *mut pthread_mutex_t) = plain c"pthread_mutex_lock";
    fn mutex_trylock(m: *mut pthread_mutex_t) = plain c"pthread_mutex_trylock";
    fn mutex_unlock(m: *mut pthread_mutex_t) = plain c"pthread_mutex_unlock";
    fn mutex_timedlock(m: *mut pthread_mutex_t, t: *const timespec) = plain c"pthread_mutex_timedlock";
    fn mutex_clocklock(m: *mut pthread_mutex_t, clock: clockid_t, t: *const timespec)
        = plain c"pthread_mutex_clocklock";
    fn cond_init(c: *mut pthread_cond_t, a: *const pthread_condattr_t) = cond c"pthread_cond_init";
    fn cond_destroy(c: *mut pthread_cond_t) = cond c"pthread_cond_destroy";
    fn cond_signal(c: *mut pthread_cond_t) = cond c"pthread_cond_signal";
    fn cond_broadcast(c: *mut pthread_cond_t) = cond c"pthread_cond_broadcast";
    fn create(t: *mut pthread_t, a: *const pthread_attr_t, r: Option<Routine>, x: *mut c_void)
        = plain c"pthread_create";
    fn thrd_create(t: *mut pthread_t, r: Option<Routine>, x: *mut c_void) = plain c"thrd_create";
    fn key_create(k: *mut pthread_key_t, d: Option<unsafe extern "C" fn(*mut c_void)>) = asked c"pthread_key_create";
    fn key_delete(k: pthread_key_t) = asked c"pthread_key_delete";
    fn setspecific(k: pthread_key_t, v: *const c_void) = asked c"pthread_setspecific";
    fn spin_init(l: *mut pthread_spinlock_t, shared: c_int) = plain c"pthread_spin_init";
    fn spin_lock(l: *mut pthread_spinlock_t) = plain c"pthread_spin_lock";
    fn spin_trylock(l: *mut pthread_spinlock_t) = plain c"pthread_spin_trylock";
    fn rwlock_destroy(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_destroy";
    fn rwlock_rdlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_rdlock";
    fn rwlock_tryrdlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_tryrdlock";
    fn rwlock_wrlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_wrlock";
    fn rwlock_trywrlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_trywrlock";
    fn rwlock_unlock(l: *mut pthread_rwlock_t) = plain c"pthread_rwlock_unlock";
    fn rwlock_init(l: *mut pthread_rwlock_t, a: *const pthread_rwlockattr_t) = plain c"pthread_rwlock_init";
    fn rwlock_timedrdlock(l: *mut pthread_rwlock_t, t: *const timespec) = plain c"pthread_rwlock_timedrdlock";
    fn rwlock_clockrdlock(l: *mut pthread_rwlock_t, clock: clockid_t, t: *const timespec)
        = plain c"pthread_rwlock_clockrdlock";
    fn rwlock_timedwrlock(l: *mut pthread_rwlock_t, t: *const timespec) = plain c"pthread_rwlock_timedwrlock";
    fn rwlock_clockwrlock(l: *mut pthread_rwlock_t, clock: clockid_t, t: *const timespec)
        = plain c"pthread_rwlock_clockwrlock";
    fn chroot(p: *const libc::c_char) = plain c"chroot";
    fn setuid(u: libc::uid_t) = plain c"setuid";
    fn seteuid(u: libc::uid_t) = plain c"seteuid";
    fn setreuid(r: libc::uid_t, e: libc::uid_t) = plain c"setreuid";
    fn setresuid(r: libc::uid_t, e: libc::uid_t, s: libc::uid_t) = plain c"setresuid";
    fn setrlimit(r: c_int, l: *const libc::rlimit) = plain c"setrlimit";
    fn dlclose(handle: *mut c_void) = plain c"dlclose";
    fn setrlimit64(r: c_int, l: *const libc::rlimit64) = plain c"setrlimit64";
}

/// Returns the C library's functions that wait on condition variables. They are cancellation points, so no Rust frame
/// may be below them: `c/wait.c` calls them by address.
pub(crate) fn cond_waits() -> [*mut c_void; 3] {
    static WAITS: [Real; 3] = [
        Real::new(Symbol::cond(c"pthread_cond_wait")),
        Real::new(Symbol::cond(c"pthread_cond_timedwait")),
        Real::new(Symbol::plain(c"pthread_cond_clockwait")),
    ];
    [WAITS[0].get(), WAITS[1].get(), WAITS[2].get()]
}
