//! The locks of the five documents that Turnwise grew out of, as they were then: before and after.
//!
//! For measuring and reproducing, not for use: take `turnwise`'s own. One file per lock; what a document changed is a
//! policy of the one type, so that before and after differ in nothing else.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod ticket;
mod wait;

pub use ticket::KernelTicketLock;
