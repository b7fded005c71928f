//! The next library's functions. They are looked up by a constructor, all together, or at first use before it.
//!
//! They are never looked up later: `dlopen` holds the loader's lock while it runs constructors, and one of them may
//! wait for a thread that waits for us. Before our constructor, the loader runs those of the program's own libraries
//! without holding that lock.

use crate::module::find;
use crate::tables;
use core::ffi::{CStr, c_void};

/// Looks up a function of the next library, of the C library or another one before it, with the loader; null: there is
/// none. `kind`: the function's in the table.
#[cold]
pub fn next_function(kind: &str, name: &CStr) -> *mut c_void {
    // `dlsym` may call these during a look-up of any function, so they must be found without that.
    if kind == "asked" {
        let found = tables::find_next(name);
        if !found.is_null() {
            return found;
        }
    }
    // SAFETY: the name is a string.
    let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    // On x86-64 condition variables also have an older version, which must not be found here. Where `dlvsym` does not
    // exist, this crate does not compile: it would be a second error.
    #[cfg(target_env = "gnu")]
    if kind == "cond" && cfg!(target_arch = "x86_64") {
        // SAFETY: the name and the version are strings.
        let versioned = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) };
        // Another library before the C library may have no versions; it must not be bypassed.
        if versioned != found && are_of_one_library(found, versioned) {
            found = versioned;
        }
    }
    found
}

fn are_of_one_library(a: *const c_void, b: *const c_void) -> bool {
    !a.is_null() && !b.is_null() && find(a.addr()).is_some_and(|library| library.contains(b.addr()))
}

/// Defines functions that call the next library's of the same name, or return ENOSYS if there is none, with the
/// signatures of the table: those that all libraries call, and those given. `look_up`, for the constructor, finds them
/// all.
#[macro_export]
macro_rules! real {
    ($($name:ident,)*) => {
        $crate::real_functions! {
            pthread_mutex_init, pthread_mutex_destroy, pthread_mutex_lock, pthread_mutex_unlock,
            pthread_mutex_timedlock, pthread_mutex_clocklock,
            pthread_cond_init, pthread_cond_destroy, pthread_cond_signal, pthread_cond_broadcast,
            pthread_cond_wait, pthread_cond_timedwait, pthread_cond_clockwait,
            pthread_rwlock_init, pthread_rwlock_destroy, pthread_rwlock_unlock,
            pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
            pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock,
            pthread_spin_init, pthread_spin_lock, pthread_spin_trylock,
            sem_wait, sem_timedwait, sem_clockwait, sem_post, pthread_barrier_wait,
            pthread_join, pthread_timedjoin_np, pthread_clockjoin_np, pthread_once,
            prctl, syscall, chroot, setuid, seteuid, setreuid, setresuid, setrlimit, setrlimit64, dlclose,
            $($name,)*
        }
    };
}

/// Defines the functions of [`real`] that are given, and `look_up`.
#[macro_export]
macro_rules! real_functions {
    ($($name:ident,)*) => {
        $($crate::function! { real_function! () $name })*

        /// Looks up all functions, so that no call enters the loader.
        pub(crate) fn look_up() {
            $($name::look_up();)*
        }
    };
}

/// Defines one of the functions of [`real`], and the module that knows its address.
#[doc(hidden)]
#[macro_export]
macro_rules! real_function {
    (() $kind:ident $name:ident $arguments:tt) => {
        $crate::real_function! { () $kind $name $arguments -> $crate::c_int }
    };
    (() $kind:ident $name:ident ($($argument:ident: $type:ty),*) -> $result:ty) => {
        /// Calls the next library's function of this name.
        ///
        /// # Safety
        /// As for the C library's function.
        #[inline(always)]
        #[allow(dead_code, reason = "the C part calls some by their address")]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the address is that of a function of this signature, whose contract is that of `$name`.
            unsafe {
                let function = $name::ADDRESS.load(::core::sync::atomic::Ordering::Relaxed);
                ::core::mem::transmute::<_, $name::Function>(function)($($argument),*)
            }
        }

        pub(crate) mod $name {
            #[allow(unused_imports, reason = "the types of the arguments")]
            use $crate::c;
            use ::core::ffi::c_void;
            use ::core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

            pub(super) type Function = unsafe extern "C" fn($($type),*) -> $result;

            pub(crate) static ADDRESS: AtomicPtr<c_void> = AtomicPtr::new(first as *mut c_void);

            /// Stands in for the function until it has been looked up, so that calls need not check.
            #[cold]
            unsafe extern "C" fn first($($argument: $type),*) -> $result {
                // SAFETY: contract of `$name`; the symbol of this name and `missing` have this signature.
                unsafe { ::core::mem::transmute::<_, Function>(look_up())($($argument),*) }
            }

            /// Stands in for the function if it does not exist.
            #[cold]
            unsafe extern "C" fn missing($(_: $type),*) -> $result {
                $crate::ENOSYS as $result
            }

            pub(crate) fn look_up() -> *mut c_void {
                const NAME: &::core::ffi::CStr = $crate::c::string(concat!(stringify!($name), "\0"));
                let mut found = $crate::next_function(stringify!($kind), NAME);
                if found.is_null() {
                    found = missing as *mut c_void;
                }
                ADDRESS.store(found, Relaxed);
                found
            }

            /// Returns the function's address; null if there is none. The first call, made by constructors, looks it
            /// up.
            #[allow(dead_code, reason = "some are only called")]
            pub(crate) extern "C" fn address() -> *mut c_void {
                let known = ADDRESS.load(Relaxed);
                let found = if known == first as *mut c_void { look_up() } else { known };
                if found == missing as *mut c_void { ::core::ptr::null_mut() } else { found }
            }
        }
    };
}
