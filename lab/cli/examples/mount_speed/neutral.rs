//! The papers' neutral tests: programs that the patches to the dentry cache must not slow down.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The commands to run, by name.
pub(crate) const COMMANDS: [(&str, &str); 2] = [("find -size 0b", "find . -size 0b"), ("git diff", "git diff --stat")];

/// Makes a repository of `files` files in 50 directories, a tenth of them empty, and changes one.
pub(crate) fn populate(mount: &Path, files: usize) -> Result<()> {
    let script = format!(
        "git init -q tree && cd tree && for d in $(seq 50); do mkdir -p a/$d/b; for f in $(seq {}); do
         if [ $((f % 10)) = 0 ]; then : >a/$d/b/$f; else echo $d $f >a/$d/b/$f; fi; done; done
         git add . && git -c user.name=a -c user.email=a@example.org commit -qm all && echo changed >a/7/b/1",
        files / 50
    );
    run(&script, mount).map(drop)
}

/// Seconds that a command takes in the repository.
pub(crate) fn seconds(command: &str, mount: &Path) -> Result<f64> {
    run(command, &mount.join("tree"))
}

fn run(script: &str, directory: &Path) -> Result<f64> {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().context("there is a shell")?;
    ensure!(status.success(), "{script} fails: {status}");
    Ok(start.elapsed().as_secs_f64())
}
