//! pprof's format, with the sample types of Go's mutex profile and, in addition, acquisitions and hold time.
//!
//! Stacks are those of the threads that waited. Acquisitions and hold time are at the call sites. The lock is a label
//! (`-tagfocus lock=NAME`, `-tagroot lock`). A trace of futex calls has waits only.

mod message;
mod tables;

use super::stacks;
use crate::model::{Profile, Site};
use anyhow::Result;
use flate2::{Compression, write::GzEncoder};
use message::{Sample, ValueType};
use prost::Message;
use std::io::Write;
use tables::Tables;

const SAMPLE_TYPES: [(&str, &str); 4] =
    [("contentions", "count"), ("delay", "nanoseconds"), ("acquisitions", "count"), ("hold", "nanoseconds")];
/// The type that a viewer shows first: the second of [`SAMPLE_TYPES`].
const FIRST_SHOWN: &str = "delay";

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    let mut encoder = GzEncoder::new(to, Compression::default());
    encoder.write_all(&converted(profile).encode_to_vec())?;
    encoder.finish()?;
    Ok(())
}

fn converted(profile: &Profile) -> message::Profile {
    let mut tables = Tables::new(profile);
    let types = if profile.recording.knows_acquisitions() { &SAMPLE_TYPES[..] } else { &SAMPLE_TYPES[..2] };
    let sample_type = types.iter().map(|(name, unit)| value_type(&mut tables, name, unit)).collect();
    let mut sample = Vec::new();
    for wait in stacks::waits(profile) {
        let site = &profile.sites[wait.site as usize];
        let value = [wait.waits, wait.wait_ns, 0, 0].map(number)[..types.len()].to_vec();
        sample.push(Sample { location_id: tables.locations(wait.frames), value, label: tables.labels(site) });
    }
    for site in profile.sites.iter().filter(|_| types.len() > 2) {
        let Site { frames, usage, .. } = site;
        let value = [0, 0, usage.acquisitions, usage.hold_total_ns].map(number).to_vec();
        sample.push(Sample { location_id: tables.locations(frames), value, label: tables.labels(site) });
    }
    let period_type = Some(value_type(&mut tables, "contentions", "count"));
    let command = format!("{}, on the locks `{}`", profile.program.command.join(" "), profile.program.policy);
    let comment = profile.recording.remarks.iter().chain([&command]).map(|text| tables.string(text)).collect();
    let default_sample_type = tables.string(FIRST_SHOWN);
    let mut message = message::Profile {
        sample_type,
        sample,
        time_nanos: number(profile.program.started_unix_s.saturating_mul(1_000_000_000)),
        duration_nanos: number(profile.program.duration_ns),
        period_type,
        period: 1,
        comment,
        default_sample_type,
        ..message::Profile::default()
    };
    tables.finish(&mut message);
    message
}

fn value_type(tables: &mut Tables, name: &str, unit: &str) -> ValueType {
    ValueType { r#type: tables.string(name), unit: tables.string(unit) }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
