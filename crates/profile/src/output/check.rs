//! Checks that everything a profile refers to exists. Only a profile from a file can fail; all later code trusts it.

use crate::model::{Blocked, Episode, Inversion, Profile};
use anyhow::{Result, bail};

/// Looks up every number.
pub(super) fn references(profile: &Profile) -> Result<()> {
    locks_and_sites(profile)?;
    waits(profile)?;
    scaling(profile)?;
    findings(profile)
}

fn scaling(profile: &Profile) -> Result<()> {
    for design in profile.scaling.iter().flat_map(|scaling| &scaling.designs) {
        let named = design.points.iter().filter_map(|point| point.lock.as_ref());
        all("scaling", "lock", named.chain(design.wall.iter().map(|(_, lock)| lock)), profile.locks.len())?;
    }
    Ok(())
}

fn locks_and_sites(profile: &Profile) -> Result<()> {
    for (place, stack) in profile.stacks.iter().enumerate() {
        all(format!("stack {place}"), "frame", stack.iter(), profile.frames.len())?;
    }
    for (place, lock) in profile.locks.iter().enumerate() {
        all(format!("lock {place}"), "stack", lock.created.iter(), profile.stacks.len())?;
    }
    for (place, site) in profile.sites.iter().enumerate() {
        let name = format!("site {place}");
        all(&name, "lock", [&site.lock], profile.locks.len())?;
        all(&name, "frame", site.frames.iter(), profile.frames.len())?;
        all(&name, "stack", site.stacks.iter().map(|usage| &usage.stack), profile.stacks.len())?;
    }
    Ok(())
}

fn waits(profile: &Profile) -> Result<()> {
    for (place, Episode { thread, site, stack, holder, .. }) in profile.episodes.iter().enumerate() {
        let name = || format!("wait {place}");
        let (holder_thread, holder_site) = holder.unzip();
        all(name(), "thread", [Some(thread), holder_thread.as_ref()].into_iter().flatten(), profile.threads.len())?;
        all(name(), "site", [Some(site), holder_site.as_ref()].into_iter().flatten(), profile.sites.len())?;
        all(name(), "stack", stack.iter(), profile.stacks.len())?;
    }
    for (place, Blocked { waiter, holder, .. }) in profile.blocked.iter().enumerate() {
        all(format!("blocked pair {place}"), "site", [waiter, holder], profile.sites.len())?;
    }
    Ok(())
}

fn findings(profile: &Profile) -> Result<()> {
    for (place, condition) in profile.conditions.iter().enumerate() {
        all(format!("condition variable {place}"), "lock", condition.mutex.iter(), profile.locks.len())?;
    }
    for (place, Inversion { a, b, b_under_a, a_under_b }) in profile.inversions.iter().enumerate() {
        all(format!("inversion {place}"), "lock", [a, b], profile.locks.len())?;
        all(format!("inversion {place}"), "site", [b_under_a, a_under_b], profile.sites.len())?;
    }
    for (place, deadlock) in profile.deadlocks.iter().enumerate() {
        let named = deadlock.waits.iter().filter_map(|wait| wait.lock_id.as_ref());
        all(format!("deadlock {place}"), "lock", named, profile.locks.len())?;
    }
    for (place, line) in profile.shared_lines.iter().enumerate() {
        all(format!("shared line {place}"), "lock", line.locks.iter(), profile.locks.len())?;
    }
    Ok(())
}

fn all<'a>(
    who: impl std::fmt::Display,
    what: &str,
    named: impl IntoIterator<Item = &'a u32>,
    number: usize,
) -> Result<()> {
    match named.into_iter().find(|&&id| id as usize >= number) {
        Some(id) => bail!("{who} names {what} {id}, but there are {number}"),
        None => Ok(()),
    }
}
