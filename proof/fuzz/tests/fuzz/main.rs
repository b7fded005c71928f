//! Targets of the libraries. Those of what is not public are in `crates/cli/src/tests/hostile.rs` and
//! `crates/futex-trace/src/tests/hostile.rs`, beside what they call.

mod elf;
mod live;
mod profile;
mod recording;
mod sparse;
mod wire;
