//! Functions that begin a thread: it takes its token before anything else, so that the locks that it takes name it,
//! also before it ever waits. Without, who waits for a thread that never waited could not be told (`turnwise why`).
//!
//! What the thread is to run travels in a static place: nothing here allocates. Where all places are taken, the thread
//! takes its token when it first waits. The program's function is jumped to, so the stack is as without us. (A forked
//! child finds the places taken whose threads were about to begin: it has as many less.)

use crate::live;
use crate::real::{self, Routine};
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::{c_int, c_void, pthread_attr_t, pthread_t};
use turnwise::platform::native::introduce;

/// A place for what a new thread is to run.
struct Place {
    /// Null: the place is free.
    routine: AtomicPtr<c_void>,
    argument: AtomicPtr<c_void>,
}

static PLACES: [Place; 32] =
    [const { Place { routine: AtomicPtr::new(null_mut()), argument: AtomicPtr::new(null_mut()) } }; 32];

/// A function and its argument, in two registers.
#[repr(C)]
struct Call {
    routine: *mut c_void,
    argument: *mut c_void,
}

impl Place {
    /// Takes a free place.
    fn take(call: &Call) -> Option<&'static Place> {
        let is_free = |place: &&Place| {
            // ORDERING preload.place: Acquire pairs with the Release in `leave`: our argument comes after its reading.
            place.routine.compare_exchange(null_mut(), call.routine, Acquire, Relaxed).is_ok()
        };
        let place = PLACES.iter().find(is_free)?;
        // The thread begins after this: `pthread_create` orders the two.
        place.argument.store(call.argument, Relaxed);
        Some(place)
    }

    /// Reads the place, and frees it.
    fn leave(&self) -> Call {
        let call = Call { routine: self.routine.load(Relaxed), argument: self.argument.load(Relaxed) };
        // ORDERING preload.place: Release pairs with the Acquire in `take`.
        self.routine.store(null_mut(), Release);
        call
    }
}

/// Begins a thread by `create`, one of the C library's functions.
fn begin(
    routine: Option<Routine>,
    argument: *mut c_void,
    create: impl FnOnce(Option<Routine>, *mut c_void) -> c_int,
) -> c_int {
    let call = Call { routine: routine.map_or(null_mut(), |routine| routine as *mut c_void), argument };
    if call.routine.is_null() || !live::names_owners() {
        return create(routine, argument);
    }
    let Some(place) = Place::take(&call) else { return create(routine, argument) };
    let answer = create(Some(run), core::ptr::from_ref(place).cast_mut().cast());
    if answer != 0 {
        place.leave();
    }
    answer
}

/// Introduces the thread to the locks; returns what it is to run.
///
/// # Safety
/// `place` is one of [`PLACES`], taken for this thread.
unsafe extern "C" fn introduced(place: *mut c_void) -> Call {
    introduce();
    // SAFETY: contract of `introduced`.
    unsafe { (*place.cast::<Place>()).leave() }
}

/// Runs what is in a place.
///
/// # Safety
/// As for [`introduced`].
#[unsafe(naked)]
unsafe extern "C" fn run(_: *mut c_void) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "sub rsp, 8",
        "call {introduced}",
        "add rsp, 8",
        "mov rdi, rdx",
        "jmp rax",
        introduced = sym introduced,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "bl {introduced}",
        "ldp x29, x30, [sp], #16",
        "mov x16, x0", // the register by which a branch may go to a function's first landing pad
        "mov x0, x1",
        "br x16",
        introduced = sym introduced,
    );
}

/// Begins a thread.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Option<Routine>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: contract of `pthread_create` (POSIX), which is that of `real::create`.
    begin(routine, argument, |routine, argument| unsafe { real::create(thread, attributes, routine, argument) })
}

/// Begins a thread.
///
/// # Safety
/// As C11 says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    routine: Option<Routine>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: contract of `thrd_create` (C11), which is that of `real::thrd_create`; an `int` is returned where a
    // pointer is.
    begin(routine, argument, |routine, argument| unsafe { real::thrd_create(thread, routine, argument) })
}
