//! Before a case runs: its packages, its folder, its set-up.

use super::case::Case;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Where Debian's programs are: before other programs of the same name in the caller's path.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/games";

/// Returns the path in which cases find their programs.
pub(super) fn path() -> String {
    PATH.to_owned()
}

/// Installs the packages of all cases.
pub(super) fn install(cases: &[Case]) -> Result<()> {
    let mut packages: Vec<&str> = cases.iter().flat_map(|case| &case.packages).map(String::as_str).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]).args(packages);
    let status = apt.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.context("cannot run apt-get")?;
    if !status.success() {
        bail!("apt-get install failed ({status}); run it by hand, or leave out --install to skip what is missing");
    }
    Ok(())
}

/// Returns the first thing that the case needs and this machine lacks.
pub(super) fn missing(case: &Case) -> Option<&str> {
    let is_here = |need: &str| path().split(':').any(|folder| Path::new(folder).join(need).exists());
    case.needs.iter().map(String::as_str).find(|need| !is_here(need))
}

/// Makes a folder for the case, in memory where possible: disks are not being tested.
pub(super) fn folder() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    TempDir::with_prefix_in("turnwise-compatibility-", place).context("cannot make a folder")
}

/// Returns the versions of the case's packages, as dpkg knows them.
pub(super) fn versions(case: &Case) -> String {
    let query = Command::new("dpkg-query").args(["-W", "-f=${Package} ${Version}\n"]).args(&case.packages).output();
    let text = query.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let versions: Vec<_> = text.lines().filter(|line| line.contains(' ')).map(str::trim).collect();
    versions.join(", ")
}
