//! An `LD_PRELOAD` library that implements a program's pthread locks by Turnwise's and its condition variables, without
//! rebuilding the program.
//!
//! All state lies inside the caller's objects, but for slots of readers that several CPUs have. There is no allocation,
//! and zero bytes are an unlocked lock. Robust, priority-inheriting, priority-protected and process-shared objects go
//! to the C library untouched. The layout, the limits and how to debug are in `docs/preload.md`.
//!
//! | file | what |
//! |---|---|
//! | `layout.rs` | the bytes of `pthread_mutex_t`, `pthread_cond_t` and `pthread_rwlock_t` as we use them |
//! | `ablate.rs` | changed numbers in the policy, for experiments: feature `ablate` |
//! | `policy.rs` | which lock: `TURNWISE_LOCK` |
//! | `rules.rs` | which lock each mutex uses: a policy file's table |
//! | `file.rs` | maps files |
//! | `word.rs`, `word/line.rs` | the lock, by policy; locks with a queue of waiters, in forked children |
//! | `mutex.rs` | the kinds of mutex on top of that lock, and their errors |
//! | `waits.rs` | the condition waits that a mutex counts as users |
//! | `rwlock.rs` | readers-writer locks: the same lock under every policy |
//! | `slots.rs` | slots for the readers of locks that are hardly ever written |
//! | `spin.rs` | spin locks: the C library's, with a different wait |
//! | `cond.rs`, `../c/wait.c` | condition variables; the sleep, which is a cancellation point, is C |
//! | `real.rs` | the C library's functions, for objects that pass through |
//! | `exports/` | the symbols that programs see |
//! | `events.rs` | what waits consisted of, for a recorder in front |
//! | `live.rs`, `sleep.rs` | counts waits in the live view: for locks, and those of other calls |
//! | `run_probe.rs` | what `turnwise compare` learns about a run: was a lock used, was there contention |
//! | `start.rs` | the constructor |
//!
//! The code is `core` only, so that no path can allocate; `std` is linked for its panic handler alone, and a panic
//! aborts, since it cannot leave an `extern "C"` function.
#![no_std]

extern crate std as _;

#[cfg(feature = "ablate")]
mod ablate;
mod cond;
mod events;
mod exports;
mod file;
mod layout;
mod live;
mod mutex;
mod owner;
mod policy;
mod real;
mod rules;
mod run_probe;
mod rwlock;
mod sleep;
mod slots;
mod spin;
mod start;
mod time;
mod waits;
mod word;
