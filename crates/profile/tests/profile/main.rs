//! Profiles through every output and the advice, read back as other tools would read them.

mod advice;
mod firefox;
mod fixture;
mod json;
mod live;
mod page;
mod perfetto;
mod pprof;
mod recorded;
mod stacks;
mod sums;
mod text;
mod wire;
