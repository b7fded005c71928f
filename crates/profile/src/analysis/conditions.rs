//! Condition variables.

use super::Work;
use super::runtimes;
use super::sites::Sites;
use super::sums::Sum;
use crate::model::{Condition, LockId};
use std::cmp::Reverse;
use std::collections::HashMap;
use turnwise_recording::{Class, Op};

#[derive(Default)]
struct Raw {
    counts: Condition,
    mutex: u64,
    sum: Sum,
    /// The site where it is used most, and how often.
    site: (u64, u64),
}

/// Collects all condition variables.
pub(super) fn all(work: &mut Work, sites: &Sites) -> Vec<Condition> {
    let recording = work.recording;
    let mut found: HashMap<u32, Raw> = HashMap::new();
    for entry in &recording.entries {
        let Some(lock) = recording.locks.get(entry.lock as usize) else { continue };
        let Some((op, address)) = Op::split(entry.site) else { continue };
        if lock.class != Class::Condition as u32 {
            continue;
        }
        let raw = found.entry(entry.lock).or_default();
        match op {
            Op::Signal => raw.counts.signals += entry.acquisitions,
            Op::Broadcast => raw.counts.broadcasts += entry.acquisitions,
            _ => {
                raw.counts.waits += entry.acquisitions;
                raw.counts.timed_out += entry.timed_out_or_stolen;
                raw.counts.woken_for_nothing += entry.for_nothing;
                raw.mutex = entry.mutex_or_under;
                raw.sum.add(entry, recording.detail(entry.detail).as_ref());
            }
        }
        if entry.acquisitions > raw.site.1 {
            raw.site = (address, entry.acquisitions);
        }
    }
    let mut all: Vec<_> = found.into_iter().map(|(number, raw)| condition(work, sites, number, raw)).collect();
    all.sort_by_key(|condition| (Reverse(condition.waits), condition.address));
    all
}

fn condition(work: &mut Work, sites: &Sites, number: u32, raw: Raw) -> Condition {
    let lock = &work.recording.locks[number as usize];
    let address = lock.address;
    let variable = work.symbols.variable(super::place_of(lock)).map(|found| runtimes::named(found.name));
    let name = variable.unwrap_or_else(|| {
        super::call_site(&mut work.symbols, raw.site.0)
            .first()
            .map_or_else(|| format!("{address:#x}"), |id| format!("used in {}", work.symbols.frame(*id).function))
    });
    Condition { address, name, mutex: mutex(work, sites, raw.mutex), wait: raw.sum.waits(work.clock), ..raw.counts }
}

fn mutex(work: &Work, sites: &Sites, address: u64) -> Option<LockId> {
    let number = work.recording.locks.iter().rposition(|lock| lock.address == address && address != 0)?;
    sites.lock_id(number as u32)
}
