//! Named checks, some of them quick: the parts of `cargo xtask supply` and `cargo xtask dist`.

use crate::command::{all_known, skipped};
use anyhow::Result;
use std::time::Instant;

/// A check of a command whose arguments are `A`.
pub(crate) struct Check<A> {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// Whether the short form has it.
    pub(crate) quick: bool,
    /// Returns what it checked; an error may be why it could not run.
    pub(crate) run: fn(&A) -> Result<String>,
}

/// Makes a check.
pub(crate) const fn check<A>(
    name: &'static str,
    what: &'static str,
    quick: bool,
    run: fn(&A) -> Result<String>,
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

/// Runs the requested checks; returns `true` if none failed.
pub(crate) fn run<A>(checks: &[Check<A>], which: &Which, args: &A) -> Result<bool> {
    if which.list {
        for check in checks {
            println!("{:11} {}{}", check.name, check.what, if check.quick { " (quick)" } else { "" });
        }
        return Ok(true);
    }
    all_known(&which.named, checks.iter().map(|check| check.name), "check")?;
    let asked_for = |check: &&Check<A>| match which.named.is_empty() {
        true => check.quick || !which.quick,
        false => which.named.iter().any(|name| name == check.name),
    };
    let (mut lines, mut ok) = (String::new(), true);
    for check in checks.iter().filter(asked_for) {
        println!("\n==> {}: {}", check.name, check.what);
        let start = Instant::now();
        let result = skipped((check.run)(args));
        ok &= result.is_ok();
        let result = match result {
            Ok(Ok(seen)) => format!("ok: {seen}"),
            Ok(Err(why)) => format!("SKIPPED: {why}"),
            Err(error) => format!("FAILED: {error:#}"),
        };
        println!("{result}");
        lines += &format!("{:11} {:>5} s  {result}\n", check.name, start.elapsed().as_secs());
    }
    println!("\n{lines}");
    Ok(ok)
}
