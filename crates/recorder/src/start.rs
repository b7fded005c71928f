//! The constructor, and the end of threads.

use crate::state::State;
use crate::{alone, modules, process, real, stacks};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_interpose::race_checker;

/// Rounds of destructors of thread-specific data that POSIX promises: a thread ends for us in the last, as those of
/// others may use locks.
pub(crate) const DESTRUCTOR_ROUNDS: u32 = 4;

/// Not made, or none to be had.
const NO_KEY: u32 = u32::MAX;
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);

/// Runs when the library is loaded.
extern "C" fn start() {
    // All that lock calls ask the loader for: later another thread may have its lock, and wait for us.
    turnwise_interpose::can_find();
    real::look_up_all();
    alone::look_up();
    stacks::warm_up();
    make_key();
    if race_checker().is_some() {
        tell(b"turnwise: under helgrind and drd nothing is recorded: they would take the records for races\n");
    }
    process::claim();
    if let Some(process) = process::get_if_ready() {
        process.note_unwinder(); // an earlier library's constructor may have used locks
        modules::note_all(process);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Runs when the process exits in order.
extern "C" fn end() {
    if let Some(process) = process::get_if_ready() {
        process.exits();
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

fn tell(line: &[u8]) {
    // SAFETY: the bytes are the caller's.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

fn make_key() {
    /// The C library allocates for the values of further keys.
    const WITHOUT_ALLOCATION: u32 = 32;
    let mut key = 0;
    // SAFETY: `key` is writable, and the destructor takes what `await_end_of_thread` sets.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) } == 0;
    if made && key < WITHOUT_ALLOCATION {
        KEY.store(key, Relaxed);
    }
}

/// Lets the calling thread's end be seen.
pub(crate) fn await_end_of_thread() {
    let key = KEY.load(Relaxed);
    if key != NO_KEY {
        // SAFETY: our key; any value that is not null lets the destructor run.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
    }
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    if !State::end() {
        await_end_of_thread();
    }
}
