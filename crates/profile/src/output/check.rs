//! Whether all that a profile names is there. Only a profile from a file can fail; everything behind trusts it.

use crate::model::{Blocked, Episode, Inversion, Profile};
use anyhow::{Result, bail};

/// The lists' lengths.
struct Lengths {
    threads: usize,
    locks: usize,
    sites: usize,
    stacks: usize,
    frames: usize,
}

/// Looks up every number.
pub(super) fn references(profile: &Profile) -> Result<()> {
    let lengths = Lengths {
        threads: profile.threads.len(),
        locks: profile.locks.len(),
        sites: profile.sites.len(),
        stacks: profile.stacks.len(),
        frames: profile.frames.len(),
    };
    locks_and_sites(profile, &lengths)?;
    waits(profile, &lengths)?;
    scaling(profile, &lengths)?;
    findings(profile, &lengths)
}

fn scaling(profile: &Profile, has: &Lengths) -> Result<()> {
    for design in profile.scaling.iter().flat_map(|scaling| &scaling.designs) {
        let named = design.points.iter().filter_map(|point| point.lock.as_ref());
        all("scaling", "lock", named.chain(design.wall.iter().map(|(_, lock)| lock)), has.locks)?;
    }
    Ok(())
}

fn locks_and_sites(profile: &Profile, has: &Lengths) -> Result<()> {
    for (place, stack) in profile.stacks.iter().enumerate() {
        all(format!("stack {place}"), "frame", stack.iter(), has.frames)?;
    }
    for (place, lock) in profile.locks.iter().enumerate() {
        all(format!("lock {place}"), "stack", lock.created.iter(), has.stacks)?;
    }
    for (place, site) in profile.sites.iter().enumerate() {
        let name = format!("site {place}");
        all(&name, "lock", [&site.lock], has.locks)?;
        all(&name, "frame", site.frames.iter(), has.frames)?;
        all(&name, "stack", site.stacks.iter().map(|usage| &usage.stack), has.stacks)?;
    }
    Ok(())
}

fn waits(profile: &Profile, has: &Lengths) -> Result<()> {
    for (place, Episode { thread, site, stack, holder, .. }) in profile.episodes.iter().enumerate() {
        let name = || format!("wait {place}");
        let (holder_thread, holder_site) = holder.unzip();
        all(name(), "thread", [Some(thread), holder_thread.as_ref()].into_iter().flatten(), has.threads)?;
        all(name(), "site", [Some(site), holder_site.as_ref()].into_iter().flatten(), has.sites)?;
        all(name(), "stack", stack.iter(), has.stacks)?;
    }
    for (place, Blocked { waiter, holder, .. }) in profile.blocked.iter().enumerate() {
        all(format!("blocked pair {place}"), "site", [waiter, holder], has.sites)?;
    }
    Ok(())
}

fn findings(profile: &Profile, has: &Lengths) -> Result<()> {
    for (place, condition) in profile.conditions.iter().enumerate() {
        all(format!("condition variable {place}"), "lock", condition.mutex.iter(), has.locks)?;
    }
    for (place, Inversion { a, b, b_under_a, a_under_b }) in profile.inversions.iter().enumerate() {
        all(format!("inversion {place}"), "lock", [a, b], has.locks)?;
        all(format!("inversion {place}"), "site", [b_under_a, a_under_b], has.sites)?;
    }
    for (place, line) in profile.shared_lines.iter().enumerate() {
        all(format!("shared line {place}"), "lock", line.locks.iter(), has.locks)?;
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
