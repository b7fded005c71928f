//! What goes into the builds, and what comes out of them: the parts of `cargo xtask supply` and `cargo xtask dist` that
//! no other tool does. The rest are commands in `check/steps.toml`.

mod glibc;
mod graph;
mod interface;
mod notices;
mod pack;
mod refused;

use anyhow::Result;
use clap::Subcommand;
use std::path::PathBuf;

pub(crate) use graph::{Graph, Package};

/// Parts of steps.
#[derive(Subcommand)]
pub(crate) enum Part {
    /// Compare the library's interface with the kept list, and ask for an example of each type
    Interface {
        /// Write the list instead
        #[arg(long)]
        write: bool,
    },
    /// Pack what is published, and check whether the packages are complete. Nothing is uploaded
    Pack,
    /// Compile what is loaded into programs for a target that it does not support: one error must say so
    Refused,
    /// Print the licences of third-party code in a package, and their texts
    Notices { package: String },
    /// Check that programs and libraries, and what a tool carries, need no glibc later than 2.28
    Glibc {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

impl Part {
    /// Runs it; an error says what is wrong.
    pub(crate) fn run(&self) -> Result<bool> {
        let seen = match self {
            Part::Interface { write } => interface::run(*write),
            Part::Pack => pack::run(),
            Part::Refused => refused::run(),
            Part::Notices { package } => notices::of(package),
            Part::Glibc { files } => glibc::run(files),
        };
        println!("{}", seen?.trim_end());
        Ok(true)
    }
}
