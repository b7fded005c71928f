//! Finds what a program waits for, by the kernel's futex system calls.
//!
//! A program without pthread locks (Go, raw futexes, Rust's std, anything static) cannot be recorded by a preloaded
//! library. But all sleeps and wake-ups go through the futex calls, and perf events record each of them: which thread
//! waited on which address, from where in the program, how long, and whose call woke it. Events outside the kernel
//! (acquisitions, hold times) remain unknown.
//!
//! [`Tracer`] reads the kernel's records, [`Trace`] pairs them up, and [`profile`](Trace::profile) makes the same
//! [`Profile`](turnwise_profile::model::Profile) from them as from the recorder's.

mod call;
mod events;
#[cfg(test)]
#[path = "tests/hostile.rs"]
mod hostile;
mod images;
mod living;
mod memory;
pub mod outside;
mod pairing;
mod process;
mod profile;
mod records;
mod stacks;
mod trace;
mod tracefs;
mod tracer;
mod unwind;

pub use living::{has_ended, threads};
pub use stacks::Living;
pub use trace::Trace;
pub use tracer::{Tracer, now_ns};
pub use unwind::Dump;
