//! FreeBSD: `_umtx_op`, private to the process.

use core::ptr;
use core::sync::atomic::AtomicU32;

pub(crate) fn wait(word: &AtomicU32, expected: u32, ns: Option<u64>) {
    const SECOND: u64 = 1_000_000_000;
    // Relative to now, since the flag for an absolute time is not set.
    let time = ns.map(|ns| libc::_umtx_time {
        _timeout: libc::timespec { tv_sec: (ns / SECOND) as libc::time_t, tv_nsec: (ns % SECOND) as _ },
        _flags: 0,
        _clockid: libc::CLOCK_MONOTONIC as u32,
    });
    let (size, time) = time.as_ref().map_or((0, ptr::null()), |time| (size_of_val(time), ptr::from_ref(time)));
    // SAFETY: the word outlives the call; the last two arguments are the size of a time on this stack, passed as a
    // pointer, and its address, or both null.
    unsafe {
        libc::_umtx_op(
            word.as_ptr().cast(),
            libc::UMTX_OP_WAIT_UINT_PRIVATE,
            expected.into(),
            ptr::without_provenance_mut(size),
            time.cast_mut().cast(),
        )
    };
}

pub(crate) fn wake(word: *const AtomicU32) {
    let one = 1;
    // SAFETY: the kernel uses the address of a private word as a number; it reads no memory there.
    unsafe {
        libc::_umtx_op(word.cast_mut().cast(), libc::UMTX_OP_WAKE_PRIVATE, one, ptr::null_mut(), ptr::null_mut())
    };
}
