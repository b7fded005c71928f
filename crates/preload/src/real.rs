//! The C library's own functions, for objects that pass through. Looked up by the constructor, or when first needed
//! before it; the lookup neither allocates nor waits for any lock of the program.

use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use libc::{pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t};

/// A function of the next library in line.
struct Real {
    name: &'static CStr,
    /// On x86-64 condition variables have an older version, too, which nobody may reach by this way.
    version: Option<&'static CStr>,
    address: AtomicPtr<c_void>,
}

#[cfg(target_arch = "x86_64")]
const COND_VERSION: Option<&CStr> = Some(c"GLIBC_2.3.2");
#[cfg(not(target_arch = "x86_64"))]
const COND_VERSION: Option<&CStr> = None;

impl Real {
    const fn mutex(name: &'static CStr) -> Real {
        Real { name, version: None, address: AtomicPtr::new(ptr::null_mut()) }
    }

    const fn cond(name: &'static CStr) -> Real {
        Real { name, version: COND_VERSION, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null if the C library has no such function.
    fn get(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        if known.is_null() { self.look_up() } else { known }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let name = self.name.as_ptr();
        // SAFETY: both names are strings.
        let mut found = self
            .version
            .map_or(ptr::null_mut(), |version| unsafe { libc::dlvsym(libc::RTLD_NEXT, name, version.as_ptr()) });
        if found.is_null() {
            // SAFETY: the name is a string.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
        }
        self.address.store(found, Relaxed);
        found
    }
}

/// Defines a function that calls the real one, or answers ENOSYS where there is none.
macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),*) = $kind:ident $symbol:literal;)*) => {
        $(
            /// The C library's function.
            ///
            /// # Safety
            /// As the POSIX function.
            pub(crate) unsafe fn $name($($arg: $type),*) -> c_int {
                static REAL: Real = Real::$kind($symbol);
                let address = REAL.get();
                if address.is_null() {
                    return libc::ENOSYS;
                }
                // SAFETY: the symbol of this name has this signature.
                let function: unsafe extern "C" fn($($type),*) -> c_int = unsafe { transmute(address) };
                // SAFETY: the caller's promise.
                unsafe { function($($arg),*) }
            }
        )*
    };
}

real! {
    fn mutex_init(m: *mut pthread_mutex_t, a: *const pthread_mutexattr_t) = mutex c"pthread_mutex_init";
    fn mutex_destroy(m: *mut pthread_mutex_t) = mutex c"pthread_mutex_destroy";
    fn mutex_lock(m: *mut pthread_mutex_t) = mutex c"pthread_mutex_lock";
    fn mutex_trylock(m: *mut pthread_mutex_t) = mutex c"pthread_mutex_trylock";
    fn mutex_unlock(m: *mut pthread_mutex_t) = mutex c"pthread_mutex_unlock";
    fn mutex_timedlock(m: *mut pthread_mutex_t, t: *const timespec) = mutex c"pthread_mutex_timedlock";
    fn mutex_clocklock(m: *mut pthread_mutex_t, clock: clockid_t, t: *const timespec)
        = mutex c"pthread_mutex_clocklock";
    fn cond_init(c: *mut pthread_cond_t, a: *const pthread_condattr_t) = cond c"pthread_cond_init";
    fn cond_destroy(c: *mut pthread_cond_t) = cond c"pthread_cond_destroy";
    fn cond_signal(c: *mut pthread_cond_t) = cond c"pthread_cond_signal";
    fn cond_broadcast(c: *mut pthread_cond_t) = cond c"pthread_cond_broadcast";
    fn spin_init(l: *mut pthread_spinlock_t, shared: c_int) = mutex c"pthread_spin_init";
    fn spin_trylock(l: *mut pthread_spinlock_t) = mutex c"pthread_spin_trylock";
    fn rwlock_destroy(l: *mut pthread_rwlock_t) = mutex c"pthread_rwlock_destroy";
    fn rwlock_rdlock(l: *mut pthread_rwlock_t) = mutex c"pthread_rwlock_rdlock";
    fn rwlock_tryrdlock(l: *mut pthread_rwlock_t) = mutex c"pthread_rwlock_tryrdlock";
    fn rwlock_wrlock(l: *mut pthread_rwlock_t) = mutex c"pthread_rwlock_wrlock";
    fn rwlock_trywrlock(l: *mut pthread_rwlock_t) = mutex c"pthread_rwlock_trywrlock";
    fn rwlock_unlock(l: *mut pthread_rwlock_t) = mutex c"pthread_rwlock_unlock";
    fn rwlock_init(l: *mut pthread_rwlock_t, a: *const pthread_rwlockattr_t) = mutex c"pthread_rwlock_init";
    fn rwlock_timedrdlock(l: *mut pthread_rwlock_t, t: *const timespec) = mutex c"pthread_rwlock_timedrdlock";
    fn rwlock_clockrdlock(l: *mut pthread_rwlock_t, clock: clockid_t, t: *const timespec)
        = mutex c"pthread_rwlock_clockrdlock";
    fn rwlock_timedwrlock(l: *mut pthread_rwlock_t, t: *const timespec) = mutex c"pthread_rwlock_timedwrlock";
    fn rwlock_clockwrlock(l: *mut pthread_rwlock_t, clock: clockid_t, t: *const timespec)
        = mutex c"pthread_rwlock_clockwrlock";
}

/// Waits on the C library's condition variables. They are cancellation points, so no Rust frame may be below them:
/// `c/wait.c` calls them by address.
pub(crate) fn cond_waits() -> [*mut c_void; 3] {
    static WAITS: [Real; 3] = [
        Real::cond(c"pthread_cond_wait"),
        Real::cond(c"pthread_cond_timedwait"),
        Real::mutex(c"pthread_cond_clockwait"),
    ];
    [WAITS[0].get(), WAITS[1].get(), WAITS[2].get()]
}
