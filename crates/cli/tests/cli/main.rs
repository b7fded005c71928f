//! The program as a user meets it: every subcommand, every refusal, exit status and output.

mod bench;
mod calibrate;
mod cluster;
mod common;
mod compare;
mod mount;
mod refusals;
mod run;
mod sim;
