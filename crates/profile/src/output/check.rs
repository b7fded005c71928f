//! Checks that everything a profile refers to exists, and that its figures can be added up. Only a profile from a file
//! can fail; all later code trusts it.

use crate::model::{CycleStep, Design, Profile, Usage};
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

/// Sums of times: 36 years of thread time.
const MOST_NS: u64 = 1 << 60;
/// Sums of counts: more than a day of the fastest lock.
const MOST_COUNT: u64 = 1 << 48;

/// Adds up everything that is added up elsewhere.
pub(super) fn sums(profile: &Profile) -> Result<()> {
    usages("locks", profile.locks.iter().map(|lock| &lock.usage))?;
    usages("sites", profile.sites.iter().map(|site| &site.usage))?;
    usages("threads", profile.threads.iter().map(|thread| &thread.usage))?;
    let stacks = || profile.sites.iter().flat_map(|site| &site.stacks);
    bounded("stacks' waits", stacks().map(|stack| stack.waits), MOST_COUNT)?;
    bounded("stacks' wait time", stacks().map(|stack| stack.wait_ns), MOST_NS)?;
    bounded("blocked pairs' wait time", profile.blocked.iter().map(|pair| pair.wait_ns), MOST_NS)?;
    bounded("blocked pairs' waits", profile.blocked.iter().map(|pair| pair.waits), MOST_COUNT)?;
    bounded("blocked pairs' waits", profile.blocked.iter().filter_map(|pair| pair.holder_off_cpu), MOST_COUNT)?;
    bounded("blocked pairs' waits", profile.blocked.iter().map(|pair| pair.looked), MOST_COUNT)?;
    let conditions = profile.conditions.iter();
    bounded("wake-ups", conditions.map(|condition| condition.woken_for_nothing), MOST_COUNT)?;
    let awaited = || profile.awaited.iter();
    bounded("sleeps", awaited().map(|one| one.wait.count.saturating_add(one.timed_out)), MOST_COUNT)?;
    bounded("sleeps' times", awaited().map(|one| one.wait.sum_ns), MOST_NS)?;
    let of_locks = profile.locks.iter().map(|lock| lock.wake_ups);
    let wake_ups = || of_locks.clone().chain(awaited().map(|one| one.wake_ups));
    bounded("wake-ups", wake_ups().map(|(calls, _)| calls), MOST_COUNT)?;
    bounded("wake-ups", wake_ups().map(|(_, woke_none)| woke_none), MOST_COUNT)?;
    let steps = profile.locks.iter().flat_map(|lock| &lock.over_time);
    bounded("steps' wait time", steps.map(|step| step.wait_ns), MOST_NS)?;
    for lock in &profile.locks {
        let length = lock.step_ns.checked_mul(lock.over_time.len() as u64 + 1);
        bounded("steps' length", [length.unwrap_or(u64::MAX)], MOST_NS)?;
    }
    points(profile)
}

/// Checks points in time, each by itself.
fn points(profile: &Profile) -> Result<()> {
    let threads = profile.threads.iter().flat_map(|thread| [thread.began_ns, thread.ended_ns]);
    let waits =
        profile.episodes.iter().flat_map(|wait| [wait.began_ns, wait.acquired_ns, wait.released_ns.unwrap_or(0)]);
    let all = threads.chain(waits).chain([profile.program.duration_ns]);
    bounded("points in time", all.max(), MOST_NS)?;
    let lives = profile.threads.iter().map(|thread| thread.ended_ns.saturating_sub(thread.began_ns));
    bounded("threads' times", lives, MOST_NS)?;
    let stuck = profile.deadlocks.iter().flat_map(|deadlock| &deadlock.waits).filter_map(|wait| wait.wait_ns);
    bounded("deadlocks' times", stuck, MOST_NS)?;
    bounded("waits that had not ended", [profile.recording.still_waiting], MOST_COUNT)
}

fn usages<'a>(what: &str, usages: impl Iterator<Item = &'a Usage> + Clone) -> Result<()> {
    let counts: [fn(&Usage) -> u64; 4] =
        [|usage| usage.acquisitions, |usage| usage.contended, |usage| usage.failed, |usage| usage.wait.count];
    for count in counts {
        bounded(&format!("{what}' counts"), usages.clone().map(count), MOST_COUNT)?;
    }
    let times: [fn(&Usage) -> u64; 2] = [|usage| usage.wait.sum_ns, |usage| usage.hold_total_ns];
    for time in times {
        bounded(&format!("{what}' times"), usages.clone().map(time), MOST_NS)?;
    }
    for usage in usages {
        for times in [&usage.wait, &usage.hold] {
            bounded(&format!("{what}' histograms"), times.buckets.iter().map(|&(_, number)| number), MOST_COUNT)?;
        }
    }
    Ok(())
}

fn bounded(what: &str, numbers: impl IntoIterator<Item = u64>, most: u64) -> Result<()> {
    let sum = numbers.into_iter().try_fold(0_u64, u64::checked_add);
    if sum.is_none_or(|sum| sum > most) {
        bail!("the {what} add up to more than {most}, which no run can have");
    }
    Ok(())
}
