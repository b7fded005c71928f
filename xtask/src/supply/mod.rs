//! What goes into the builds, and what comes out of them: the parts of `cargo xtask supply` and `cargo xtask dist` that
//! no other tool does. The rest are commands in `check/steps.toml`, and scripts in `packaging`.

mod interface;
mod notices;
mod pack;

use crate::command::{Run, cmd};
use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::Value;

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
    /// Print the licences of third-party code in a package, and their texts
    Notices { package: String },
}

impl Part {
    /// Runs it; an error says what is wrong.
    pub(crate) fn run(&self) -> Result<bool> {
        let seen = match self {
            Part::Interface { write } => interface::run(*write),
            Part::Pack => pack::run(),
            Part::Notices { package } => notices::of(package),
        };
        println!("{}", seen?.trim_end());
        Ok(true)
    }
}

/// Returns the packages of builds with all features, for all targets, as `cargo metadata` has them.
fn packages() -> Result<Vec<Value>> {
    let text = cmd("cargo metadata --format-version=1 --locked --all-features").text()?;
    let mut graph: Value = serde_json::from_str(&text).context("`cargo metadata` prints what is not understood")?;
    serde_json::from_value(graph["packages"].take()).context("`cargo metadata` lists no packages")
}
