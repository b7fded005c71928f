//! Targets that libraries loaded into programs do not support: one error states it, and what works there.

use crate::command::{Run, cmd, text_of};
use anyhow::{Result, ensure};

const TARGET: &str = "i686-unknown-linux-gnu";
/// Each compiles for x86-64 and arm64 with glibc alone.
const PACKAGES: &[&str] = &["turnwise-preload", "turnwise-recorder", "turnwise-live", "turnwise-capi"];
/// The beginning of the error.
const SAID: &str = "error: live views and what is loaded into programs";

/// Compiles them for another target, one by one.
pub(super) fn run() -> Result<String> {
    for package in PACKAGES {
        let out = cmd(&format!("cargo check --locked --keep-going --target {TARGET} -p {package}")).printed()?;
        ensure!(!out.status.success(), "{package} compiles for {TARGET}: say so, and run its tests there");
        let text = text_of(&out.stderr);
        let errors = errors(&text);
        ensure!(
            matches!(errors[..], [error] if error.starts_with(SAID)),
            "{package} says more, or other things, than the one error for {TARGET}:\n{}",
            errors.join("\n")
        );
    }
    Ok(format!("{} say by one error that {TARGET} is none of theirs", PACKAGES.join(", ")))
}

/// Returns the lines of errors in cargo's output, without cargo's own summary of them.
fn errors(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("error") && !line.contains("could not compile")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_counts_and_the_summary_does_not() {
        let text = "   Compiling a v0.1.0\nerror: one\n  --> a.rs:1:1\nerror[E0308]: two\nwarning: three\n\
                    error: could not compile `a` (lib) due to 2 previous errors\n";
        assert_eq!(errors(text), ["error: one", "error[E0308]: two"]);
    }
}
