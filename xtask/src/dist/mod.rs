//! `cargo xtask dist`: what users without the repository install, built below `target/dist`, installed in an empty
//! place, used, and removed.

mod container;
mod contents;
mod deb;
mod glibc;
mod machine;
mod notices;
mod portable;
mod roots;
mod symbols;
mod wheel;

use crate::checks::{self, Check, check};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The final contents: packages, the wheel, the static program.
const FOLDER: &str = "target/dist";
/// The folder with the files of Debian's packages, the wheel and the container.
const PACKAGING: &str = "packaging";
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
    check("glibc", "nothing that ships asks for a glibc later than 2.28", false, |_| glibc::run()),
    check("arm64", "Debian's packages for arm64, cross-compiled, unpacked and used under qemu", false, |_| {
        contents::run_arm64()
    }),
    check("roots", "the packages, installed, used and removed in clean Debian roots", false, roots::run),
    check("static", "the program for musl, without libraries, runs programs of glibc on our locks", false, |_| {
        portable::try_static()
    }),
    check("wheel", "the Python wheel, installed in a fresh environment and used", false, |_| wheel::run()),
    check("container", "the container, built and used", false, container::run),
];

/// Runs the requested checks; returns `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    checks::run("dist", CHECKS, &args.which, args)
}

/// Returns a folder below [`FOLDER`], empty.
fn empty_folder(name: &str) -> Result<PathBuf> {
    let folder = std::path::absolute(FOLDER)?.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Writes a file, and the folders that it lies in.
fn write(file: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    std::fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Copies a file, and makes the folders that it lies in.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}
