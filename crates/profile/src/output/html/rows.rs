//! Rows of the page's tables.

use super::super::names;
use super::afar::share_out;
use super::strings::Strings;
use crate::advice::{Advice, Scope};
use crate::model::{CycleStep, Distribution, Lock, LockId, LockKind, Profile, SiteId, Step, Usage};
use crate::policy_rules::conditions_for;
use serde_json::{Value, json};
use turnwise_preload_abi::Policy;

/// The maximum number of rows of a table; users do not read further, and the page must open quickly.
pub(super) const MOST_ROWS: usize = 2_000;
/// The number of locks with histograms and a time course.
const MOST_CHARTS: usize = 64;

/// The number of rules for a lock from which they are left out: users would not put them into a file.
const MANY_RULES: usize = 8;

/// Returns the sum, the median, the 99th percentile and the longest.
fn four(times: &Distribution, sum_ns: u64) -> [u64; 4] {
    [sum_ns, times.quantile(0.5), times.quantile(0.99), times.max_ns]
}

/// Returns the figures of a lock, a site or a thread; unknown ones are null.
fn figures(usage: &Usage) -> Value {
    let Usage { acquisitions, reads, contended, failed, events, .. } = usage;
    let mut figures = json!(events);
    // There may be more sleeps: not all waits were watched.
    figures["sleeps_least"] = (events.watched < *contended).into();
    let counts = [("acquisitions", acquisitions), ("reads", reads), ("contended", contended), ("failed", failed)];
    counts.into_iter().for_each(|(name, count)| figures[name] = json!(count));
    figures["wait"] = json!(four(&usage.wait, usage.wait.sum_ns));
    figures["hold"] = json!(four(&usage.hold, usage.hold_total_ns));
    figures
}

/// Returns how long threads waited for each of the first locks in each step, if all waits were kept individually: a
/// lock's own steps have a wait at its end.
fn spread(profile: &Profile) -> Option<Vec<Vec<u64>>> {
    let recording = &profile.recording;
    if recording.episodes_dropped > 0 || profile.episodes.is_empty() {
        return None;
    }
    let charted = &profile.locks[..profile.locks.len().min(MOST_CHARTS)];
    let mut waits: Vec<Vec<u64>> = charted.iter().map(|lock| vec![0; lock.over_time.len()]).collect();
    for episode in &profile.episodes {
        let lock = profile.sites[episode.site as usize].lock as usize;
        let Some(steps) = waits.get_mut(lock) else { continue };
        share_out(steps, profile.locks[lock].step_ns.max(1), episode.began_ns, episode.acquired_ns);
    }
    Some(waits)
}

/// Returns the rule that gives a lock another policy: the advised one, if any.
fn rule(profile: &Profile, id: LockId, advice: &Advice) -> String {
    const OURS: [LockKind; 4] =
        [LockKind::Mutex, LockKind::RecursiveMutex, LockKind::ErrorCheckMutex, LockKind::RwLock];
    if !OURS.contains(&profile.locks[id as usize].kind) || !profile.recording.knows_acquisitions() {
        return String::new();
    }
    let is_about = |scope: &Scope| matches!(scope, Scope::Locks(locks) if locks.contains(&id));
    let experiments = advice.findings.iter().filter_map(|finding| finding.experiment.as_ref());
    let advised = experiments.filter(|one| is_about(&one.scope)).map(|one| one.policy.to_string()).next();
    let policy = advised.unwrap_or_else(|| Policy::ADAPTIVE.to_string());
    let rules = Some(conditions_for(id, profile)).filter(|rules| rules.len() < MANY_RULES).into_iter().flatten();
    rules.map(|conditions| format!("[[rule]]\n{conditions}lock = \"{policy}\"\n")).collect::<Vec<_>>().join("\n")
}

pub(super) fn locks(profile: &Profile, advice: &Advice, strings: &mut Strings) -> Vec<Value> {
    let spread = spread(profile);
    let locks = profile.locks.iter().take(MOST_ROWS).enumerate().map(|(place, lock)| {
        let created = lock.created.map_or(&[][..], |stack| profile.stacks[stack as usize].as_slice());
        let created = created.iter().map(|&frame| strings.number(&names::frame(&profile.frames[frame as usize])));
        let mut row = json!({
            "name": names::cut(&lock.name),
            // As text: a script's numbers have 53 bits.
            "address": format!("{:#x}", lock.address),
            "kind": lock.kind.name().trim_end_matches(" mutex"),
            "created": created.collect::<Vec<_>>(),
            // Empty: none is possible, or the row is too far down.
            "rule": if place < MOST_CHARTS { rule(profile, place as LockId, advice) } else { String::new() },
            "figures": figures(&lock.usage),
        });
        if place < MOST_CHARTS {
            row["charts"] = charts(lock, spread.as_ref().map(|spread| spread[place].as_slice()));
        }
        row
    });
    locks.collect()
}

fn charts(lock: &Lock, spread: Option<&[u64]>) -> Value {
    let waited = |(at, step): (usize, &Step)| spread.map_or(step.wait_ns, |spread| spread[at]);
    json!({
        "wait": lock.usage.wait.buckets,
        "hold": lock.usage.hold.buckets,
        "step_ns": lock.step_ns,
        "wait_ns": lock.over_time.iter().enumerate().map(waited).collect::<Vec<_>>(),
    })
}

pub(super) fn sites(profile: &Profile, strings: &mut Strings) -> Vec<Value> {
    let mut order: Vec<usize> = (0..profile.sites.len()).collect();
    order.sort_by_key(|&site| std::cmp::Reverse(profile.sites[site].usage.wait.sum_ns));
    order.truncate(MOST_ROWS);
    let rows = order.into_iter().map(|number| {
        let site = &profile.sites[number];
        let frame = site.frames.first().map(|&frame| &profile.frames[frame as usize]);
        let file = frame.and_then(|frame| {
            let file = frame.file.as_ref()?;
            Some(frame.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
        });
        json!({
            "lock": strings.lock(profile, site.lock),
            "name": strings.site(profile, number as SiteId),
            "module": strings.number(frame.map_or("", |frame| names::base(&frame.module))),
            "file": strings.number(&names::cut(&file.unwrap_or_default())),
            "figures": figures(&site.usage),
        })
    });
    rows.collect()
}

/// Returns all threads' rows: timelines refer to them by number.
pub(super) fn threads(profile: &Profile) -> Vec<Value> {
    let rows = profile.threads.iter().map(|thread| {
        let (name, figures) = (names::cut(&thread.name), figures(&thread.usage));
        let (tid, began_ns, ended_ns) = (thread.tid, thread.began_ns, thread.ended_ns);
        json!({ "name": name, "tid": tid, "began_ns": began_ns, "ended_ns": ended_ns, "figures": figures })
    });
    rows.collect()
}

pub(super) fn blocked(profile: &Profile, strings: &mut Strings) -> Vec<Value> {
    let rows = profile.blocked.iter().take(MOST_ROWS).map(|pair| {
        let mut row = json!(pair);
        row["lock"] = strings.lock(profile, profile.sites[pair.holder as usize].lock).into();
        row["waiter"] = strings.site(profile, pair.waiter).into();
        row["holder"] = strings.site(profile, pair.holder).into();
        row
    });
    rows.collect()
}

pub(super) fn conditions(profile: &Profile, strings: &mut Strings) -> Vec<Value> {
    let rows = profile.conditions.iter().take(MOST_ROWS).map(|condition| {
        let mut row = json!(condition);
        row["name"] = names::cut(&condition.name).into();
        row["address"] = format!("{:#x}", condition.address).into();
        row["mutex"] = json!(condition.mutex.map(|lock| strings.lock(profile, lock)));
        row["wait"] = json!(four(&condition.wait, condition.wait.sum_ns));
        row
    });
    rows.collect()
}

pub(super) fn awaited(profile: &Profile, strings: &mut Strings) -> Vec<Value> {
    let rows = profile.awaited.iter().take(MOST_ROWS).map(|one| {
        let frame = one.sites.first().and_then(|site| site.frames.first());
        let site = frame.map_or_else(String::new, |frame| names::frame(&profile.frames[*frame as usize]));
        json!({
            "kind": one.kind.name(),
            "name": names::cut(&one.name),
            "address": format!("{:#x}", one.address),
            "site": strings.number(&site),
            "waits": one.wait.count,
            "wait": four(&one.wait, one.wait.sum_ns),
            "timed_out": one.timed_out,
            "wake_ups": one.wake_ups,
        })
    });
    rows.collect()
}

/// Returns two names for each step: the lock that is held, and where the next step's lock is taken under it.
pub(super) fn cycles(profile: &Profile, strings: &mut Strings) -> Vec<Vec<[u32; 2]>> {
    let rows = profile.cycles.iter().take(MOST_ROWS).map(|cycle| {
        let step = |step: &CycleStep| [strings.lock(profile, step.held), strings.site(profile, step.taken_at)];
        cycle.steps.iter().map(step).collect()
    });
    rows.collect()
}

pub(super) fn lines(profile: &Profile, strings: &mut Strings) -> Vec<Value> {
    let rows = profile.shared_lines.iter().take(MOST_ROWS).map(|line| {
        let acquisitions = line.locks.iter().map(|&lock| profile.locks[lock as usize].usage.acquisitions);
        json!({
            "line": format!("{:#x}", line.line),
            "locks": line.locks.iter().map(|&lock| strings.lock(profile, lock)).collect::<Vec<_>>(),
            "acquisitions": acquisitions.collect::<Vec<_>>(),
        })
    });
    rows.collect()
}
