//! The next library's own functions. Looked up by a constructor, or when first needed before it.

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// A function of the next library in line: of the C library, or of another one that stands before it.
pub struct Real {
    name: &'static CStr,
    /// On x86-64 condition variables have an older version, too, which nobody may reach by this way.
    version: Option<&'static CStr>,
    /// Another name that the same library may have for a function that does more.
    other: Option<&'static CStr>,
    address: AtomicPtr<c_void>,
}

#[cfg(target_arch = "x86_64")]
const COND_VERSION: Option<&CStr> = Some(c"GLIBC_2.3.2");
#[cfg(not(target_arch = "x86_64"))]
const COND_VERSION: Option<&CStr> = None;

impl Real {
    /// A function that has one version.
    pub const fn plain(name: &'static CStr) -> Real {
        Real { name, version: None, other: None, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// A function on condition variables.
    pub const fn cond(name: &'static CStr) -> Real {
        Real { name, version: COND_VERSION, other: None, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// A function in whose place the same library may have `other`, which is then meant.
    pub const fn telling(name: &'static CStr, other: &'static CStr) -> Real {
        Real { name, version: None, other: Some(other), address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null if there is no such function.
    #[inline(always)]
    pub fn get(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        if known.is_null() { self.look_up() } else { known }
    }

    /// `extern "C"`, so that the callers in other crates know that it does not unwind: they then need neither a frame
    /// nor a landing pad for it.
    #[cold]
    extern "C" fn look_up(&self) -> *mut c_void {
        // SAFETY: the name is a string.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if let Some(version) = self.version {
            // SAFETY: both are strings.
            let versioned = unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) };
            // Of the C library's two versions, the newer one. Another library before it has no versions; it is not to
            // be passed by.
            if !versioned.is_null() && are_of_one_library(found, versioned) {
                found = versioned;
            }
        }
        if let Some(other) = self.other {
            // SAFETY: a string.
            let other = unsafe { libc::dlsym(libc::RTLD_NEXT, other.as_ptr()) };
            if !other.is_null() && are_of_one_library(found, other) {
                found = other;
            }
        }
        self.address.store(found, Relaxed);
        found
    }
}

fn are_of_one_library(a: *const c_void, b: *const c_void) -> bool {
    let start = |address| {
        // SAFETY: zero bytes are an answer; it is filled if the result is not 0.
        unsafe {
            let mut info: libc::Dl_info = core::mem::zeroed();
            (libc::dladdr(address, &mut info) != 0).then_some(info.dli_fbase)
        }
    };
    start(a) == start(b)
}

/// Defines functions that call the real ones, or answer ENOSYS where there is none: `plain`, `cond` or `telling`
/// stands for [`Real::plain`], [`Real::cond`] or [`Real::telling`].
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
                type Function = unsafe extern "C" fn($($type),*) -> $crate::c_int;
                static FUNCTION: ::core::sync::atomic::AtomicPtr<::core::ffi::c_void> =
                    ::core::sync::atomic::AtomicPtr::new(first as *mut ::core::ffi::c_void);

                /// Stands in the function's place until it was looked up, so that later calls need not ask.
                #[cold]
                unsafe extern "C" fn first($($arg: $type),*) -> $crate::c_int {
                    static REAL: $crate::Real = $crate::Real::$kind($($symbol),+);
                    let address = REAL.get();
                    if address.is_null() {
                        return $crate::ENOSYS;
                    }
                    FUNCTION.store(address, ::core::sync::atomic::Ordering::Relaxed);
                    // SAFETY: the symbol of this name has this signature, and the caller's promise.
                    unsafe { ::core::mem::transmute::<_, Function>(address)($($arg),*) }
                }

                // SAFETY: `first` or the next library's function, which have this signature; the caller's promise.
                unsafe {
                    let function = FUNCTION.load(::core::sync::atomic::Ordering::Relaxed);
                    ::core::mem::transmute::<_, Function>(function)($($arg),*)
                }
            }
        )*
    };
}
