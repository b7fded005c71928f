//! Compares stacks with those of the compiler's unwinder.

extern crate std;

use super::{return_behind, stack};
use crate::find;
use core::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::vec::Vec;

// SAFETY: as the C++ ABI declares them; the standard library links the unwinder.
unsafe extern "C" {
    fn _Unwind_Backtrace(each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, argument: *mut c_void)
    -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

unsafe extern "C" fn note(frame: *mut c_void, frames: *mut c_void) -> c_int {
    // SAFETY: `both` passes a vector, the unwinder its frame.
    unsafe { (*frames.cast::<Vec<u64>>()).push(_Unwind_GetIP(frame) as u64) };
    0
}

/// Returns the caller's stack by the compiler's unwinder, and by ours.
#[inline(never)]
fn both() -> (Vec<u64>, Vec<u64>) {
    let mut theirs: Vec<u64> = Vec::new();
    // SAFETY: `note` takes a vector.
    unsafe { _Unwind_Backtrace(note, (&raw mut theirs).cast()) };
    // The first address is a place in this function, whose own two calls differ.
    theirs.remove(0);
    // The last is not a code address.
    theirs.retain(|address| *address != 0);
    let mut ours = std::vec![0; 128];
    let count = stack(theirs[0] as usize, &mut ours);
    ours.truncate(count);
    (theirs, ours)
}

/// Calls itself, with frames of several forms in between.
#[inline(never)]
fn deep(depth: usize, run: &mut dyn FnMut()) -> usize {
    if depth == 0 {
        run();
        return 0;
    }
    let large = [depth as u8; 3000];
    let sum = [3, 1, 2].into_iter().map(|n| if n == 1 { deep(depth - 1, run) } else { n }).sum::<usize>();
    sum + usize::from(core::hint::black_box(&large)[depth])
}

#[test]
fn a_stack_is_that_of_the_compilers_unwinder() {
    let mut found = Vec::new();
    deep(10, &mut || found.push(both()));
    let (theirs, ours) = &found[0];
    assert!(theirs.len() > 20, "{theirs:x?}");
    assert_eq!(ours, theirs);
}

static SEEN: Mutex<Option<(Vec<u64>, Vec<u64>)>> = Mutex::new(None);

extern "C" fn handler(_: c_int) {
    *SEEN.lock().unwrap() = Some(both());
}

#[test]
fn a_stack_goes_on_below_a_signal_handler_on_a_stack_of_its_own() {
    let room = std::vec![0_u8; 1 << 18].leak();
    let other = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: room.len() };
    // SAFETY: the stack persists, and the handler is valid; `raise` returns when it has run.
    unsafe {
        assert_eq!(libc::sigaltstack(&raw const other, core::ptr::null_mut()), 0);
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, core::ptr::null_mut()), 0);
        deep(3, &mut || assert_eq!(libc::raise(libc::SIGUSR1), 0));
        let none = libc::stack_t { ss_flags: libc::SS_DISABLE, ..other };
        libc::sigaltstack(&raw const none, core::ptr::null_mut());
    }
    let (theirs, ours) = SEEN.lock().unwrap().take().expect("the handler ran");
    assert!(theirs.len() > 10, "{theirs:x?}");
    assert_eq!(ours, theirs);
}

#[test]
fn what_nobody_returns_to_has_no_stack() {
    assert_eq!(stack(7, &mut [0; 8]), 0);
    let mut few = [0; 2];
    let (theirs, _) = both();
    assert_eq!((stack(theirs[1] as usize, &mut few), few[0]), (2, theirs[1]));
}

#[inline(never)]
fn find_first_outside() {
    let (theirs, _) = both();
    let program = find(theirs[0] as usize).expect("this program");
    let expected = theirs.iter().map(|address| *address as usize).find(|address| !program.contains(*address));
    assert!(expected.is_some(), "{theirs:x?}");
    assert_eq!(return_behind(&program, theirs[1] as usize), expected);
}

unsafe extern "C" fn compare(_: *const c_void, _: *const c_void) -> c_int {
    find_first_outside();
    core::hint::black_box(0)
}

#[test]
fn the_first_frame_outside_a_module_is_found() {
    let mut two = [1_u8, 2];
    // SAFETY: two elements of one byte, and a function for such.
    unsafe { libc::qsort(two.as_mut_ptr().cast(), 2, 1, Some(compare)) };
}
