//! The container: built of Debian's packages, and used.

use super::{Args, PACKAGING, contents, copy, empty_folder};
use crate::checks::{Outcome, must};
use anyhow::Result;
use std::path::Path;
use std::process::{Command, Stdio};

/// Builds and tries it where a container engine runs.
pub(super) fn run(args: &Args) -> Result<Outcome> {
    let answers = |engine: &&&str| {
        let status = Command::new(engine).arg("info").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let Some(engine) = ["docker", "podman"].iter().find(answers) else {
        return Ok(Outcome::Skipped("neither docker nor podman runs here: the container was not built".to_owned()));
    };
    let packages = match contents::packages(args)? {
        Ok(packages) => packages,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let folder = empty_folder("container")?;
    for package in &packages {
        copy(package, &folder.join(package.file_name().unwrap_or_default()))?;
    }
    copy(&Path::new(PACKAGING).join("Containerfile"), &folder.join("Containerfile"))?;
    let (file, shown) = (folder.join("Containerfile").display().to_string(), folder.display().to_string());
    must(Path::new("."), &[], &[engine, "build", "--tag", "turnwise", "--file", &file, &shown])?;
    let line = ["run", "--rm", "turnwise", "compare", "--runs", "3", "--", "@sample", "-t", "2", "-s", "0.2"];
    must(Path::new("."), &[], &[&[*engine], &line[..]].concat())?;
    Ok(Outcome::Ok(format!("built by {engine} and used")))
}
