//! The next library's functions. They are looked up by a constructor, all together, or at first use before it.
//!
//! They are never looked up later: `dlopen` holds the loader's lock while it runs constructors, and one of them may
//! wait for a thread that waits for us. Before our constructor, the loader runs those of the program's own libraries
//! without holding that lock.

use crate::module::{NONE, find};
use crate::tables;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// A function of the next library: of the C library, or of another library before it.
pub struct Symbol {
    name: &'static CStr,
    /// The version to look up. On x86-64 condition variables also have an older version, which must not be found here.
    version: Option<&'static CStr>,
    /// The name of a function that does more, which the same library may have.
    other: Option<&'static CStr>,
    /// Whether the loader itself may call it during a look-up of any function.
    asked: bool,
}

#[cfg(target_arch = "x86_64")]
const COND_VERSION: Option<&CStr> = Some(c"GLIBC_2.3.2");
#[cfg(not(target_arch = "x86_64"))]
const COND_VERSION: Option<&CStr> = None;

impl Symbol {
    /// Describes a function that has one version.
    pub const fn plain(name: &'static CStr) -> Symbol {
        Symbol { name, version: None, other: None, asked: false }
    }

    /// Describes a function that `dlsym` calls, so that it must be found without that.
    pub const fn asked(name: &'static CStr) -> Symbol {
        Symbol { asked: true, ..Symbol::plain(name) }
    }

    /// Describes a function on condition variables.
    pub const fn cond(name: &'static CStr) -> Symbol {
        Symbol { version: COND_VERSION, ..Symbol::plain(name) }
    }

    /// Describes a function that `other` replaces, if the same library has that.
    pub const fn telling(name: &'static CStr, other: &'static CStr) -> Symbol {
        Symbol { other: Some(other), ..Symbol::plain(name) }
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
    pub fn telling_instead_of(&self, found: *mut c_void) -> *mut c_void {
        let Some(other) = self.other else { return found };
        // SAFETY: the name is a string.
        let other = unsafe { libc::dlsym(libc::RTLD_NEXT, other.as_ptr()) };
        if are_of_one_library(found, other) { other } else { found }
    }
}

fn are_of_one_library(a: *const c_void, b: *const c_void) -> bool {
    !a.is_null() && !b.is_null() && find(a.addr()).is_some_and(|library| library.contains(b.addr()))
}

/// A [`Symbol`] whose address is kept.
pub struct Real {
    symbol: Symbol,
    /// The function's address; null: not looked up yet; [`NONE`]: there is no such function.
    address: AtomicPtr<c_void>,
}

impl Real {
    /// Makes a [`Real`] that is not looked up yet.
    pub const fn new(symbol: Symbol) -> Real {
        Real { symbol, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns the function's address; null if there is no such function. The first call, made by constructors, looks
    /// it up.
    #[inline(always)]
    pub fn get(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        let found = if known.is_null() { self.look_up() } else { known };
        if found == NONE { ptr::null_mut() } else { found }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let found = self.symbol.find();
        let found = if found.is_null() { NONE } else { found };
        self.address.store(found, Relaxed);
        found
    }
}

/// Defines functions that call the real ones, or return ENOSYS if there is none: `plain`, `asked`, `cond` or `telling`
/// stands for [`Symbol`]'s function of that name. `look_up`, for the constructor, finds them all.
#[macro_export]
macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),*) = $kind:ident $($symbol:literal),+;)*) => {
        $(
            /// Calls the next library's function of this name.
            ///
            /// # Safety
            /// As for the POSIX function.
            #[inline(always)]
            pub(crate) unsafe fn $name($($arg: $type),*) -> $crate::c_int {
                // SAFETY: the address is that of a function of this signature, whose contract is that of `$name`.
                unsafe {
                    let function = functions::$name::ADDRESS.load(::core::sync::atomic::Ordering::Relaxed);
                    ::core::mem::transmute::<_, functions::$name::Function>(function)($($arg),*)
                }
            }
        )*

        /// Looks up all functions, so that no call enters the loader.
        pub(crate) fn look_up() {
            $(functions::$name::look_up();)*
        }

        mod functions {
            $(
                pub(super) mod $name {
                    #[allow(unused_imports, reason = "the types of the arguments")]
                    use super::super::*;
                    use ::core::ffi::c_void;
                    use ::core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

                    pub(in super::super) type Function = unsafe extern "C" fn($($type),*) -> $crate::c_int;

                    pub(in super::super) static ADDRESS: AtomicPtr<c_void> = AtomicPtr::new(first as *mut c_void);

                    /// Stands in for the function until it has been looked up, so that calls need not check.
                    #[cold]
                    unsafe extern "C" fn first($($arg: $type),*) -> $crate::c_int {
                        // SAFETY: contract of `$name`; the symbol of this name and `missing` have this signature.
                        unsafe { ::core::mem::transmute::<_, Function>(look_up())($($arg),*) }
                    }

                    /// Stands in for the function if it does not exist.
                    #[cold]
                    unsafe extern "C" fn missing($(_: $type),*) -> $crate::c_int {
                        $crate::ENOSYS
                    }

                    pub(in super::super) fn look_up() -> *mut c_void {
                        const SYMBOL: $crate::Symbol = $crate::Symbol::$kind($($symbol),+);
                        let mut found = SYMBOL.find();
                        if found.is_null() {
                            found = missing as *mut c_void;
                        }
                        ADDRESS.store(found, Relaxed); // for an allocator that locks during the next line
                        found = SYMBOL.telling_instead_of(found);
                        ADDRESS.store(found, Relaxed);
                        found
                    }
                }
            )*
        }
    };
}
