//! The program as a user meets it: every subcommand, every refusal, exit status and output.

mod aim7;
mod bench;
mod calibrate;
mod cluster;
mod common;
mod compare;
mod generate;
mod mount;
mod policy;
mod profile;
mod refusals;
mod reproduce;
mod run;
mod sim;
