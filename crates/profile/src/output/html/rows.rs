//! Rows of the page's tables.

use super::super::names;
use super::afar::share_out;
use super::strings::Strings;
use crate::advice::{Advice, Scope};
use crate::model::{Distribution, LockId, LockKind, Profile, SiteId, Step, Usage};
use crate::policy_rules::conditions_for;
use serde::Serialize;
use turnwise_preload_abi::Policy;

/// The maximum number of rows of a table; users do not read further, and the page must open quickly.
pub(super) const MOST_ROWS: usize = 2_000;
/// The number of locks with histograms and a time course.
const MOST_CHARTS: usize = 64;

/// The number of rules for a lock from which they are left out: users would not put them into a file.
const MANY_RULES: usize = 8;

/// The figures of a lock, a site or a thread.
#[derive(Serialize)]
struct Figures {
    acquisitions: u64,
    reads: u64,
    contended: u64,
    failed: u64,
    /// The sum, median, 99th percentile, longest.
    wait: [u64; 4],
    hold: [u64; 4],
    /// Unknown figures are null.
    sleeps: Option<u64>,
    /// Whether there may be more sleeps: not all waits were watched.
    sleeps_least: bool,
    steals: Option<u64>,
    handoffs: Option<u64>,
    spins_won: Option<u64>,
    spins_off_cpu: Option<u64>,
    spins_timed_out: Option<u64>,
}

/// Returns the sum, the median, the 99th percentile and the longest.
fn four(times: &Distribution, sum_ns: u64) -> [u64; 4] {
    [sum_ns, times.quantile(0.5), times.quantile(0.99), times.max_ns]
}

impl Figures {
    fn of(usage: &Usage) -> Figures {
        Figures {
            acquisitions: usage.acquisitions,
            reads: usage.reads,
            contended: usage.contended,
            failed: usage.failed,
            wait: four(&usage.wait, usage.wait.sum_ns),
            hold: four(&usage.hold, usage.hold_total_ns),
            sleeps: usage.events.sleeps,
            sleeps_least: usage.events.watched < usage.contended,
            steals: usage.events.steals,
            handoffs: usage.events.handoffs,
            spins_won: usage.events.spins_won,
            spins_off_cpu: usage.events.spins_off_cpu,
            spins_timed_out: usage.events.spins_timed_out,
        }
    }
}

#[derive(Serialize)]
pub(super) struct LockRow {
    name: String,
    /// The address as text: a script's numbers have 53 bits.
    address: String,
    kind: &'static str,
    /// The stack that made it, outermost last.
    created: Vec<u32>,
    /// Its rule in a policy file; empty: none is possible, or the row is too far down.
    rule: String,
    figures: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    charts: Option<Charts>,
}

#[derive(Serialize)]
struct Charts {
    wait: Vec<(u64, u64)>,
    hold: Vec<(u64, u64)>,
    step_ns: u64,
    /// Step by step.
    wait_ns: Vec<u64>,
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

pub(super) fn locks(profile: &Profile, advice: &Advice, strings: &mut Strings) -> Vec<LockRow> {
    let spread = spread(profile);
    let locks = profile.locks.iter().take(MOST_ROWS).enumerate().map(|(place, lock)| {
        let created = lock.created.map_or(&[][..], |stack| profile.stacks[stack as usize].as_slice());
        let created = created.iter().map(|&frame| strings.number(&names::frame(&profile.frames[frame as usize])));
        let waited = |at: usize, step: &Step| spread.as_ref().map_or(step.wait_ns, |spread| spread[place][at]);
        LockRow {
            name: names::cut(&lock.name),
            address: format!("{:#x}", lock.address),
            kind: lock.kind.name().trim_end_matches(" mutex"),
            created: created.collect(),
            rule: if place < MOST_CHARTS { rule(profile, place as LockId, advice) } else { String::new() },
            figures: Figures::of(&lock.usage),
            charts: (place < MOST_CHARTS).then(|| Charts {
                wait: lock.usage.wait.buckets.clone(),
                hold: lock.usage.hold.buckets.clone(),
                step_ns: lock.step_ns,
                wait_ns: lock.over_time.iter().enumerate().map(|(at, step)| waited(at, step)).collect(),
            }),
        }
    });
    locks.collect()
}

#[derive(Serialize)]
pub(super) struct SiteRow {
    lock: u32,
    name: u32,
    module: u32,
    file: u32,
    figures: Figures,
}

pub(super) fn sites(profile: &Profile, strings: &mut Strings) -> Vec<SiteRow> {
    let mut order: Vec<usize> = (0..profile.sites.len()).collect();
    order.sort_by_key(|&site| std::cmp::Reverse(profile.sites[site].usage.wait.sum_ns));
    order.truncate(MOST_ROWS);
    let rows = order.into_iter().map(|number| {
        let site = &profile.sites[number];
        let frame = site.frames.first().map(|&frame| &profile.frames[frame as usize]);
        let file = frame.and_then(|frame| {
            frame.file.as_ref().map(|file| match frame.line {
                Some(line) => format!("{file}:{line}"),
                None => file.clone(),
            })
        });
        SiteRow {
            lock: strings.number(&names::cut(&profile.locks[site.lock as usize].name)),
            name: strings.site(profile, number as SiteId),
            module: strings.number(frame.map_or("", |frame| names::base(&frame.module))),
            file: strings.number(&names::cut(&file.unwrap_or_default())),
            figures: Figures::of(&site.usage),
        }
    });
    rows.collect()
}

#[derive(Serialize)]
pub(super) struct ThreadRow {
    name: String,
    tid: u32,
    began_ns: u64,
    ended_ns: u64,
    figures: Figures,
}

/// Returns all threads' rows: timelines refer to them by number.
pub(super) fn threads(profile: &Profile) -> Vec<ThreadRow> {
    let rows = profile.threads.iter().map(|thread| ThreadRow {
        name: names::cut(&thread.name),
        tid: thread.tid,
        began_ns: thread.began_ns,
        ended_ns: thread.ended_ns,
        figures: Figures::of(&thread.usage),
    });
    rows.collect()
}

#[derive(Serialize)]
pub(super) struct BlockedRow {
    lock: u32,
    waiter: u32,
    holder: u32,
    waits: u64,
    wait_ns: u64,
    looked: u64,
    holder_off_cpu: Option<u64>,
}

pub(super) fn blocked(profile: &Profile, strings: &mut Strings) -> Vec<BlockedRow> {
    let rows = profile.blocked.iter().take(MOST_ROWS).map(|pair| {
        let lock = profile.sites[pair.holder as usize].lock;
        BlockedRow {
            lock: strings.number(&names::cut(&profile.locks[lock as usize].name)),
            waiter: strings.site(profile, pair.waiter),
            holder: strings.site(profile, pair.holder),
            waits: pair.waits,
            wait_ns: pair.wait_ns,
            looked: pair.looked,
            holder_off_cpu: pair.holder_off_cpu,
        }
    });
    rows.collect()
}

#[derive(Serialize)]
pub(super) struct ConditionRow {
    name: String,
    address: String,
    mutex: Option<u32>,
    waits: u64,
    timed_out: u64,
    signals: u64,
    broadcasts: u64,
    woken_for_nothing: u64,
    wait: [u64; 4],
}

pub(super) fn conditions(profile: &Profile, strings: &mut Strings) -> Vec<ConditionRow> {
    let rows = profile.conditions.iter().take(MOST_ROWS).map(|condition| ConditionRow {
        name: names::cut(&condition.name),
        address: format!("{:#x}", condition.address),
        mutex: condition.mutex.map(|lock| strings.number(&names::cut(&profile.locks[lock as usize].name))),
        waits: condition.waits,
        timed_out: condition.timed_out,
        signals: condition.signals,
        broadcasts: condition.broadcasts,
        woken_for_nothing: condition.woken_for_nothing,
        wait: four(&condition.wait, condition.wait.sum_ns),
    });
    rows.collect()
}

/// Returns four names each: the locks, and where the second is taken under the first, and the first under the second.
pub(super) fn inversions(profile: &Profile, strings: &mut Strings) -> Vec<[u32; 4]> {
    let rows = profile.inversions.iter().take(MOST_ROWS).map(|pair| {
        let [a, b] = [pair.a, pair.b].map(|lock| strings.number(&names::cut(&profile.locks[lock as usize].name)));
        [a, b, strings.site(profile, pair.b_under_a), strings.site(profile, pair.a_under_b)]
    });
    rows.collect()
}

#[derive(Serialize)]
pub(super) struct LineRow {
    line: String,
    locks: Vec<u32>,
    acquisitions: Vec<u64>,
}

pub(super) fn lines(profile: &Profile, strings: &mut Strings) -> Vec<LineRow> {
    let rows = profile.shared_lines.iter().take(MOST_ROWS).map(|line| {
        let locks = || line.locks.iter().map(|&lock| &profile.locks[lock as usize]);
        LineRow {
            line: format!("{:#x}", line.line),
            locks: locks().map(|lock| strings.number(&names::cut(&lock.name))).collect(),
            acquisitions: locks().map(|lock| lock.usage.acquisitions).collect(),
        }
    });
    rows.collect()
}
