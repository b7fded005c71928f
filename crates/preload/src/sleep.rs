//! Counts in the live view how long threads sleep until others wake them in calls that are not on our locks: futex
//! calls through the C library's `syscall` (locks of Rust's std, parking_lot, C++20, Abseil), semaphores, barriers,
//! joins, and `pthread_once`. What the calls do stays the C library's.
//!
//! Readers tell what a thread slept on by its call stack: the functions of a lock have known names.

use crate::exports;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_long;
use turnwise_interpose::{GAVE_UP, WOKEN, find, find_program, is_preloaded, keeping_errno, stack, words};
use turnwise_live::locks::me;
use turnwise_live::writer::{self, Begun, End, Start};
use turnwise_live::{Key, Kind};
use turnwise_preload_abi::libraries::{RECORDER, is_library};

/// A call; its own part is set if [`begin`] has returned that it is counted.
type Sleep = turnwise_interpose::Sleep<MaybeUninit<Begun>>;

/// Whether such calls are counted.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Begins to count, for the constructor of a process that may have a view. Not behind the recorder: the calls would
/// come from there, and it records them. Nor under valgrind: to memcheck, words of the stack are uninitialised memory.
pub(crate) fn start() {
    // SAFETY: the name is a string.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"sem_wait".as_ptr()) };
    // SAFETY: the library was loaded before the program, so it stays.
    let is_recorder = |library: &turnwise_interpose::Module| is_library(unsafe { library.name() }.to_bytes(), RECORDER);
    if !is_preloaded("vgpreload") && !find(first.addr()).as_ref().is_some_and(is_recorder) {
        find_program();
        IS_ON.store(true, Relaxed);
        exports::sleep::take_futexes();
    }
}

/// Notes that a call begins which may sleep; returns whether it is counted.
pub(crate) extern "C" fn begin(sleep: &mut Sleep) -> bool {
    IS_ON.load(Relaxed) && keeping_errno(|| begin_counted(sleep))
}

fn begin_counted(sleep: &mut Sleep) -> bool {
    let (address, site) = (sleep.address as usize, sleep.site as usize);
    let Some(kind) = Kind::numbered(sleep.class.into()) else { return false };
    // The thread that is to end; a `pthread_t` is its thread pointer.
    let owner = if kind == Kind::Join { address } else { 0 };
    let start = Start { key: Key::new(address, kind), site, owner, rule: 0, me: me() };
    let start = start.at_stack(sleep.path(), |frames| stack(site, frames));
    match writer::begin(&start) {
        Some(begun) => {
            sleep.own.write(begun);
            true
        }
        None => false,
    }
}

/// Notes that a call has ended, for which [`begin`] has returned that it is counted.
pub(crate) extern "C" fn end(sleep: &Sleep, how: u32) {
    /// A join that took no longer found that the thread had already ended.
    const ENDED_NS: u64 = 3_000;
    // SAFETY: `begin` has written it, as it returned true.
    let begun = unsafe { sleep.own.assume_init_ref() };
    let mut me = me();
    let is_late = sleep.class == Kind::Join as u32 && writer::lasted_ns(begun) < ENDED_NS;
    let end = match how {
        WOKEN if !is_late => End::Acquired,
        GAVE_UP => End::GaveUp,
        _ => return writer::withdraw(begun, &me),
    };
    me.events[0] = me.events[0].wrapping_add(1); // a sleep
    writer::end(begun, end, &me);
}

/// Does as [`begin`] for a call on several words, an array of `struct futex_waitv`: it is counted for the first.
pub(crate) extern "C" fn begin_several(sleep: &mut Sleep, array: u64) -> bool {
    const ADDRESS: u64 = 8;
    let mut address = [0];
    if !IS_ON.load(Relaxed) || words(0, array.wrapping_add(ADDRESS) as usize, &mut address) == 0 {
        return false;
    }
    sleep.address = address[0] as u64;
    begin(sleep)
}

/// Does as [`end`] for such a call.
pub(crate) extern "C" fn end_of_several(sleep: &mut Sleep, _: u64, _: c_long, how: u32) {
    end(sleep, how);
}
