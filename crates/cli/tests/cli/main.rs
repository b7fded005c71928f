//! The program as a user meets it: every subcommand, every refusal, exit status and output.

mod bench;
mod cluster;
mod calibrate;
mod common;
mod compare;
mod refusals;
mod run;
mod sim;
