//! Where commands run, and how they end.

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::ExitCode;

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
