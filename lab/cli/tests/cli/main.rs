//! The laboratory's program as a user meets it: every subcommand, every refusal, exit status and output.

mod bench;
mod calibrate;
mod cluster;
#[path = "../../../../crates/cli/tests/cli/common.rs"]
#[allow(dead_code, reason = "the tests of `turnwise` need all of it")]
mod common;
mod list;
mod plugins;
mod reproduce;
mod sim;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_turnwise-lab");
