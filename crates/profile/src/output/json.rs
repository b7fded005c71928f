//! A profile as JSON, and back.

use super::headlines::thread_ns;
use super::{check, headlines};
use crate::advice::advise;
use crate::figures::share;
use crate::model::{Profile, SCHEMA};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;

/// The only part that is read of a profile whose schema may differ.
#[derive(Deserialize)]
struct Head {
    schema: u32,
}

/// The written document: the profile, and the meaning of its figures. Only the profile is read back.
#[derive(Serialize)]
struct Written<'a> {
    headlines: Vec<String>,
    advice: Value,
    #[serde(flatten)]
    profile: &'a Profile,
}

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    let shown = Written { headlines: headlines(profile), advice: advice(profile)?, profile };
    let written = if profile.recording.knows_acquisitions() {
        serde_json::to_writer(&mut *to, &shown)
    } else {
        serde_json::to_value(shown)
            .and_then(|whole| serde_json::to_writer(&mut *to, &without_unknown(whole, profile.recording.knows_locks())))
    };
    written.context("the profile could not be written as JSON")?;
    writeln!(to)?;
    Ok(())
}

/// Returns the advice; each finding has its locks' names, and how long threads waited for them, also as a share.
fn advice(profile: &Profile) -> Result<Value> {
    let advice = advise(profile);
    let mut written = serde_json::to_value(&advice)?;
    let findings = written["findings"].as_array_mut().into_iter().flatten();
    for (finding, written) in advice.findings.iter().zip(findings) {
        let locks = || finding.locks.iter().filter_map(|id| profile.locks.get(*id as usize));
        let wait_ns = locks().fold(0_u64, |sum, lock| sum.saturating_add(lock.usage.wait.sum_ns));
        written["lock_names"] = locks().map(|lock| lock.name.as_str()).collect();
        written["wait_ns"] = wait_ns.into();
        written["wait_share"] = share(wait_ns, thread_ns(profile)).into();
    }
    Ok(written)
}

/// Removes what only a recorder present from the start can know, so that its zeros are not taken for counts; for a
/// trace of futex calls, also the events in the locks.
fn without_unknown(mut profile: Value, knows_locks: bool) -> Value {
    const OF_USAGE: [&str; 5] = ["acquisitions", "reads", "hold_total_ns", "hold", "events"];
    let unknown = &OF_USAGE[..if knows_locks { 3 } else { OF_USAGE.len() }];
    for list in ["locks", "sites", "threads"] {
        for one in profile[list].as_array_mut().into_iter().flatten() {
            if let Some(usage) = one["usage"].as_object_mut() {
                usage.retain(|key, _| !unknown.contains(&key.as_str()));
            }
            let steps = one.get_mut("over_time").and_then(Value::as_array_mut);
            for step in steps.into_iter().flatten().filter_map(Value::as_object_mut) {
                step.remove("acquisitions");
            }
        }
    }
    profile
}

/// Reads what `--json` wrote. An error states what to do.
pub fn read(text: &[u8]) -> Result<Profile> {
    let head: Head = serde_json::from_slice(text)
        .context("not a profile: it is not JSON with a field `schema`. `turnwise profile --json FILE` writes one")?;
    if head.schema != SCHEMA {
        bail!(
            "this profile has schema {}, and this turnwise reads schema {SCHEMA}: {}",
            head.schema,
            if head.schema > SCHEMA { "read it with a newer turnwise" } else { "record the program again" },
        );
    }
    let profile: Profile = serde_json::from_slice(text).context(
        "this profile is incomplete or was edited by hand; write it again with `turnwise profile --json FILE`",
    )?;
    check::references(&profile).context(
        "this profile refers to things that it does not contain; write it again with `turnwise profile --json FILE`",
    )?;
    check::sums(&profile)
        .context("this profile has impossible figures; write it again with `turnwise profile --json FILE`")?;
    Ok(profile)
}
