//! The next library's own functions. Looked up by a constructor, all at once, or when first needed before it.
//!
//! Never later: the loader's lock belongs to `dlopen` while that runs constructors, and one of them may wait for a
//! thread that waits for us. Before our constructor the loader runs those of the program's own libraries, without it.

use crate::module::find;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// A function of the next library in line: of the C library, or of another one that stands before it.
pub struct Symbol {
    name: &'static CStr,
    /// On x86-64 condition variables have an older version, too, which nobody may reach by this way.
    version: Option<&'static CStr>,
    /// Another name that the same library may have for a function that does more.
    other: Option<&'static CStr>,
}

#[cfg(target_arch = "x86_64")]
const COND_VERSION: Option<&CStr> = Some(c"GLIBC_2.3.2");
#[cfg(not(target_arch = "x86_64"))]
const COND_VERSION: Option<&CStr> = None;

impl Symbol {
    /// A function that has one version.
    pub const fn plain(name: &'static CStr) -> Symbol {
        Symbol { name, version: None, other: None }
    }

    /// A function on condition variables.
    pub const fn cond(name: &'static CStr) -> Symbol {
        Symbol { name, version: COND_VERSION, other: None }
    }

    /// A function in whose place the same library may have `other`, which is then meant.
    pub const fn telling(name: &'static CStr, other: &'static CStr) -> Symbol {
        Symbol { name, version: None, other: Some(other) }
    }

    /// Asks the loader for its address; null if there is no such function.
    #[cold]
    pub fn find(&self) -> *mut c_void {
        // SAFETY: the name is a string.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if let Some(version) = self.version {
            // SAFETY: both are strings.
            let versioned = unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) };
            // Of the C library's two versions, the newer one. Another library before it may have no versions; it is
            // not to be passed by.
            if versioned != found && are_of_one_library(found, versioned) {
                found = versioned;
            }
        }
        if let Some(other) = self.other {
            // SAFETY: a string.
            let other = unsafe { libc::dlsym(libc::RTLD_NEXT, other.as_ptr()) };
            if are_of_one_library(found, other) {
                found = other;
            }
        }
        found
    }
}

fn are_of_one_library(a: *const c_void, b: *const c_void) -> bool {
    !a.is_null() && !b.is_null() && find(a.addr()).is_some_and(|library| library.contains(b.addr()))
}

/// A [`Symbol`] whose address is kept.
pub struct Real {
    symbol: Symbol,
    /// Null: nobody has looked for it; [`NONE`]: there is none.
    address: AtomicPtr<c_void>,
}

/// The address of no function.
const NONE: *mut c_void = ptr::without_provenance_mut(1);

impl Real {
    /// What is not looked up yet.
    pub const fn new(symbol: Symbol) -> Real {
        Real { symbol, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null if there is no such function. The first call looks it up: it is for constructors.
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

/// Defines functions that call the real ones, or answer ENOSYS where there is none: `plain`, `cond` or `telling`
/// stands for [`Symbol::plain`], [`Symbol::cond`] or [`Symbol::telling`]. `look_up`, for the constructor, finds them
/// all.
#[macro_export]
macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),*) = $kind:ident $($symbol:literal),+;)*) => {
        $(
            /// The next library's function.
            ///
            /// # Safety
            /// As the POSIX function.
            #[inline(always)]
            pub(crate) unsafe fn $name($($arg: $type),*) -> $crate::c_int {
                // SAFETY: a function of this signature; the caller's promise.
                unsafe {
                    let function = functions::$name::ADDRESS.load(::core::sync::atomic::Ordering::Relaxed);
                    ::core::mem::transmute::<_, functions::$name::Function>(function)($($arg),*)
                }
            }
        )*

        /// Looks up all of them, so that no call asks the loader.
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

                    /// Stands in the function's place until it was looked up, so that calls need not ask.
                    #[cold]
                    unsafe extern "C" fn first($($arg: $type),*) -> $crate::c_int {
                        // SAFETY: the symbol of this name has this signature, as has `missing`; the caller's promise.
                        unsafe { ::core::mem::transmute::<_, Function>(look_up())($($arg),*) }
                    }

                    /// Stands in the function's place if there is none.
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
                        ADDRESS.store(found, Relaxed);
                        found
                    }
                }
            )*
        }
    };
}
