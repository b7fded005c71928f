//! The locks by wait time, and details of the worst.

use super::figures::{count, plural, share, time};
use super::lines::{COLUMNS, fitted, joined, plain};
use super::{callers, is_root, more, place, site_name};
use crate::model::{Lock, LockId, LockKind, Profile, Site, Step, Usage};
use std::fmt::Write;

/// The number of locks in the table.
const LOCKS: usize = 10;
/// The number of locks with their sites.
const DETAILED: usize = 3;
/// The number of sites of a lock, and of pairs of a site.
const SITES: usize = 5;
/// The number of checks of holders that is significant.
const LOOKS: u64 = 10;
/// The number of columns of a time course.
const COURSE: usize = 48;

/// Writes one line for each lock.
pub(super) fn table(text: &mut String, profile: &Profile) {
    let _ = writeln!(text, "\nLOCKS BY WAIT TIME");
    let _ = writeln!(
        text,
        "{:>9} {:>8} {:>8} {:>8} {:>9} {:>12} {:>9}  lock",
        "waited", "p50", "p99", "max", "contended", "acquisitions", "hold p50"
    );
    for lock in profile.locks.iter().take(LOCKS) {
        let usage = &lock.usage;
        let hold = if usage.hold.count == 0 { "-".to_owned() } else { time(usage.hold.quantile(0.5)) };
        let figures = format!(
            "{:>9} {:>8} {:>8} {:>8} {:>9} {:>12} {:>9}  ",
            time(usage.wait.sum_ns),
            time(usage.wait.quantile(0.5)),
            time(usage.wait.quantile(0.99)),
            time(usage.wait.max_ns),
            share(usage.contended, usage.acquisitions),
            count(usage.acquisitions),
            hold,
        );
        *text += &fitted(&[(&figures, &lock.name)], "");
    }
    more(text, profile.locks.len(), LOCKS);
}

/// Writes one line for each of the call sites with most waiting, whatever their lock.
pub(super) fn sites(text: &mut String, profile: &Profile) {
    let mut order: Vec<&Site> = profile.sites.iter().collect();
    order.sort_by_key(|site| std::cmp::Reverse((site.usage.wait.sum_ns, site.usage.acquisitions)));
    let _ = writeln!(
        text,
        "\nCALL SITES BY WAIT TIME\n{:>9} {:>8} {:>8} {:>9} {:>12} {:>9}  call site",
        "waited", "p99", "max", "contended", "acquisitions", "hold mean"
    );
    for site in order.iter().take(LOCKS) {
        let usage = &site.usage;
        // The measured holds are mostly contended ones: the mean comes from the sum over all.
        let hold = usage.hold_total_ns.checked_div(usage.acquisitions).filter(|_| usage.hold.count > 0);
        let figures = format!(
            "{:>9} {:>8} {:>8} {:>9} {:>12} {:>9}  ",
            time(usage.wait.sum_ns),
            time(usage.wait.quantile(0.99)),
            time(usage.wait.max_ns),
            share(usage.contended, usage.acquisitions),
            count(usage.acquisitions),
            hold.map_or_else(|| "-".to_owned(), time),
        );
        let lock = &profile.locks[site.lock as usize].name;
        let both = format!("{} for {lock}", site_name(profile, site));
        // A lock that is named by where it is taken adds no information; and the line is about the site.
        let has_room = textwrap::core::display_width(&plain(&both)) + figures.len() <= COLUMNS;
        let says_more = profile.locks.len() > 1 && !lock.starts_with("taken in ");
        let name = if has_room && says_more { both } else { site_name(profile, site) };
        *text += &fitted(&[(&figures, &name)], "");
    }
    more(text, order.len(), LOCKS);
}

/// Writes the worst locks, with sites, holders and time course.
pub(super) fn details(text: &mut String, profile: &Profile) {
    for (lock, id) in profile.locks.iter().zip(0..).take(DETAILED) {
        if lock.usage.wait.sum_ns > 0 || id == 0 {
            one(text, profile, lock, id);
        }
    }
}

/// Writes the first lines on a lock.
pub(super) fn heading(text: &mut String, lock: &Lock) {
    *text += "\n";
    *text += &fitted(&[("", &lock.name)], &format!(" at {:#x}, {}", lock.address, kind(lock.kind)));
    if let Some(symbol) = &lock.symbol {
        *text += &fitted(&[("  variable: ", symbol)], "");
    }
}

fn one(text: &mut String, profile: &Profile, lock: &Lock, id: LockId) {
    heading(text, lock);
    made_by(text, profile, lock);
    let usage = &lock.usage;
    let readers = format!("; {} by readers", share(usage.reads, usage.acquisitions));
    let failed = format!("; {} failed", plural(usage.failed, "attempt", "attempts"));
    let _ = writeln!(
        text,
        "  held {} in all ({} of the run); p99 {}, longest {}{}{}",
        time(usage.hold_total_ns),
        share(usage.hold_total_ns, profile.program.duration_ns),
        time(usage.hold.quantile(0.99)),
        time(usage.hold.max_ns),
        if lock.kind == LockKind::RwLock { &readers } else { "" },
        if usage.failed > 0 { &failed } else { "" },
    );
    inside(text, "  ", usage);
    if let Some(shown) = over_time(lock) {
        let _ = writeln!(text, "  waits over time: {shown}");
    }
    let sites = profile.sites.iter().zip(0..).filter(|(site, _)| site.lock == id);
    for (site, number) in sites.clone().take(SITES) {
        self::site(text, profile, site, number, usage.wait.sum_ns);
    }
    let more = sites.count().saturating_sub(SITES);
    if more > 0 {
        let _ = writeln!(text, "  … {} more", plural(more as u64, "site", "sites"));
    }
}

/// Writes the innermost frames of the stack that created a lock, except those that only start programs and threads.
fn made_by(text: &mut String, profile: &Profile, lock: &Lock) {
    let Some(stack) = lock.created.and_then(|stack| profile.stacks.get(stack as usize)) else { return };
    let own = stack.iter().filter(|frame| !is_root(&profile.frames[**frame as usize].function));
    let places: Vec<String> = own.take(3).map(|frame| place(profile, *frame)).collect();
    let between = ["  made by: ", " < ", " < "];
    let parts: Vec<(&str, &str)> = between.into_iter().zip(places.iter().map(String::as_str)).collect();
    if !parts.is_empty() {
        *text += &fitted(&parts, "");
    }
}

fn site(text: &mut String, profile: &Profile, site: &Site, number: u32, of_lock: u64) {
    let usage = &site.usage;
    let _ = writeln!(text, "  {:>5}  {}", share(usage.wait.sum_ns, of_lock), site_name(profile, site));
    let mean = usage.hold_total_ns.checked_div(usage.acquisitions).filter(|_| usage.hold.count > 0);
    let hold = mean.map_or_else(|| "-".to_owned(), time);
    let (mean, max, longest) = (usage.wait.mean_ns(), usage.wait.max_ns, usage.hold.max_ns);
    let waits = format!(
        "{}, {} contended, waits mean {} max {}",
        plural(usage.acquisitions, "acquisition", "acquisitions"),
        share(usage.contended, usage.acquisitions),
        time(mean),
        time(max),
    );
    *text += &joined("         ", &waits, &format!("holds mean {hold} max {}", time(longest)));
    inside(text, "         ", usage);
    let holders = profile.blocked.iter().filter(|pair| pair.waiter == number).take(SITES);
    for pair in holders {
        let holder = &profile.sites[pair.holder as usize];
        let off = pair.holder_off_cpu.filter(|_| pair.looked >= LOOKS);
        let off = off.map_or_else(String::new, |off| format!(", off its CPU in {}", share(off, pair.looked)));
        let figures = format!(": {}, {}{off}", plural(pair.waits, "wait", "waits"), time(pair.wait_ns));
        *text += &fitted(&[("         while held by ", &site_name(profile, holder))], &figures);
    }
    for (caller, wait) in callers(profile, site).into_iter().take(2).filter(|(_, wait)| *wait > 0) {
        let about = format!(": about {}", time(wait));
        *text += &fitted(&[("         called from ", &place(profile, caller))], &about);
    }
}

/// Writes the events inside a lock, if any are known; `-`: unknown.
fn inside(text: &mut String, indent: &str, usage: &Usage) {
    let events = &usage.events;
    let known = [events.sleeps, events.steals, events.handoffs, events.spins_won, events.spins_off_cpu];
    if known.iter().all(|count| count.is_none()) || usage.contended == 0 && events.steals.unwrap_or(0) == 0 {
        return;
    }
    let watched_all = events.watched >= usage.contended;
    if known[1..].iter().all(|count| count.is_none()) {
        let more = if watched_all { "" } else { "+" };
        let sleeps = events.sleeps.unwrap_or(0);
        let _ = writeln!(text, "{indent}{}{more} {}", count(sleeps), if sleeps == 1 { "sleep" } else { "sleeps" });
        return;
    }
    let reported = |events: Option<u64>| events.map_or_else(|| "-".to_owned(), count);
    let several = |events: Option<u64>, one: &str, more: &str| {
        events.map_or_else(|| format!("- {more}"), |events| plural(events, one, more))
    };
    let more = if watched_all { "" } else { "+" };
    let _ = writeln!(
        text,
        "{indent}{}{more} {}, {}, {}; spins: {} won, {} owner away, {} timed out",
        reported(events.sleeps),
        if events.sleeps == Some(1) && more.is_empty() { "sleep" } else { "sleeps" },
        several(events.steals, "steal", "steals"),
        several(events.handoffs, "hand-off", "hand-offs"),
        reported(events.spins_won),
        reported(events.spins_off_cpu),
        reported(events.spins_timed_out),
    );
}

fn kind(kind: LockKind) -> &'static str {
    match kind {
        LockKind::SpecialMutex => "mutex (robust, shared, or with priorities)",
        LockKind::RwLock => "readers-writer lock",
        _ => kind.name(),
    }
}

/// Returns wait time over time as bars, and the length of each; `None`: there was no wait.
pub(super) fn over_time(lock: &Lock) -> Option<String> {
    let waited = lock.over_time.iter().any(|step| step.wait_ns > 0);
    waited.then(|| format!("{} ({} each)", course(&lock.over_time), time(lock.step_ns * step_width(lock))))
}

/// Counts the steps that share one column.
fn step_width(lock: &Lock) -> u64 {
    lock.over_time.len().div_ceil(COURSE).max(1) as u64
}

/// Formats wait time over time as bars.
fn course(steps: &[Step]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = steps.len().div_ceil(COURSE).max(1);
    let sums: Vec<u64> = steps.chunks(width).map(|part| part.iter().map(|step| step.wait_ns).sum()).collect();
    let most = sums.iter().copied().max().unwrap_or(0).max(1);
    sums.iter().map(|sum| BARS[(*sum as f64 / most as f64 * 8.0).ceil() as usize]).collect()
}
