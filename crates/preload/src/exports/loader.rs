//! `dlclose`: a module loaded afterwards may land where the plug-in was.

use crate::{live, real};
use core::ffi::{c_int, c_void};

/// Unloads a shared object that no other user needs.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    // SAFETY: the caller's handle.
    live::unloading(|| unsafe { real::dlclose(handle) })
}
