//! `LD_PRELOAD` library that records what a program does with its pthread locks, on whichever locks come next in line:
//! the C library's, or those of `libturnwise_preload.so`.
//!
//! Everything is kept in a file that `TURNWISE_RECORDING` names (`crates/recording` has its layout), mapped shared:
//! what a program did is there however it ends. Without the variable the library passes all calls on.
//!
//! No path allocates by `malloc`, takes a lock of the program or waits for another thread. Each thread writes records
//! of its own (`writer.rs`); counters that it alone writes are incremented without locked instructions.
//!
//! | file | what |
//! |---|---|
//! | `exports/` | the symbols that programs see |
//! | `real.rs` | the next library's functions |
//! | `acquire.rs` | around lock calls: at once, or after a wait |
//! | `brief.rs` | waits that are short and frequent |
//! | `alone.rs` | programs of one thread |
//! | `cond.rs`, `../c/wait.c` | around waits, signals and broadcasts; the waits' frames are C |
//! | `hold.rs` | which locks a thread holds, for how long, in which order |
//! | `state.rs`, `tls.rs` | what a thread has of its own, and how it gets there |
//! | `table.rs` | a thread's entries by lock and site |
//! | `steps.rs` | stretches of what a thread does in order, for a replay |
//! | `detail.rs` | distributions, courses, tallies |
//! | `locks.rs`, `modules.rs`, `stacks.rs` | which lock lies where, which file, which stacks |
//! | `replaced.rs` | plug-ins that come in the place of others |
//! | `events.rs` | what waits were made of, where the locks tell |
//! | `journal.rs`, `later.rs` | acquisitions that are counted later |
//! | `holder.rs` | the other threads, and who of them has a lock |
//! | `writer.rs`, `mapping.rs`, `segments.rs` | a thread's records; the mapped file, chunks of it; where its parts lie |
//! | `process.rs`, `memory.rs` | which file; forked children; private memory |
//! | `start.rs` | the constructor |
#![no_std]

extern crate std as _;

mod acquire;
mod alone;
mod brief;
mod clock;
mod cond;
mod detail;
mod episodes;
mod events;
mod exports;
mod held;
mod hold;
mod holder;
mod journal;
mod later;
mod locks;
mod mapping;
mod memory;
mod modules;
mod process;
mod real;
mod replaced;
mod sampling;
mod segments;
mod stacks;
mod start;
mod state;
mod steps;
mod table;
mod tls;
mod waits;
mod writer;
