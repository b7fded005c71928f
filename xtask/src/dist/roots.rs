//! Debian's packages in otherwise empty roots: installed, used and removed.

use super::{Args, PACKAGING, contents, copy, empty_folder};
use crate::checks::{Outcome, is_here, must};
use anyhow::Result;
use std::path::Path;

/// What a root has in addition to a minimal Debian: what a C program is built with.
const INCLUDED: &str = "gcc,libc6-dev,pkg-config,ca-certificates";

/// Tries each of the requested Debian releases.
pub(super) fn run(args: &Args) -> Result<Outcome> {
    if !is_here("mmdebstrap") {
        return Ok(Outcome::Skipped("no mmdebstrap here: `apt-get install mmdebstrap`".to_owned()));
    }
    let packages = match contents::packages(args)? {
        Ok(packages) => packages,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let given = empty_folder("given")?;
    for package in &packages {
        copy(package, &given.join(package.file_name().unwrap_or_default()))?;
    }
    copy(Path::new("crates/capi/examples/queue.c"), &given.join("queue.c"))?;
    copy(&Path::new(PACKAGING).join("debian/try.sh"), &given.join("try.sh"))?;
    // Nothing is kept of a root; it needs no rights except a user namespace.
    let into = format!("--customize-hook=sync-in '{}' /packages", given.display());
    for release in &args.releases {
        let include = format!("--include={INCLUDED}");
        must(
            Path::new("."),
            &[],
            &[
                "mmdebstrap",
                "--quiet",
                "--variant=apt",
                &include,
                "--customize-hook=mkdir \"$1/packages\"",
                &into,
                "--customize-hook=chroot \"$1\" sh /packages/try.sh",
                release,
                "/dev/null",
            ],
        )?;
    }
    Ok(Outcome::Ok(format!("installed, used and removed in {}", args.releases.join(", "))))
}
