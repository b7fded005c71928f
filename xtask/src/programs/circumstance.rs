//! Where a program is compared once more: on a busy machine, or with only a part of it.

use super::Args;
use crate::perf::busy::Busy;
use anyhow::{Context, Result};
use turnwise_present::quota::Quota;

/// Busy processes alongside it.
pub(super) const BUSY: u32 = 2;
/// Hundredths of a CPU that it may use.
pub(super) const QUOTA: u32 = 100;

/// Returns why `--quota` is left out, if it was requested and `quota` says that it cannot be had here.
pub(super) fn left_out(args: &Args, quota: impl FnOnce() -> Result<()>) -> Option<String> {
    let why = format!("--quota is left out: {:#}", args.quota.then(quota)?.err()?);
    eprintln!("{why}");
    Some(why)
}

/// Measures alongside busy processes.
pub(super) fn beside_busy<T>(measure: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut busy = Busy::start(BUSY)?;
    let measured = measure().context("beside busy processes")?;
    busy.check()?;
    Ok(measured)
}

/// Measures under a quota, which holds for this process and all that it starts.
pub(super) fn under_quota<T>(measure: impl FnOnce() -> Result<T>) -> Result<T> {
    let _quota = Quota::enter(QUOTA)?;
    measure().context("under a quota of one CPU")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_quota_that_cannot_be_had_is_left_out_with_the_reason() {
        let args = |line: &[&str]| Line::parse_from([&["programs"], line].concat()).args;
        let of = |line: &[&str], can: bool| {
            let quota = || if can { Ok(()) } else { Err(anyhow::anyhow!("no").context("be root")) };
            left_out(&args(line), quota)
        };
        assert_eq!(of(&["--beside-busy", "--quota"], true), None);
        assert_eq!(of(&["--quota"], false), Some("--quota is left out: be root: no".to_owned()));
        assert_eq!(of(&["--beside-busy"], false), None);
    }
}
