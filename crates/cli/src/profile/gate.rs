//! `--fail-above`: whether threads waited too long for a lock.

use anyhow::{Result, bail};
use turnwise_profile::advice;
use turnwise_profile::model::{Method, Profile};

/// Parses a share in percent.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| format!("expected a share from 0% to 100%, as 5% or 0.5%, and not `{text}`"))
}

/// Returns whether threads waited for no lock for more than this share of their time; names the worst if they did.
pub(super) fn is_passed(percent: f64, profile: &Profile) -> Result<bool> {
    if profile.recording.method == Method::FutexTrace {
        bail!("--fail-above: a trace of futex calls does not distinguish waits for locks from waits for work");
    }
    let worst = advice::most_waited(profile).filter(|(share, _)| 100.0 * share > percent);
    if let Some((_, sentence)) = &worst {
        eprintln!("turnwise: --fail-above {percent}%: {sentence}");
    }
    Ok(worst.is_none())
}

#[cfg(test)]
mod tests {
    use super::parse_percent;

    #[test]
    fn shares_are_percentages() {
        assert_eq!(["5%", "0.5", " 100 %", "0"].map(parse_percent), [5.0, 0.5, 100.0, 0.0].map(Ok));
        for wrong in ["", "%", "-1%", "101%", "nan", "5 s"] {
            assert!(parse_percent(wrong).is_err_and(|error| error.contains("as 5% or 0.5%")), "{wrong}");
        }
    }
}
