//! The functions that programs see, and no others. The linker adds the C library's symbol versions
//! (`crates/interpose/build.rs`).

/// Defines the targets of exported functions that acquire with a time limit, on the wall clock or on a `clock` of the
/// caller's choice: by `$ours`, which has more arguments, or by `$theirs` if that returns `None`.
macro_rules! until {
    ($object:ty; $($name:ident($($clock:ident)?) => $ours:ident($($more:path)?) or $theirs:path;)*) => {
        $(
            #[doc = concat!("Does what `", stringify!($theirs), "` does, for locks of either library.")]
            pub(super) extern "C" fn $name(
                lock: &$object,
                $($clock: libc::clockid_t,)?
                at: Option<&libc::timespec>,
                caller: $crate::rules::Caller,
            ) -> libc::c_int {
                let on = None$(.or(Some($clock)))?.unwrap_or(libc::CLOCK_REALTIME);
                $ours(lock, on, at, caller, $($more)?).unwrap_or_else(|| {
                    let at = at.map_or(core::ptr::null(), core::ptr::from_ref);
                    // SAFETY: the object is the C library's, and the caller uses it as POSIX says.
                    unsafe { $theirs(core::ptr::from_ref(lock).cast_mut().cast(), $($clock,)? at) }
                })
            }
        )*
    };
}

mod cond;
mod creation;
mod keys;
mod mutex;
#[cfg(target_arch = "x86_64")]
mod old_cond;
pub(crate) mod process;
pub(crate) mod rwlock;
pub(crate) mod sleep;
mod spin;
mod threads;
