//! What a program waits for, by the kernel's futex system calls.
//!
//! A program without pthread locks (Go, raw futexes, Rust's std, anything static) cannot be recorded by a preloaded
//! library. But all that sleeps and wakes goes through the futex calls, and perf events see each of them: who waited
//! on which address, from where in the program, how long, and whose call woke it. What happens without the kernel
//! (acquisitions, hold times) stays unknown.
//!
//! [`Tracer`] reads the kernel's records, [`Trace`] pairs them up, and [`profile`](Trace::profile) makes the same
//! [`Profile`](turnwise_profile::model::Profile) of them as the recorder's.

mod asleep;
mod call;
mod events;
#[cfg(test)]
mod hostile;
mod images;
mod living;
mod memory;
mod pairing;
mod process;
mod profile;
mod records;
mod stacks;
mod sums;
mod trace;
mod tracefs;
mod tracer;
mod unwind;

pub use living::has_ended;
pub use stacks::Living;
pub use sums::Course;
pub use trace::Trace;
pub use tracer::Tracer;
pub use unwind::Dump;
