//! The rules, one a file.

mod conditions;
mod convoy;
mod false_sharing;
mod inversion;
mod long_holds;
mod off_cpu;
mod oversubscribed;
mod polling;
mod readers;
mod saturated;
mod short_holds;
pub(super) mod unexplained;
mod unrelated;

use super::Finding;
use super::context::Context;

/// A judge of one thing.
pub(super) type Rule = fn(&Context) -> Vec<Finding>;

/// All of them.
pub(super) const RULES: &[Rule] = &[
    short_holds::find,
    oversubscribed::find,
    off_cpu::find,
    convoy::find,
    saturated::find,
    long_holds::find,
    unrelated::find,
    readers::find,
    false_sharing::find,
    inversion::find,
    conditions::find,
    polling::find,
];

/// The rule that is not about speed.
pub(super) const HAZARD: &str = inversion::NAME;

/// What a sleep and the wake-up that ends it cost together, roughly: two switches and a call between CPUs. Whoever
/// waits for less time than this had better spin.
const SWITCH_NS: u64 = 5_000;

/// What it costs to fetch a cache line that another CPU has just written, roughly.
const LINE_TRANSFER_NS: u64 = 100;
