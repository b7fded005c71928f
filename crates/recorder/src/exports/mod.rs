//! The symbols that programs see. Those that acquire jump to a function with one more argument, the return address: the
//! call site.

use crate::acquire::Acquisition;
use turnwise_recording::{Class, Op};

#[inline(always)]
fn place<T>(class: Class, object: *mut T, op: Op, site: u64) -> Acquisition {
    Acquisition { class, address: object as u64, site: op.at(site) }
}

/// Defines the exported functions that acquire a lock, each under all of its names: one that tries, and others that may
/// wait. `$first` is their attempt before they do.
macro_rules! acquisitions {
    ($object:ty, $class:expr, $op:expr; $trylock:ident($($tries:ident)+) = $try:path;
     $($lock:ident($($name:ident)+)($($argument:ident: $type:ty),*) = $real:path, $first:path;)*) => {
        turnwise_interpose::exports! {
            $($tries -> $trylock;)+
            $($($name -> $lock;)+)*
        }

        /// # Safety
        /// As POSIX says.
        pub(super) unsafe extern "C" fn $trylock(object: *mut $object, site: u64) -> libc::c_int {
            // SAFETY: called with the caller's lock.
            let attempt = |object: u64| unsafe { $try(object as *mut $object) };
            $crate::acquire::lock::<false>(super::place($class, object, $op, site), attempt, attempt)
        }

        $(
            /// # Safety
            /// As POSIX says.
            pub(super) unsafe extern "C" fn $lock(
                object: *mut $object,
                $($argument: $type,)*
                site: u64,
            ) -> libc::c_int {
                // SAFETY: called with the caller's lock.
                let attempt = |object: u64| unsafe { $first(object as *mut $object) };
                // SAFETY: called with the caller's lock; the caller's arguments.
                let lock = move |object: u64| unsafe { $real(object as *mut $object, $($argument),*) };
                $crate::acquire::lock::<true>(super::place($class, object, $op, site), attempt, lock)
            }
        )*
    };
}

/// Defines the exported functions that initialise, release and destroy an object, each under all of its names.
macro_rules! life {
    ($object:ty, $class:expr; init $($init:ident)+ ($attributes:ty) = $real_init:path;
     $(unlock $($unlock:ident)+ = $real_unlock:path;)? destroy $($destroy:ident)+ = $real_destroy:path) => {
        turnwise_interpose::exports! {
            $($init -> init;)+
            $($($unlock(object) => $crate::acquire::unlock($class, object as u64, move || $real_unlock(object));)+)?
            $(
                $destroy(object) => {
                    $crate::acquire::destroyed($class, object as u64);
                    $real_destroy(object)
                };
            )+
        }

        /// # Safety
        /// As POSIX says.
        pub(super) unsafe extern "C" fn init(object: *mut $object, attributes: $attributes, site: u64) -> libc::c_int {
            // SAFETY: the caller's memory.
            let result = unsafe { $real_init(object, attributes) };
            if result == 0 {
                $crate::acquire::created($class, object as u64, site);
            }
            result
        }
    };
}

mod c11;
mod cond;
mod mutex;
pub(crate) mod process;
mod rwlock;
pub(crate) mod sleep;
mod spin;
