//! `cargo xtask supply`: what goes into the builds, and what comes out of them.

mod builds;
mod graph;
mod licences;
mod package;
mod tools;
mod twice;

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What files the checks leave.
const FOLDER: &str = "target/supply";

/// Licences, versions, features, compilers and bytes: what goes into the builds, and what comes out of them
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only checks of a few seconds, which need nothing but the toolchain: what CI runs
    #[arg(long)]
    quick: bool,
    /// List the checks
    #[arg(long)]
    list: bool,
    /// The commit that `semver` compares with [default: the last tag, else the commit before]
    #[arg(long, value_name = "COMMIT")]
    against: Option<String>,
    /// Checks (all, if none is named)
    checks: Vec<String>,
}

/// How a check ended that found nothing wrong.
enum Outcome {
    /// What it looked at.
    Ok(String),
    /// Why it could not run.
    Skipped(String),
}

struct Check {
    name: &'static str,
    what: &'static str,
    quick: bool,
    run: fn(&Args) -> Result<Outcome>,
}

const fn check(name: &'static str, what: &'static str, quick: bool, run: fn(&Args) -> Result<Outcome>) -> Check {
    Check { name, what, quick, run }
}

const CHECKS: &[Check] = &[
    check("licences", "licences, versions and sources are those that deny.toml allows", true, |_| licences::run()),
    check("msrv", "each published crate compiles with the oldest Rust that it names", true, builds::oldest_rust),
    check("features", "each pair of features of each published crate compiles", true, builds::features),
    check("package", "what is published is packed, and installs from the packages alone", true, package::run),
    check("minimal", "published crates compile with the oldest versions that they name", false, |_| builds::minimal()),
    check("deny", "`cargo deny`: licences, bans and sources", false, |_| tools::deny()),
    check("advisories", "`cargo deny`: known faults of dependencies, and abandoned ones", false, |_| {
        tools::advisories()
    }),
    check("semver", "`cargo semver-checks`: the library's interface against an earlier commit", false, tools::semver),
    check("sbom", "`cargo cyclonedx`: lists of what is in the tool and both libraries", false, |_| tools::sbom()),
    check("twice", "two builds in different folders have the same bytes", false, |_| twice::run()),
];

/// Runs the checks asked for; `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    if args.list {
        for check in CHECKS {
            println!("{:11} {}{}", check.name, check.what, if check.quick { " (quick)" } else { "" });
        }
        return Ok(true);
    }
    if let Some(name) = args.checks.iter().find(|name| !CHECKS.iter().any(|check| check.name == **name)) {
        bail!("no check is called `{name}`; `cargo xtask supply --list` lists them");
    }
    let named = |check: &&Check| match args.checks.is_empty() {
        true => check.quick || !args.quick,
        false => args.checks.iter().any(|name| name == check.name),
    };
    let (mut lines, mut ok) = (String::new(), true);
    for check in CHECKS.iter().filter(named) {
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

/// A command that is shown, runs in `folder`, and must succeed.
fn must(folder: &Path, env: &[(&str, &OsStr)], line: &[&str]) -> Result<()> {
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

/// What a command prints, which must succeed.
fn output(line: &[&str]) -> Result<String> {
    let out = Command::new(line[0]).args(&line[1..]).stdin(Stdio::null()).output();
    let out = out.with_context(|| format!("cannot start {}", line[0]))?;
    if !out.status.success() {
        bail!("{} ended with {}:\n{}", line.join(" "), out.status, String::from_utf8_lossy(&out.stderr).trim());
    }
    String::from_utf8(out.stdout).with_context(|| format!("{} prints what is not UTF-8", line.join(" ")))
}

/// The tree as it is, without what git ignores, below [`FOLDER`].
fn copy_of_the_tree(name: &str) -> Result<std::path::PathBuf> {
    let to = std::path::absolute(FOLDER)?.join(name);
    for file in output(&["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])?.split_terminator('\0')
    {
        let from = Path::new(file);
        // Deleted in the working tree, or a folder of another repository.
        if !from.is_file() {
            continue;
        }
        let to = to.join(file);
        std::fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        std::fs::copy(from, &to).with_context(|| format!("cannot copy {file} to {}", to.display()))?;
    }
    Ok(to)
}
