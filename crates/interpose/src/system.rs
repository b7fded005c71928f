//! The system, for code that the program must not notice.

use core::ffi::{CStr, c_int};
use core::mem::ManuallyDrop;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;
use libc::{MAP_ANONYMOUS, MAP_NORESERVE, MAP_PRIVATE, PROT_READ, PROT_WRITE};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat_raw};

/// Reads the calling thread's errno.
pub fn errno() -> c_int {
    // SAFETY: the C library returns a valid pointer to the calling thread's `errno`.
    unsafe { *libc::__errno_location() }
}

/// Runs something that may change errno, and restores it: the program must not see our system calls.
pub fn keeping_errno<T>(run: impl FnOnce() -> T) -> T {
    let saved = errno();
    let result = run();
    // SAFETY: errno is the C library's variable of this thread.
    unsafe { *libc::__errno_location() = saved };
    result
}

/// An open file, closed by a system call. [`OwnedFd`] is std's wherever a crate of the build turns rustix's feature
/// `std` on, and calls the C library's `close`: a cancellation point.
#[derive(Debug)]
pub struct File(ManuallyDrop<OwnedFd>);

impl From<OwnedFd> for File {
    fn from(file: OwnedFd) -> File {
        File(ManuallyDrop::new(file))
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours, and is not used afterwards.
        unsafe { rustix::io::close(self.0.as_raw_fd()) };
    }
}

/// Reads the beginning of a system file about the process; empty: it cannot be read.
pub fn beginning<'a>(path: &CStr, bytes: &'a mut [u8]) -> &'a [u8] {
    let file = openat(CWD, path, OFlags::CLOEXEC, Mode::empty()).map(File::from);
    let read = file.and_then(|file| rustix::io::read(file, &mut *bytes)).unwrap_or(0);
    &bytes[..read]
}

/// Reads the path of the program, truncated; empty: it cannot be read.
pub fn program_path(bytes: &mut [u8]) -> &[u8] {
    let length = readlinkat_raw(CWD, c"/proc/self/exe", &mut *bytes).unwrap_or(0);
    &bytes[..length]
}

/// Maps pages of zeros by a system call: `malloc` may be the program's, and take its locks.
pub fn zeroed(bytes: usize) -> Option<NonNull<u8>> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let map = unsafe { libc::mmap(null_mut(), bytes, PROT_READ | PROT_WRITE, flags, -1, 0) };
    if map == libc::MAP_FAILED { None } else { NonNull::new(map.cast()) }
}

/// Makes pages of a mapped file writable now, so that a full disk is an error here and not a signal later.
///
/// # Errors
/// The error number; EINVAL: kernels before 5.14 do not support the request.
pub fn populate(start: *mut u8, bytes: usize) -> Result<(), c_int> {
    const MADV_POPULATE_WRITE: c_int = 23;
    // SAFETY: the request changes no byte of any mapping.
    if unsafe { libc::madvise(start.cast(), bytes, MADV_POPULATE_WRITE) } == 0 { Ok(()) } else { Err(errno()) }
}

/// Returns a limit of the process; `None`: the system does not report it.
pub fn limit(resource: libc::__rlimit_resource_t) -> Option<libc::rlim_t> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let known = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    known.then_some(limit.rlim_cur)
}

/// Stores as many of the bytes as there is room for.
pub fn store_bytes(to: &[AtomicU8], bytes: &[u8]) {
    to.iter().zip(bytes).for_each(|(to, byte)| to.store(*byte, Relaxed));
}

/// Reads a clock, in nanoseconds; 0: there is no such clock.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(clock, &mut time) };
    // A library that fakes clocks may set this one to before its origin.
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Defines what runs when a library is loaded, and when the process ends through `exit`.
#[macro_export]
macro_rules! at_start_and_end {
    ($start:path, $end:path) => {
        #[used]
        #[unsafe(link_section = ".init_array")]
        static START: extern "C" fn() = $start;

        #[used]
        #[unsafe(link_section = ".fini_array")]
        static END: extern "C" fn() = $end;
    };
}
