//! An `LD_PRELOAD` library that records a program's operations on its pthread locks, whichever library provides them:
//! the C library, or `libturnwise_preload.so`; and its sleeps in semaphores, barriers, joins and futex calls, by which
//! the locks of Rust's std, of C++20 and of others wait.
//!
//! Everything is kept in a file that `TURNWISE_RECORDING` names (`crates/recording` has its layout), mapped shared: the
//! recording survives however the program ends. Without the variable the library passes all calls on.
//!
//! No path allocates by `malloc`, takes a lock of the program or waits for another thread. Each thread writes records
//! of its own (`writer.rs`); counters that only it writes are incremented without locked instructions.
//!
//! | file | what |
//! |---|---|
//! | `exports/` | the symbols that programs see |
//! | `real.rs` | the next library's functions |
//! | `acquire.rs`, `wait.rs` | wraps lock calls: immediate, or after a wait |
//! | `alone.rs` | single-threaded programs |
//! | `cond.rs`, `../c/wait.c` | wraps waits, signals and broadcasts; the waits' frames are C |
//! | `sleep.rs` | wraps other calls that sleep, and those that wake |
//! | `hold.rs`, `notes.rs` | which locks a thread holds, for how long, in which order |
//! | `misuse.rs` | what POSIX forbids to do with mutexes |
//! | `state.rs`, `tls.rs` | a thread's private state, and how it is found |
//! | `table.rs` | a thread's entries by lock and site |
//! | `steps.rs` | stretches of a thread's operations in order, for a replay |
//! | `detail.rs` | distributions, time courses, tallies |
//! | `locks.rs`, `modules.rs`, `stacks.rs` | which lock is where, which file, which stacks |
//! | `replaced.rs` | plug-ins loaded in the place of others |
//! | `events.rs` | the components of waits, where the locks report them |
//! | `journal.rs`, `later.rs` | acquisitions that are counted later |
//! | `filter.rs` | what is left out under a filter of system calls |
//! | `holder.rs` | the other threads, and which of them holds a lock |
//! | `writer.rs`, `mapping.rs`, `segments.rs` | a thread's records; the mapped file, its chunks; where its parts lie |
//! | `process.rs`, `memory.rs` | the file; forked children; private memory |
//! | `start.rs` | the constructor |
#![no_std]

extern crate std as _;

mod acquire;
mod alone;
mod clock;
mod cond;
mod detail;
mod episodes;
mod events;
mod exports;
mod filter;
mod held;
mod hold;
mod holder;
mod journal;
mod later;
mod locks;
mod mapping;
mod memory;
mod misuse;
mod modules;
mod notes;
mod process;
mod real;
mod replaced;
mod sampling;
mod segments;
mod sleep;
mod stacks;
mod start;
mod state;
mod steps;
mod table;
mod tls;
mod wait;
mod waits;
mod writer;
