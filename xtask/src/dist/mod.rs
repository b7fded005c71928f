//! `cargo xtask dist`: what users without the repository install, built below `target/dist`, installed in an empty
//! place, used, and removed.

mod contents;
mod deb;
mod glibc;
mod machine;
mod notices;
mod places;
mod portable;
mod symbols;
mod wheel;

use crate::checks::{self, Check, check};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The final contents: packages, the wheel, the static program.
const FOLDER: &str = "target/dist";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Debian packages, Python wheel, static program: built, installed in a bare system, used and removed
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: checks::Which,
    /// Debian's releases in whose roots `roots` installs
    #[arg(long, value_delimiter = ',', value_name = "NAME", default_value = "bullseye,bookworm,trixie")]
    releases: Vec<String>,
}

const CHECKS: &[Check<Args>] = &[
    check("symbols", "the C library exports what packaging/debian/libturnwise.symbols says", true, symbols::run),
    check("contents", "Debian's packages: files, fields, sums; programs and library run", true, contents::run),
    check("glibc", "nothing that ships asks for a glibc later than 2.28", false, glibc::run),
    check("arm64", "Debian's packages for arm64, cross-compiled, unpacked and used under qemu", false, contents::arm64),
    check("roots", "the packages, installed, used and removed in clean Debian roots", false, places::roots),
    check(
        "static",
        "the program for musl, without libraries, runs programs of glibc on our locks",
        false,
        portable::try_static,
    ),
    check("wheel", "the Python wheel, installed in a fresh environment and used", false, wheel::run),
    check("container", "the container, built and used", false, places::container),
];

/// Runs the requested checks; returns `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    checks::run(CHECKS, &args.which, args)
}

/// Runs programs with an installed tool; returns what they did.
pub(crate) fn use_tool(tool: &Path) -> Result<String> {
    portable::use_tool(&machine::Machine::own(), tool)
}

/// Returns a folder below [`FOLDER`], empty.
fn empty_folder(name: &str) -> Result<PathBuf> {
    let folder = std::path::absolute(FOLDER)?.join(name);
    let gone = if folder.exists() { std::fs::remove_dir_all(&folder) } else { Ok(()) };
    gone.and_then(|()| std::fs::create_dir_all(&folder))
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}
