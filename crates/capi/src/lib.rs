//! Turnwise's locks for C and C++. The header `include/turnwise.h` is generated from this source by
//! `cargo xtask header`, comments included: they are written for readers of the header.
//!
//! Each type here has the size and alignment of the lock of crate `turnwise` that it stands for, and the functions view
//! its bytes as that lock. All locks consist of atomic words, so any bytes are a valid value, and zero bytes are an
//! unlocked lock.
#![no_std]
#![allow(non_camel_case_types, reason = "the names are C's")]
#![allow(clippy::missing_safety_doc, reason = "the header's preamble says once what all functions require")]

// For its panic handler. A panic cannot leave an `extern "C"` function: it aborts the process, with a message.
extern crate std as _;

#[cfg(target_arch = "x86")]
compile_error!(
    "the C types are laid out for targets that align 64 bits to 8 bytes; for Rust there is crate `turnwise`"
);

pub mod cond;
pub mod lockref;
pub mod mutex;
pub mod result;
pub mod rwsem;
pub mod semaphore;
pub mod seqrwlock;
pub mod spinlock;
#[cfg(feature = "live")]
pub mod stats;
pub mod time;

/// Gives a C type a function that views an object of it as the lock that it stands for.
macro_rules! stands_for {
    ($c:ty, $lock:ty) => {
        #[cfg(not(target_arch = "x86"))]
        const _: () = {
            assert!(size_of::<$c>() == size_of::<$lock>() && align_of::<$c>() == align_of::<$lock>());
        };

        impl $c {
            /// Views the object at `object` as its lock.
            ///
            /// # Safety
            /// `object` points to an object of this type that lives while the reference is used.
            #[inline(always)]
            pub(crate) unsafe fn of<'a>(object: *const $c) -> &'a $lock {
                // SAFETY: same size and alignment; the lock consists of atomic words, valid with any bytes.
                unsafe { &*object.cast() }
            }
        }
    };
}
use stands_for;

/// Defines the functions on an object, each by what it does with the lock that the object stands for.
/// `cargo xtask header` reads the lines as they stand here: an argument's names and types are on one line, and each
/// function ends with a semicolon.
macro_rules! functions {
    ($($(#[$about:meta])* $name:ident($object:ident: *$mode:tt $c:ident $(, $argument:ident: $type:ty)*)
        $(-> $result:ty)? = $value:expr;)*) => {$(
        $(#[$about])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($object: *$mode $c $(, $argument: $type)*) $(-> $result)? {
            // SAFETY: the header requires pointers to live objects, and of a function that releases a lock, or turns
            // it from one mode into another, that its caller has the lock in the mode that the comment names.
            unsafe {
                let $object = $c::of($object);
                $value
            }
        }
    )*};
}
use functions;
