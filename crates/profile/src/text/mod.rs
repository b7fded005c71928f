//! The report for a terminal: 100 columns, the most important first. `assets/report.jinja` has its words.

pub(crate) mod lines;

use crate::model::{
    Awaited, Condition, CycleStep, Distribution, FrameId, Lock, LockId, LockKind, Method, Profile, Site, Step, Usage,
};
use crate::output::names::{base, callers, is_root};
use crate::output::{deadlocks, headlines};
use crate::template::{Words, context};
pub use lines::{shared, shortened};
use minijinja::value::{Serde, Value};
use std::cmp::Reverse;

/// The numbers of locks and of call sites in the tables, and of locks with details.
const ROWS: usize = 10;
const DETAILED: usize = 3;
/// The number of lines of a section that is not about the locks themselves, and of sites of a lock.
const LINES: usize = 5;
/// The most columns of a call site's name: its share of the wait time precedes it.
const SITE: usize = 90;
/// The number of columns of a name next to others.
const BESIDE: usize = 60;
/// The number of columns of a time course.
const COURSE: usize = 48;

/// Formats the report for a terminal.
pub fn report(profile: &Profile) -> String {
    lines::within(&Words::of(include_str!("../../assets/report.jinja")).render(facts(profile)))
}

/// Returns what the template knows: totals, and the first of each list.
fn facts(profile: &Profile) -> Value {
    let mut by_site: Vec<&Site> = profile.sites.iter().filter(|site| is_site_used(site)).collect();
    by_site.sort_by_key(|site| Reverse((site.usage.wait.sum_ns, site.usage.acquisitions)));
    let first_site = profile.sites.iter().find(|site| site.lock == 0 && site.usage.wait.sum_ns > 0);
    let detailed = (0..).zip(&profile.locks).take(DETAILED);
    let detailed = detailed.filter(|(id, lock)| *id == 0 || lock.usage.wait.sum_ns > 0);
    context! {
        program => Serde(&profile.program),
        command => profile.program.command.join(" "),
        deadlocks => deadlocks::sentences(profile).collect::<Vec<_>>(),
        others => headlines::others(profile),
        is_used => is_used(profile),
        first_site => first_site.map(|site| named_site(profile, site)),
        top_site => profile.sites.first().map(|site| named_site(profile, site)),
        pair => profile.blocked.first().map(|pair| context! {
            waiter => site_name(profile, &profile.sites[pair.waiter as usize]),
            holder => site_name(profile, &profile.sites[pair.holder as usize]),
            wait_ns => pair.wait_ns,
        }),
        locks => profile.locks.iter().take(ROWS).map(named_lock).collect::<Vec<_>>(),
        lock_count => profile.locks.len(),
        detailed => detailed.map(|(id, lock)| self::detailed(profile, id, lock)).collect::<Vec<_>>(),
        sites => by_site.iter().take(ROWS).map(|site| named_site(profile, site)).collect::<Vec<_>>(),
        site_count => by_site.len(),
        ..context! { ..lists(profile), ..headlines::totals(profile) }
    }
}

/// Returns whether a site did more than to end waits of others.
fn is_site_used(site: &Site) -> bool {
    site.usage.acquisitions > 0 || site.usage.failed > 0 || site.usage.wait.count > 0
}

fn is_used(profile: &Profile) -> bool {
    let is_used = |lock: &Lock| lock.usage.acquisitions > 0 || !lock.kind.is_pthread();
    profile.locks.iter().any(is_used) || !profile.awaited.is_empty()
}

/// Returns what it knows of all that is neither a lock nor a call site.
fn lists(profile: &Profile) -> Value {
    let lock = |lock: &LockId| profile.locks[*lock as usize].name.clone();
    let site = |site: u32| site_name(profile, &profile.sites[site as usize]);
    let used: Vec<&Condition> = profile.conditions.iter().filter(|condition| condition.waits > 0).collect();
    let mut threads: Vec<_> = profile.threads.iter().filter(|thread| !thread.only_slept).collect();
    threads.sort_by_key(|thread| Reverse((thread.usage.wait.sum_ns, thread.usage.acquisitions)));
    let conditions = used.iter().take(LINES).map(|condition| {
        context! { mean_ns => condition.wait.mean_ns(), ..Serde(condition) }
    });
    let cycles = profile.cycles.iter().take(LINES).map(|cycle| {
        let order = |(step, taken): (&CycleStep, LockId)| {
            context! { taken => lock(&taken), held => lock(&step.held), place => site(step.taken_at) }
        };
        cycle.orders().map(order).collect::<Vec<_>>()
    });
    let lines = profile.shared_lines.iter().take(LINES).map(|line| {
        let locks: Vec<String> = line.locks.iter().map(|id| shortened(&lock(id), BESIDE)).collect();
        context! { line => format!("{:#x}", line.line), locks }
    });
    let shown = threads.iter().take(LINES).map(|thread| {
        let alive = thread.ended_ns.saturating_sub(thread.began_ns);
        context! { name => thread.name.as_str(), tid => thread.tid, alive, ..usage(&thread.usage) }
    });
    let awaited = profile.awaited.iter().take(ROWS).map(|one| self::awaited(profile, one));
    context! {
        awaited => awaited.collect::<Vec<_>>(),
        awaited_count => profile.awaited.len(),
        conditions => conditions.collect::<Vec<_>>(),
        condition_count => used.len(),
        cycles => cycles.collect::<Vec<_>>(),
        cycle_count => profile.cycles.len(),
        lines => lines.collect::<Vec<_>>(),
        line_count => profile.shared_lines.len(),
        threads => shown.collect::<Vec<_>>(),
        thread_count => threads.len(),
    }
}

fn awaited(profile: &Profile, one: &Awaited) -> Value {
    let sites = one.sites.iter().take(DETAILED).map(|site| {
        let frame = site.frames.first().map(|frame| place(profile, *frame));
        context! { name => frame, waits => site.waits, wait_ns => site.wait_ns }
    });
    let sites = sites.collect::<Vec<_>>();
    context! { kind_name => one.kind.name(), p50 => one.wait.quantile(0.5), sites, ..Serde(one) }
}

fn named_lock(lock: &Lock) -> Value {
    context! { name => lock.name.as_str(), wake_ups => Serde(lock.wake_ups), ..usage(&lock.usage) }
}

fn named_site(profile: &Profile, site: &Site) -> Value {
    let lock = profile.locks[site.lock as usize].name.as_str();
    context! { name => site_name(profile, site), lock, ..usage(&site.usage) }
}

fn detailed(profile: &Profile, id: LockId, lock: &Lock) -> Value {
    let is_counted = profile.recording.method == Method::Recorder && lock.kind.is_pthread();
    let is_shown = |site: &Site| is_counted || site.usage.wait.sum_ns > 0;
    let sites = || (0..).zip(&profile.sites).filter(move |(_, site)| site.lock == id && is_shown(site));
    let with_others = |(number, site): (u32, &Site)| {
        let pairs = profile.blocked.iter().filter(|pair| pair.waiter == number).take(LINES);
        let holder = |holder: u32| site_name(profile, &profile.sites[holder as usize]);
        let blocked = pairs.map(|pair| context! { holder => holder(pair.holder), ..Serde(pair) });
        let callers = callers(profile, site).into_iter().take(LINES);
        let callers = callers.map(|(frame, wait_ns)| context! { name => place(profile, frame), wait_ns });
        let (blocked, callers) = (blocked.collect::<Vec<_>>(), callers.collect::<Vec<_>>());
        context! { blocked, callers, ..named_site(profile, site) }
    };
    context! {
        address => format!("{:#x}", lock.address),
        kind => kind(lock.kind),
        is_rwlock => lock.kind == LockKind::RwLock,
        is_slept_on => !lock.kind.is_pthread(),
        symbol => lock.symbol.as_deref(),
        made_by => made_by(profile, lock),
        course => over_time(lock),
        sites => sites().take(LINES).map(with_others).collect::<Vec<_>>(),
        more_sites => sites().count().saturating_sub(LINES),
        ..named_lock(lock)
    }
}

/// Returns a usage with the figures computed from it.
fn usage(usage: &Usage) -> Value {
    let times = |times: &Distribution| {
        context! {
            p50 => times.quantile(0.5),
            p99 => times.quantile(0.99),
            mean_ns => times.mean_ns(),
            ..Serde(times)
        }
    };
    // The measured holds are mostly contended ones: the mean comes from the sum over all.
    let mean_hold = usage.hold_total_ns.checked_div(usage.acquisitions).filter(|_| usage.hold.count > 0);
    context! { wait => times(&usage.wait), hold => times(&usage.hold), mean_hold, ..Serde(usage) }
}

fn kind(kind: LockKind) -> &'static str {
    match kind {
        LockKind::SpecialMutex => "mutex (robust, shared, or with priorities)",
        LockKind::RwLock => "readers-writer lock",
        _ => kind.name(),
    }
}

/// Returns the innermost frames of the stack that created a lock, except those that only start programs and threads.
fn made_by(profile: &Profile, lock: &Lock) -> Vec<String> {
    let stack = lock.created.and_then(|stack| profile.stacks.get(stack as usize)).into_iter().flatten();
    let own = stack.filter(|frame| !is_root(&profile.frames[**frame as usize].function));
    own.take(3).map(|frame| place(profile, *frame)).collect()
}

/// Returns wait time over time as bars, and the length of each; `None`: there was no wait.
fn over_time(lock: &Lock) -> Option<String> {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = lock.over_time.len().div_ceil(COURSE).max(1);
    let wait_ns = |part: &[Step]| part.iter().map(|step| step.wait_ns).sum();
    let sums: Vec<u64> = lock.over_time.chunks(width).map(wait_ns).collect();
    let most = sums.iter().copied().max().filter(|most| *most > 0)?;
    let bar = |sum: &u64| BARS[(*sum as f64 / most as f64 * 8.0).ceil() as usize];
    let course: String = sums.iter().map(bar).collect();
    Some(format!("{course} ({} each)", crate::figures::time(lock.step_ns * width as u64)))
}

/// Formats a site in one line. For a function that only locks for others, the caller is also named.
fn site_name(profile: &Profile, site: &Site) -> String {
    let own = site.frames.first().map_or_else(|| "?".to_owned(), |frame| place(profile, *frame));
    let kind = match (site.reader, site.after_wait) {
        (true, _) => " [read]",
        (_, true) => " [after wait]",
        _ => "",
    };
    let is_wrapper = site.frames.iter().all(|frame| crate::analysis::is_wrapper(&profile.frames[*frame as usize]));
    let callers = callers(profile, site);
    let name = match callers.first().filter(|_| is_wrapper) {
        Some((caller, _)) if site.frames.is_empty() => place(profile, *caller) + kind,
        Some((caller, _)) => format!("{}{kind} by {own}", place(profile, *caller)),
        None => own + kind,
    };
    shortened(&name, SITE)
}

/// Formats a frame as `function (file:line)`.
fn place(profile: &Profile, frame: FrameId) -> String {
    let frame = &profile.frames[frame as usize];
    let function = shortened(&frame.function, BESIDE);
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({}:{line})", shortened(base(file), 24)),
        _ if frame.module.is_empty() => function,
        _ => format!("{function} ({})", shortened(base(&frame.module), 24)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Frame, StackUsage};

    #[test]
    fn a_site_that_is_not_known_is_identified_by_the_innermost_frames_of_its_stacks() {
        let frame = |function: &str| Frame { function: function.to_owned(), ..Frame::default() };
        let mut profile = Profile { frames: vec![frame("take_job"), frame("run")], ..Profile::default() };
        profile.stacks = vec![vec![0, 1]];
        let stacks = vec![StackUsage { stack: 0, waits: 1, wait_ns: 9 }];
        let known = Site { frames: vec![0], stacks: stacks.clone(), ..Site::default() };
        assert_eq!((site_name(&profile, &known), callers(&profile, &known)), ("take_job".to_owned(), vec![(1, 9)]));
        let unknown = Site { stacks, ..Site::default() };
        assert_eq!(callers(&profile, &unknown), [(0, 9)]);
        assert_eq!(site_name(&profile, &unknown), "take_job");
    }
}
