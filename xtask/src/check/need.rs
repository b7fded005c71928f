//! What a step needs in addition to the pinned toolchain; rustup and cargo install what they can.

use crate::command::{Run, cmd, need, skip};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Provides it: the head of `steps.toml` says what there is to need.
///
/// # Errors
/// Why it is unavailable, and what to type.
pub(crate) fn provide(needed: &str) -> Result<()> {
    match needed.split(' ').collect::<Vec<_>>()[..] {
        ["target", target] => rustup("target list --installed", target, &format!("target add {target}")),
        ["nightly", component] => {
            rustup("toolchain list", "nightly", "toolchain install nightly --profile minimal")?;
            let add = format!("component add --toolchain nightly {component}");
            rustup("component list --installed --toolchain nightly", component, &add)
        }
        ["program", program, package] => need(program, package),
        ["tool", name, version] => {
            let mut is_there = Command::new(tool(name));
            if is_there.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok() {
                return Ok(());
            }
            install(&format!("cargo install --locked --no-default-features --root target/tools {name}@{version}"))
        }
        ["architecture", name] if std::env::consts::ARCH == name => Ok(()),
        ["architecture", name] => Err(skip(format!("this machine is not {name}"))),
        _ => bail!("nothing knows how to provide `{needed}`"),
    }
}

/// Returns a program that cargo installed.
pub(crate) fn tool(name: &str) -> PathBuf {
    let ours = Path::new("target/tools/bin").join(name);
    if ours.is_file() { ours } else { PathBuf::from(name) }
}

/// Installs `name` unless `list` shows it.
fn rustup(list: &str, name: &str, add: &str) -> Result<()> {
    let listed =
        cmd(&format!("rustup {list}")).printed().map_err(|_| skip("no rustup here: install Rust with rustup"))?;
    match String::from_utf8_lossy(&listed.stdout).lines().any(|line| line.starts_with(name)) {
        true => Ok(()),
        false => install(&format!("rustup {add}")),
    }
}

fn install(line: &str) -> Result<()> {
    cmd(line).must().map_err(|_| skip(format!("`{line}` failed")))
}
