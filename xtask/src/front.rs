//! `cargo xtask test` and `install-c`, which need little to be built; all other commands are passed on to `xtask-all`.

mod install;
mod root;
mod test;

use anyhow::Result;
use clap::Parser;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Front {
    Test(test::Args),
    /// Build the C API and install it: libraries, headers, pkg-config file, CMake package
    InstallC(install::Install),
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some("test" | "install-c") => root::ended(run(Front::parse())),
        _ => {
            let mut all = root::cargo("run --quiet --package xtask --bin xtask-all --");
            all.args(words).stdin(Stdio::inherit());
            eprintln!("error: cannot start cargo: {}", all.exec());
            ExitCode::from(2)
        }
    }
}

fn run(command: Front) -> Result<bool> {
    root::enter()?;
    match command {
        Front::Test(args) => test::run(&args),
        Front::InstallC(install) => install.run(),
    }
}
