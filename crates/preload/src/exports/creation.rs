//! Functions that start a thread: it takes its token first, so that the locks it takes name it even if it never waits.
//! Otherwise a thread that never waited could not be identified as an owner that others wait for (`turnwise why`).
//!
//! The thread's function is passed in a static slot: nothing here allocates. If all slots are taken, the thread takes
//! its token when it first waits. The program's function is jumped to, so the stack looks as it does without this
//! library. (In a forked child, slots of threads that were about to start remain taken.)

use crate::live;
use crate::real;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::{c_int, c_void};
use turnwise::platform::native::introduce;
use turnwise_interpose::c::{self, Routine};
use turnwise_interpose::exports;

/// A slot for the function that a new thread is to run.
struct Place {
    /// Null: the slot is free.
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
    /// Takes a free slot.
    fn take(call: &Call) -> Option<&'static Place> {
        let is_free = |place: &&Place| {
            // ORDERING preload.place: Acquire pairs with the Release in `leave`: our argument comes after its reading.
            place.routine.compare_exchange(null_mut(), call.routine, Acquire, Relaxed).is_ok()
        };
        let place = PLACES.iter().find(is_free)?;
        // The thread starts after this: `pthread_create` orders the two.
        place.argument.store(call.argument, Relaxed);
        Some(place)
    }

    /// Reads the slot and frees it.
    fn leave(&self) -> Call {
        let call = Call { routine: self.routine.load(Relaxed), argument: self.argument.load(Relaxed) };
        // ORDERING preload.place: Release pairs with the Acquire in `take`.
        self.routine.store(null_mut(), Release);
        call
    }
}

/// Starts a thread by `create`, one of the C library's functions.
fn begin(routine: Routine, argument: *mut c_void, create: impl FnOnce(Routine, *mut c_void) -> c_int) -> c_int {
    let call = Call { routine: routine.map_or(null_mut(), |routine| routine as *mut c_void), argument };
    if call.routine.is_null() || !live::is_on() {
        return create(routine, argument);
    }
    let Some(place) = Place::take(&call) else { return create(routine, argument) };
    let answer = create(Some(run), core::ptr::from_ref(place).cast_mut().cast());
    if answer != 0 {
        place.leave();
    }
    answer
}

/// Introduces the thread to the locks; returns the call that it is to make.
///
/// # Safety
/// `place` is one of [`PLACES`], taken for this thread.
unsafe extern "C" fn introduced(place: *mut c_void) -> Call {
    introduce();
    // SAFETY: contract of `introduced`.
    unsafe { (*place.cast::<Place>()).leave() }
}

/// Runs the call in a slot.
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

exports! {
    pthread_create(thread, attributes, routine, argument) => {
        begin(routine, argument, |routine, argument| real::pthread_create(thread, attributes, routine, argument))
    };
    // An `int` is returned where a pointer is.
    thrd_create(thread, routine, argument) => {
        begin(routine, argument, |routine, argument| real::thrd_create(thread, routine, argument))
    };
}
