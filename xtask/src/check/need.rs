//! What a step needs in addition to the pinned toolchain; rustup installs what it can.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Something that must be there before a step can run.
pub(crate) enum Need {
    /// A compilation target of the pinned toolchain.
    Target(&'static str),
    /// A component of the nightly toolchain.
    Nightly(&'static str),
    /// A program, and Debian's package that brings it.
    Program(&'static str, &'static str),
    /// A program that cargo installs below target/tools, and its version.
    Tool(&'static str, &'static str),
    /// The architecture of this machine.
    Architecture(&'static str),
}

impl Need {
    /// Provides it.
    ///
    /// # Errors
    /// Why it is unavailable, and what to type.
    pub(crate) fn provide(&self) -> Result<(), String> {
        match self {
            Need::Target(target) => rustup(&["target", "list", "--installed"], target, &["target", "add", target]),
            Need::Nightly(component) => {
                nightly()?;
                let list = ["component", "list", "--installed", "--toolchain", "nightly"];
                rustup(&list, component, &["component", "add", "--toolchain", "nightly", component])
            }
            Need::Program(program, package) => {
                let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
                found.map(|_| ()).map_err(|_| format!("no `{program}` here: `apt-get install {package}`"))
            }
            Need::Tool(name, version) => installed(name, version),
            Need::Architecture(name) if std::env::consts::ARCH == *name => Ok(()),
            Need::Architecture(name) => Err(format!("this machine is not {name}")),
        }
    }
}

/// Returns a program that [`Need::Tool`] provides.
pub(crate) fn tool(name: &str) -> PathBuf {
    let ours = Path::new("target/tools/bin").join(name);
    if ours.is_file() { ours } else { PathBuf::from(name) }
}

fn installed(name: &str, version: &str) -> Result<(), String> {
    let is_there = || Command::new(tool(name)).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if is_there().is_ok() {
        return Ok(());
    }
    let line = format!("cargo install --locked --no-default-features --root target/tools {name}@{version}");
    println!("+ {line}");
    let words: Vec<&str> = line.split_whitespace().collect();
    match Command::new(words[0]).args(&words[1..]).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("`{line}` failed")),
    }
}

fn nightly() -> Result<(), String> {
    rustup(&["toolchain", "list"], "nightly", &["toolchain", "install", "nightly", "--profile", "minimal"])
}

/// Installs `name` unless `list` shows it.
fn rustup(list: &[&str], name: &str, install: &[&str]) -> Result<(), String> {
    let listed = Command::new("rustup").args(list).stderr(Stdio::null()).output();
    let listed = listed.map_err(|_| "no rustup here: install Rust with rustup".to_string())?;
    if String::from_utf8_lossy(&listed.stdout).lines().any(|line| line.starts_with(name)) {
        return Ok(());
    }
    println!("+ rustup {}", install.join(" "));
    match Command::new("rustup").args(install).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("`rustup {}` failed", install.join(" "))),
    }
}
