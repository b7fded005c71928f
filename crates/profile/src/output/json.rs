//! A profile as JSON, and back.

use super::{check, plausible};
use crate::model::{Profile, SCHEMA};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::io::Write;

/// Only this is read of a profile whose schema may be another's.
#[derive(Deserialize)]
struct Head {
    schema: u32,
}

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *to, profile).context("the profile could not be written as JSON")?;
    writeln!(to)?;
    Ok(())
}

/// Reads what `--json` wrote.
///
/// # Errors
/// It is no profile, one of another version, or not whole. The error says what to do.
pub fn read(text: &[u8]) -> Result<Profile> {
    let head: Head = serde_json::from_slice(text).context(
        "this is no profile: it is not JSON with a field `schema`. `turnwise profile --json FILE` writes one",
    )?;
    if head.schema != SCHEMA {
        bail!(
            "this profile has schema {}, and this turnwise reads schema {SCHEMA}: {}",
            head.schema,
            if head.schema > SCHEMA { "read it with a newer turnwise" } else { "record the program again" },
        );
    }
    let profile: Profile = serde_json::from_slice(text).context(
        "this profile is not whole or was changed by hand; write it again with `turnwise profile --json FILE`",
    )?;
    check::references(&profile).context(
        "this profile names things that it does not have; write it again with `turnwise profile --json FILE`",
    )?;
    plausible::sums(&profile)
        .context("the figures of this profile cannot be; write it again with `turnwise profile --json FILE`")?;
    Ok(profile)
}
