//! The next library's functions. They are looked up by a constructor, all together, or at first use before it.
//!
//! They are never looked up later: `dlopen` holds the loader's lock while it runs constructors, and one of them may
//! wait for a thread that waits for us. Before our constructor, the loader runs those of the program's own libraries
//! without holding that lock.

use crate::module::find;
use crate::tables;
use core::ffi::{CStr, c_void};

/// A function of the next library: of the C library, or of another library before it.
pub struct Symbol {
    name: &'static CStr,
    /// The version to look up. On x86-64 condition variables also have an older version, which must not be found here.
    version: Option<&'static CStr>,
    /// The name of a function that does more, which the same library may have.
    other: Option<&'static CStr>,
    /// Whether `dlsym` may call it during a look-up of any function, so that it must be found without that.
    asked: bool,
}

impl Symbol {
    /// Describes a function of one of the table's kinds.
    pub const fn new(kind: &str, name: &'static CStr) -> Symbol {
        let (asked, has_two) = match kind.as_bytes() {
            b"plain" | b"passing" | b"ours" => (false, false),
            b"asked" => (true, false),
            b"cond" => (false, cfg!(target_arch = "x86_64")),
            _ => panic!("no kind of which there is a next function"),
        };
        Symbol { name, version: if has_two { Some(c"GLIBC_2.3.2") } else { None }, other: None, asked }
    }

    /// Adds a function that replaces this one, if the same library has it.
    #[must_use]
    pub const fn or(self, other: &'static CStr) -> Symbol {
        Symbol { other: Some(other), ..self }
    }

    /// Looks up the function's address with the loader; null if there is no such function.
    #[cold]
    pub fn find(&self) -> *mut c_void {
        if self.asked {
            let found = tables::find_next(self.name);
            if !found.is_null() {
                return found;
            }
        }
        // SAFETY: the name is a string.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        // Where it does not exist, this crate does not compile: it would be a second error.
        #[cfg(target_env = "gnu")]
        if let Some(version) = self.version {
            // SAFETY: the name and the version are strings.
            let versioned = unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) };
            // Of the C library's two versions, take the newer one. Another library before it may have no versions; it
            // must not be bypassed.
            if versioned != found && are_of_one_library(found, versioned) {
                found = versioned;
            }
        }
        found
    }

    /// Returns the function that does more than `found`, which [`Symbol::find`] found, if the same library has it;
    /// otherwise `found`. The loader allocates the message that there is none, and allocators lock: calls from in there
    /// must not lead here.
    #[cold]
    pub fn reporting_instead_of(&self, found: *mut c_void) -> *mut c_void {
        let Some(other) = self.other else { return found };
        // SAFETY: the name is a string.
        let other = unsafe { libc::dlsym(libc::RTLD_NEXT, other.as_ptr()) };
        if are_of_one_library(found, other) { other } else { found }
    }
}

fn are_of_one_library(a: *const c_void, b: *const c_void) -> bool {
    !a.is_null() && !b.is_null() && find(a.addr()).is_some_and(|library| library.contains(b.addr()))
}

/// Defines functions that call the next library's of the same name, or return ENOSYS if there is none, with the
/// signatures of the table: those that all libraries call, and those given. `look_up`, for the constructor, finds them
/// all. `or` names one that does more, which the next library may have.
#[macro_export]
macro_rules! real {
    ($($name:ident $(or $other:literal)?,)*) => {
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
            $($name $(or $other)?,)*
        }
    };
}

/// Defines the functions of [`real`] that are given, and `look_up`.
#[macro_export]
macro_rules! real_functions {
    ($($name:ident $(or $other:literal)?,)*) => {
        $($crate::function! { real_function! ($($other)?) $name })*

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
    ($other:tt $kind:ident $name:ident $arguments:tt) => {
        $crate::real_function! { $other $kind $name $arguments -> $crate::c_int }
    };
    (($($other:literal)?) $kind:ident $name:ident ($($argument:ident: $type:ty),*) -> $result:ty) => {
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
                const SYMBOL: $crate::Symbol = $crate::Symbol::new(stringify!($kind), NAME)$(.or($other))?;
                let mut found = SYMBOL.find();
                if found.is_null() {
                    found = missing as *mut c_void;
                }
                ADDRESS.store(found, Relaxed); // for an allocator that locks during the next line
                found = SYMBOL.reporting_instead_of(found);
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
