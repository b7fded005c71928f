//! `turnwise bench` on its own.

use clap::Parser;
use std::process::ExitCode;
use turnwise_workloads::bench::{BenchArgs, run};

/// Compare mutexes on this machine.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    bench: BenchArgs,
}

fn main() -> anyhow::Result<ExitCode> {
    run(Cli::parse().bench)
}
