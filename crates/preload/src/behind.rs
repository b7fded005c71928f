//! Finds the program's call when the recorder is in between: the program calls the recorder, which calls this library.
//! Rules apply to the program's calls.
//!
//! This happens once in a lock's life, so the stack may be unwound. The unwinder may take a mutex (in programs that
//! register their own code), whose policy may be undecided as well: then its caller counts as unknown.

use crate::owner;
use crate::rules::Caller;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Native, Patience};
use turnwise_interpose::{Module, find};
use turnwise_preload_abi::libraries::{RECORDER, is_library};

// SAFETY: libgcc's functions, with these types on all architectures.
unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

const NO_REASON: c_int = 0;
const END_OF_STACK: c_int = 5;

/// The threads that unwind their stacks; 0: a free slot.
static UNWINDING: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

/// Returns the program's call that led to ours.
pub(crate) fn call_of_program(caller: Caller) -> Caller {
    match find(caller.0).filter(is_recorder) {
        Some(recorder) => alone(|| call_behind(recorder)),
        None => caller,
    }
}

fn is_recorder(module: &Module) -> bool {
    // SAFETY: the module has called us, so it is loaded.
    is_library(unsafe { module.name() }.to_bytes(), RECORDER)
}

/// Calls `ask`, unless this thread is inside such a call already.
fn alone(ask: impl FnOnce() -> Caller) -> Caller {
    let me = owner::current();
    if UNWINDING.iter().any(|place| place.load(Relaxed) == me) {
        return Caller::UNKNOWN;
    }
    let mut patience = Patience::new();
    loop {
        if let Some(place) = UNWINDING.iter().find(|place| place.compare_exchange(0, me, Relaxed, Relaxed).is_ok()) {
            let answer = ask();
            place.store(0, Relaxed);
            return answer;
        }
        patience.wait::<Native>();
    }
}

/// The unwinder's target: the first frame behind those of the recorder.
struct Search {
    recorder: Module,
    is_inside: bool,
    found: usize,
}

fn call_behind(recorder: Module) -> Caller {
    let mut search = Search { recorder, is_inside: false, found: 0 };
    // SAFETY: `look` has the type of a callback, and gets a live [`Search`], as it expects.
    unsafe { _Unwind_Backtrace(look, (&raw mut search).cast()) };
    Caller(search.found)
}

extern "C" fn look(context: *mut c_void, search: *mut c_void) -> c_int {
    // SAFETY: `call_behind` passes its search; the unwinder passes its context.
    let (search, address) = unsafe { (&mut *search.cast::<Search>(), _Unwind_GetIP(context)) };
    let is_recorders = search.recorder.contains(address);
    if search.is_inside && !is_recorders {
        search.found = address;
        return END_OF_STACK;
    }
    search.is_inside |= is_recorders;
    NO_REASON
}
