//! Named checks, some of them quick: the parts of `cargo xtask supply` and `cargo xtask dist`.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How a check ended that found nothing wrong.
pub(crate) enum Outcome {
    /// What it checked.
    Ok(String),
    /// Why it could not run.
    Skipped(String),
}

/// A check of a command whose arguments are `A`.
pub(crate) struct Check<A> {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// Whether the short form has it.
    pub(crate) quick: bool,
    pub(crate) run: fn(&A) -> Result<Outcome>,
}

/// Makes a check.
pub(crate) const fn check<A>(
    name: &'static str,
    what: &'static str,
    quick: bool,
    run: fn(&A) -> Result<Outcome>,
) -> Check<A> {
    Check { name, what, quick, run }
}

/// Which checks to run.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Only checks of seconds, which need nothing but the toolchain and what the tests have built: what CI runs
    #[arg(long)]
    pub(crate) quick: bool,
    /// List the checks
    #[arg(long)]
    list: bool,
    /// Checks (all, if none is named)
    #[arg(value_name = "CHECK")]
    named: Vec<String>,
}

/// Runs the requested checks of `cargo xtask COMMAND`; returns `true` if none failed.
pub(crate) fn run<A>(command: &str, checks: &[Check<A>], which: &Which, args: &A) -> Result<bool> {
    if which.list {
        for check in checks {
            println!("{:11} {}{}", check.name, check.what, if check.quick { " (quick)" } else { "" });
        }
        return Ok(true);
    }
    if let Some(name) = which.named.iter().find(|name| !checks.iter().any(|check| check.name == **name)) {
        bail!("no check is called `{name}`; `cargo xtask {command} --list` lists them");
    }
    let asked_for = |check: &&Check<A>| match which.named.is_empty() {
        true => check.quick || !which.quick,
        false => which.named.iter().any(|name| name == check.name),
    };
    let (mut lines, mut ok) = (String::new(), true);
    for check in checks.iter().filter(asked_for) {
        println!("\n==> {}: {}", check.name, check.what);
        let start = Instant::now();
        let result = match (check.run)(args) {
            Ok(Outcome::Ok(seen)) => format!("ok: {seen}"),
            Ok(Outcome::Skipped(why)) => format!("SKIPPED: {why}"),
            Err(error) => {
                ok = false;
                format!("FAILED: {error:#}")
            }
        };
        println!("{result}");
        lines += &format!("{:11} {:>5} s  {result}\n", check.name, start.elapsed().as_secs());
    }
    println!("\n{lines}");
    Ok(ok)
}

/// Shows a command and runs it in `folder`; it must succeed.
pub(crate) fn must(folder: &Path, env: &[(&str, &OsStr)], line: &[&str]) -> Result<()> {
    println!("+ {}", line.join(" "));
    let status = Command::new(line[0])
        .args(&line[1..])
        .envs(env.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", line[0]))?;
    if !status.success() {
        bail!("{} ended with {status}", line.join(" "));
    }
    Ok(())
}

/// Returns the output of a command, which must succeed.
pub(crate) fn output(line: &[&str]) -> Result<String> {
    let out = Command::new(line[0]).args(&line[1..]).stdin(Stdio::null()).output();
    let out = out.with_context(|| format!("cannot start {}", line[0]))?;
    if !out.status.success() {
        bail!("{} ended with {}:\n{}", line.join(" "), out.status, String::from_utf8_lossy(&out.stderr).trim());
    }
    String::from_utf8(out.stdout).with_context(|| format!("{} prints what is not UTF-8", line.join(" ")))
}

/// Returns whether a program can be started.
pub(crate) fn is_here(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}
