//! Checks that everything a profile refers to exists. Only a profile from a file can fail; all later code trusts it.

use crate::model::{CycleStep, Design, Profile};
use anyhow::{Result, bail};

/// An item that another names: its list's name, its number, and how many there are.
type Named = (&'static str, u32, usize);

/// Looks up every number.
pub(super) fn references(profile: &Profile) -> Result<()> {
    let frame = |id: &u32| ("frame", *id, profile.frames.len());
    let stack = |id: &u32| ("stack", *id, profile.stacks.len());
    let lock = |id: &u32| ("lock", *id, profile.locks.len());
    let site = |id: &u32| ("site", *id, profile.sites.len());
    let thread = |id: &u32| ("thread", *id, profile.threads.len());
    each("stack", &profile.stacks, |frames| frames.iter().map(frame).collect())?;
    each("lock", &profile.locks, |one| one.created.iter().map(stack).collect())?;
    each("site", &profile.sites, |one| {
        let stacks = one.stacks.iter().map(|usage| stack(&usage.stack));
        one.frames.iter().map(frame).chain(stacks).chain([lock(&one.lock)]).collect()
    })?;
    each("wait", &profile.episodes, |wait| {
        let holder = wait.holder.iter().flat_map(|(of, at)| [thread(of), site(at)]);
        holder.chain(wait.stack.iter().map(stack)).chain([thread(&wait.thread), site(&wait.site)]).collect()
    })?;
    each("blocked pair", &profile.blocked, |pair| vec![site(&pair.waiter), site(&pair.holder)])?;
    each("condition variable", &profile.conditions, |one| one.mutex.iter().map(lock).collect())?;
    each("what is awaited", &profile.awaited, |one| {
        one.sites.iter().flat_map(|site| &site.frames).map(frame).collect()
    })?;
    each("cycle", &profile.cycles, |cycle| {
        let of = |step: &CycleStep| [lock(&step.held), site(&step.held_at), site(&step.taken_at)];
        let threads = cycle.steps.iter().flat_map(|step| &step.threads).map(thread);
        cycle.steps.iter().flat_map(of).chain(threads).collect()
    })?;
    each("misuse", &profile.misuses, |one| {
        let threads = one.holder.iter().chain([&one.thread]).map(thread);
        let places = one.stack.iter().map(stack).chain(one.taken_at.iter().map(site));
        threads.chain(places).chain(one.lock_id.iter().map(lock)).collect()
    })?;
    each("deadlock", &profile.deadlocks, |one| {
        one.waits.iter().filter_map(|wait| wait.lock_id.as_ref()).map(lock).collect()
    })?;
    each("shared line", &profile.shared_lines, |line| line.locks.iter().map(lock).collect())?;
    let designs: &[Design] = profile.scaling.as_ref().map_or(&[], |scaling| &scaling.designs);
    each("design", designs, |design| {
        let points = design.points.iter().filter_map(|point| point.lock.as_ref());
        points.chain(design.wall.iter().map(|(_, lock)| lock)).map(lock).collect()
    })
}

/// Checks what each item of a list names.
fn each<T>(who: &str, list: &[T], named: impl Fn(&T) -> Vec<Named>) -> Result<()> {
    for (place, one) in list.iter().enumerate() {
        if let Some((what, id, number)) = named(one).into_iter().find(|(_, id, number)| *id as usize >= *number) {
            bail!("{who} {place} names {what} {id}, but there are {number}");
        }
    }
    Ok(())
}
