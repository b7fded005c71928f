//! `cargo xtask kernel`: the kernel of `proof/kernel`, booted on virtual CPUs.

use crate::command::{Run, cmd, text_of};
use anyhow::{Result, ensure};
use std::process::Stdio;

const FOLDER: &str = "proof/kernel";
const MACHINES: [&str; 2] = ["x86_64", "aarch64"];
/// Seconds until a machine counts as hung.
const PATIENCE_S: u32 = 240;
/// Its last line if all is well.
const WELL: &str = "All locks hold";
/// What it checks, each on a line of its own.
const CHECKS: [&str; 12] = [
    "mutex",
    "spin lock",
    "ticket lock",
    "queued spin lock",
    "mcs lock",
    "rwsem",
    "big-reader lock",
    "seqrwlock",
    "semaphore",
    "condition var.",
    "time-out",
    "no lock",
];

/// Boot a kernel that uses the locks without an operating system, on 4 virtual CPUs of QEMU, and check what it prints
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Boots it on each machine; `true` if all locks held on all.
pub(crate) fn run(_: &Args) -> Result<bool> {
    let mut all_well = true;
    for machine in MACHINES {
        println!("{machine}:");
        if let Some(trouble) = boot(machine)? {
            println!("{machine}: {trouble}");
            all_well = false;
        }
    }
    Ok(all_well)
}

/// Builds and boots one; returns what was wrong.
fn boot(machine: &str) -> Result<Option<String>> {
    let target = format!("{machine}-unknown-none");
    let cargo = |line: &str| {
        let mut command = cmd(&format!("{line} --quiet --locked --target {target}"));
        command.current_dir(FOLDER).stderr(Stdio::inherit());
        command
    };
    // Built apart, so that patience is about the kernel alone.
    let built = cargo("cargo build").succeeds()?;
    ensure!(built, "{FOLDER} cannot be built for {target}: `rustup target add {target}`?");
    let output = cargo(&format!("timeout {PATIENCE_S} cargo run")).printed()?;
    let text = text_of(&output.stdout);
    print!("{text}");
    if output.status.code() == Some(124) {
        return Ok(Some(format!("did not end within {PATIENCE_S} s")));
    }
    Ok(judge(&text).or_else(|| (!output.status.success()).then(|| format!("ended with {}", output.status))))
}

/// Returns what is wrong with the text that a kernel printed.
fn judge(text: &str) -> Option<String> {
    // The firmware ends its own text without a new line.
    let held = |check: &&&str| text.contains(&format!("{check:16} ok: "));
    if let Some(check) = CHECKS.iter().find(|check| !held(check)) {
        return Some(format!("`{check}` was not found to be right"));
    }
    let last = text.lines().last().unwrap_or_default();
    (!last.starts_with(WELL)).then(|| format!("the last line does not say \"{WELL}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_and_right_text_will_do() {
        let line = |check: &str| format!("{check:16} ok: 1200 of 1200 updates, 0 wrong\n");
        let whole = CHECKS.map(line).concat() + WELL + " after 7 ms\n";
        assert_eq!(judge(&format!("Booting from ROM..{whole}")), None);
        let wrong = whole.replace("mutex            ok", "mutex            WRONG");
        assert_eq!(judge(&wrong), Some("`mutex` was not found to be right".into()));
        assert!(judge(&line("mutex")).is_some_and(|trouble| trouble.contains("`spin lock`")));
        let cut = CHECKS.map(line).concat();
        assert!(judge(&cut).is_some_and(|trouble| trouble.contains("last line")));
    }
}
