//! Maps files, by system calls alone: `open` would be a cancellation point.

use core::ffi::CStr;
use core::ptr::{NonNull, null_mut, slice_from_raw_parts_mut};
use libc::{MAP_FAILED, c_int};
use turnwise_interpose::errno;

/// Maps a whole file, for as long as the process lives. Truncating the file later would cause a fault; turnwise never
/// does that.
///
/// # Errors
/// The error number, if the file cannot be opened or mapped.
pub(crate) fn map(path: &CStr, access: c_int, protection: c_int, sharing: c_int) -> Result<*mut [u8], i32> {
    // SAFETY: the path is a string.
    let file = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), access | libc::O_CLOEXEC) };
    if file < 0 {
        return Err(errno());
    }
    let file = file as i32;
    // SAFETY: `fstat` fills the result; the mapping is new.
    unsafe {
        let mut found = core::mem::zeroed::<libc::stat>();
        let length = if libc::fstat(file, &mut found) == 0 { found.st_size as usize } else { 0 };
        let map = match length {
            0 => NonNull::<u8>::dangling().as_ptr().cast(),
            _ => libc::mmap(null_mut(), length, protection, sharing, file, 0),
        };
        let error = errno();
        libc::syscall(libc::SYS_close, file);
        if map == MAP_FAILED { Err(error) } else { Ok(slice_from_raw_parts_mut(map.cast(), length)) }
    }
}
