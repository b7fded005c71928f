//! Debian's packages where there is nothing else: in clean roots, and in the container.

use super::{Args, contents, empty_folder};
use crate::command::{Run, cmd, need, skip};
use crate::root::copy;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// What a root has in addition to a minimal Debian: what a C program is built with.
const INCLUDED: &str = "gcc,libc6-dev,pkg-config,ca-certificates";

/// Makes the packages, and a folder with them and these files.
fn given(args: &Args, name: &str, files: &[&str]) -> Result<PathBuf> {
    let (packages, folder) = (contents::packages(args)?, empty_folder(name)?);
    for file in packages.into_iter().chain(files.iter().map(PathBuf::from)) {
        copy(&file, folder.join(file.file_name().context("a file has a name")?))?;
    }
    Ok(folder)
}

/// Installs, uses and removes them in each of the requested Debian releases.
pub(super) fn roots(args: &Args) -> Result<String> {
    need("mmdebstrap", "mmdebstrap")?;
    let given = given(args, "given", &["crates/capi/examples/queue.c", "packaging/debian/try.sh"])?;
    for release in &args.releases {
        // Nothing is kept of a root; it needs no rights except a user namespace.
        let mut make = cmd("mmdebstrap --quiet --variant=apt");
        make.arg(format!("--include={INCLUDED}")).arg("--customize-hook=mkdir \"$1/packages\"");
        make.arg(format!("--customize-hook=sync-in '{}' /packages", given.display()));
        make.args(["--customize-hook=chroot \"$1\" sh /packages/try.sh", release, "/dev/null"]).must()?;
    }
    Ok(format!("installed, used and removed in {}", args.releases.join(", ")))
}

/// Builds and tries the container where an engine for it runs.
pub(super) fn container(args: &Args) -> Result<String> {
    let answers = |engine: &&&str| cmd(engine).arg("info").printed().is_ok_and(|out| out.status.success());
    let engine = ["docker", "podman"].iter().find(answers);
    let engine = engine.ok_or_else(|| skip("neither docker nor podman runs here: the container was not built"))?;
    let folder = given(args, "container", &["packaging/Containerfile"])?;
    let mut build = cmd(engine);
    build.args(["build", "--tag", "turnwise", "--file"]).arg(folder.join("Containerfile")).arg(&folder).must()?;
    cmd(&format!("{engine} run --rm turnwise compare --runs 3 -- @sample -t 2 -s 0.2")).must()?;
    Ok(format!("built by {engine} and used"))
}
