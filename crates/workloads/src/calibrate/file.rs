//! The machine file.

use anyhow::{Context, Result};
use std::env;
use std::path::PathBuf;

/// Where `turnwise calibrate` puts its machine file and `turnwise sim --machine here` looks for it:
/// `$XDG_CONFIG_HOME/turnwise/here.toml`, without that variable `~/.config/turnwise/here.toml`.
///
/// # Errors
/// Neither `XDG_CONFIG_HOME` nor `HOME` is an absolute path.
pub fn here_path() -> Result<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let config = config.context("neither XDG_CONFIG_HOME nor HOME is set: say where with --output FILE")?;
    Ok(config.join("turnwise").join("here.toml"))
}

impl super::Calibration {
    /// The file's text.
    ///
    /// # Errors
    /// See there.
    pub fn machine_file(&self) -> Result<String> {
        Ok(String::new())
    }
}
