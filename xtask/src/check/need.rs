//! What a step needs in addition to the pinned toolchain; rustup and cargo install what they can.

use crate::command::{Run, cmd, need, skip};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;

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
        // Nothing to do, and quick, if this version is there. Else built soon, rather than to run fast.
        ["tool", name, version, ref flags @ ..] => install(&format!(
            "env CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
             CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install --quiet --locked --root {} {name}@{version} {}",
            tools()?.display(),
            flags.join(" ")
        )),
        ["architecture", name] if std::env::consts::ARCH == name => Ok(()),
        ["architecture", name] => Err(skip(format!("this machine is not {name}"))),
        _ => bail!("nothing knows how to provide `{needed}`"),
    }
}

/// Returns the folder below which cargo installs tools: every checkout of this user's shares it.
fn tools() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    Ok(cache.context("the environment names neither XDG_CACHE_HOME nor HOME")?.join("turnwise-tools"))
}

/// Returns the folders of programs, with the tools'.
pub(crate) fn path() -> Result<OsString> {
    path_from(tools()?.join("bin"))
}

/// Returns the folders of programs, with `first` before all others.
pub(crate) fn path_from(first: PathBuf) -> Result<OsString> {
    let before = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(first).chain(std::env::split_paths(&before));
    std::env::join_paths(folders).context("a folder of programs has a colon in its name")
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
