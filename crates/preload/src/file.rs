//! Maps files, by the system's calls alone: the C library's `open` would be a cancellation point.

use core::ffi::CStr;
use core::ptr::{NonNull, null_mut, slice_from_raw_parts_mut};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use turnwise_interpose::File;

/// Maps a whole file, for as long as the process lives. Truncating the file later would cause a fault; turnwise never
/// does that.
///
/// # Errors
/// The file cannot be opened or mapped.
pub(crate) fn map(path: &CStr, access: OFlags, protection: ProtFlags, sharing: MapFlags) -> Result<*mut [u8], Errno> {
    let file = File::from(openat(CWD, path, access | OFlags::CLOEXEC, Mode::empty())?);
    let length = fstat(&file).map_or(0, |found| found.st_size as usize);
    let map = match length {
        0 => NonNull::<u8>::dangling().as_ptr().cast(),
        // SAFETY: a new mapping, at an address of the kernel's choice.
        _ => unsafe { mmap(null_mut(), length, protection, sharing, &file, 0) }?,
    };
    Ok(slice_from_raw_parts_mut(map.cast(), length))
}
