//! Where commands run, and how they end; cargo, and files: each error names the file.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Enters the workspace's folder.
pub(crate) fn enter() -> Result<()> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("start this with `cargo xtask`")?;
    let manifest = PathBuf::from(manifest);
    let root = manifest.parent().context("xtask lies directly below the workspace's folder")?;
    std::env::set_current_dir(root).with_context(|| format!("cannot enter {}", root.display()))
}

/// Returns the exit status of a command: whether everything is in order, or an error, which is printed.
pub(crate) fn ended(result: Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns the cargo that started this, with these words.
pub(crate) fn cargo(words: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(words.split_whitespace()).stdin(Stdio::null());
    cargo
}

/// Returns the folder that cargo builds in.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Reads a text.
pub(crate) fn read(file: impl AsRef<Path>) -> Result<String> {
    let file = file.as_ref();
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Writes a file, and makes the folders that it lies in.
pub(crate) fn write(file: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<()> {
    let file = file.as_ref();
    let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(file, text)).with_context(|| format!("cannot write {}", file.display()))
}

/// Copies a file to a new one, and makes the folders that it lies in. A program that has the old one mapped keeps it.
pub(crate) fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
    let gone = made.and_then(|()| if to.exists() { std::fs::remove_file(to) } else { Ok(()) });
    let copied = gone.and_then(|()| std::fs::copy(from, to));
    copied.map(drop).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
