//! The functions that programs see, and no others. The linker adds the C library's symbol versions
//! (`crates/interpose/build.rs`).

/// Defines the targets of exported functions that acquire with a time limit, on the wall clock or on a `clock` of the
/// caller's choice: by `$ours`, which has more arguments, or by `$theirs` if that returns `None`.
macro_rules! until {
    ($object:ty; $($name:ident($($clock:ident)?) => $ours:ident($($more:path)?) or $theirs:path;)*) => {
        $(
            #[doc = concat!("Does what `", stringify!($theirs), "` does, for locks of either library.")]
            ///
            /// # Safety
            /// As POSIX says.
            pub(super) unsafe extern "C" fn $name(
                object: $object,
                $($clock: libc::clockid_t,)?
                at: *const libc::timespec,
                caller: $crate::rules::Caller,
            ) -> libc::c_int {
                let on = None$(.or(Some($clock)))?.unwrap_or(libc::CLOCK_REALTIME);
                // SAFETY: contract of `$name`, which includes that of `$ours`.
                unsafe { $ours(object, on, at, caller, $($more)?) }
                    // SAFETY: contract of `$name`, which is that of `$theirs`: the object is the C library's.
                    .unwrap_or_else(|| unsafe { $theirs(object, $($clock,)? at) })
            }
        )*
    };
}

mod cond;
mod creation;
pub(crate) mod exec;
mod filters;
mod keys;
mod leaving;
mod loader;
mod mutex;
#[cfg(target_arch = "x86_64")]
mod old_cond;
pub(crate) mod rwlock;
mod spin;
mod threads;
