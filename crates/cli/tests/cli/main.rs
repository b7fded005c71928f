//! The program as a user meets it: every subcommand, every refusal, exit status and output.

mod check;
mod common;
mod compare;
mod deadlock;
mod enable;
mod gate;
mod generate;
mod hidden;
mod inside;
mod library;
mod limits;
mod newer;
mod odd_names;
mod outside;
mod plugins;
mod policy;
mod profile;
mod refusals;
mod run;
mod sleeps;
mod status;
mod top;
mod tune;
mod why;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_turnwise");
