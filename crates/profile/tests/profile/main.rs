//! Profiles through every output and the advice, read back as others would read them.

mod firefox;
mod fixture;
mod json;
mod perfetto;
mod pprof;
mod stacks;
mod sums;
mod wire;
