//! Where a program is compared once more: on a busy machine, or with only a part of it.

use super::Args;
use crate::perf::busy::Busy;
use anyhow::{Context, Result};
use turnwise_present::quota::Quota;

/// Busy processes alongside it.
pub(super) const BUSY: u32 = 2;
/// Hundredths of a CPU that it may use.
pub(super) const QUOTA: u32 = 100;

/// In which of them the programs are compared.
pub(super) struct Circumstances {
    pub(super) beside_busy: bool,
    pub(super) quota: bool,
    /// Why one of them is left out, although it was requested.
    pub(super) left_out: Option<String>,
}

impl Circumstances {
    /// Returns those that were requested and are possible here.
    pub(super) fn of(args: &Args) -> Circumstances {
        Circumstances::with(args, || Quota::enter(QUOTA).map(drop))
    }

    fn with(args: &Args, quota: impl FnOnce() -> Result<()>) -> Circumstances {
        let refused = args.quota.then(quota).and_then(Result::err);
        let left_out = refused.map(|error| format!("--quota is left out: {error:#}"));
        if let Some(why) = &left_out {
            eprintln!("{why}");
        }
        Circumstances { beside_busy: args.beside_busy, quota: args.quota && left_out.is_none(), left_out }
    }
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
            let Circumstances { beside_busy, quota, left_out } = Circumstances::with(&args(line), quota);
            (beside_busy, quota, left_out)
        };
        let both = ["--beside-busy", "--quota"];
        assert_eq!(of(&both, true), (true, true, None));
        assert_eq!(of(&both, false), (true, false, Some("--quota is left out: be root: no".to_owned())));
        assert_eq!(of(&[], false), (false, false, None));
    }
}
