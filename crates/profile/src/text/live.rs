//! The report on a program that was inspected while it ran: what its threads waited for, where, and the holders.

use super::figures::{count, plural, share, time};
use super::lines::{fitted, wrapped};
use super::{callers, futex, more, place, remarks, site_name, summary};
use crate::model::{Events, Lock, LockId, Profile, Site, SiteId};
use crate::output::headlines;
use std::fmt::Write;

/// The numbers of locks in the table, and of those with their sites.
const LOCKS: usize = 10;
const DETAILED: usize = 3;
/// The number of sites of a lock, and of holders and callers of a site.
const LINES: usize = 5;

/// Writes the whole report.
pub(super) fn report(text: &mut String, profile: &Profile) {
    summary::command(text, profile);
    let waited: u64 = profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
    if waited == 0 {
        let all_is_there = profile.recording.missing.is_empty();
        let _ = writeln!(text, "{}", if all_is_there { "No thread waited for a lock." } else { headlines::NOTHING });
    } else {
        overview(text, profile, waited);
        table(text, profile);
        for (number, lock) in (0..).zip(&profile.locks).take(DETAILED) {
            details(text, profile, number, lock);
        }
        futex::threads(text, profile);
    }
    *text += "\n";
    *text += &wrapped(
        "Waits, their times, sleeps, steals and hand-offs are the program's own counts, between the beginning and the \
         end. Call stacks, threads and holders are those of recorded waits: all long ones, and the shorter ones by \
         their share of the waiting.",
        "",
    );
    remarks(text, &profile.recording.remarks);
}

fn overview(text: &mut String, profile: &Profile, waited: u64) {
    let waits: u64 = profile.locks.iter().map(|lock| lock.usage.wait.count).sum();
    let alive: u64 = profile.threads.iter().map(|thread| thread.ended_ns.saturating_sub(thread.began_ns)).sum();
    let _ = writeln!(
        text,
        "Waited for locks: {} ({} of the threads' time), {}",
        time(waited),
        share(waited, alive),
        plural(waits, "wait", "waits")
    );
    summary::most(text, profile, waited);
    summary::who_blocked(text, profile, waited);
}

fn table(text: &mut String, profile: &Profile) {
    let _ = writeln!(text, "\nLOCKS BY WAIT TIME");
    let _ = writeln!(
        text,
        "{:>9} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>7}  lock",
        "waited", "p50", "p99", "max", "waits", "sleeps", "steals", "handed"
    );
    for lock in profile.locks.iter().take(LOCKS) {
        let wait = &lock.usage.wait;
        let [sum, half, most, max] = [wait.sum_ns, wait.quantile(0.5), wait.quantile(0.99), wait.max_ns].map(time);
        let (waits, [sleeps, steals, handoffs]) = (count(wait.count), events(&lock.usage.events));
        let figures =
            format!("{sum:>9} {half:>8} {most:>8} {max:>8} {waits:>9} {sleeps:>9} {steals:>9} {handoffs:>7}  ");
        *text += &fitted(&[(&figures, &lock.name)], "");
    }
    more(text, profile.locks.len(), LOCKS);
}

/// Formats sleeps, steals and hand-offs; `-`: unknown.
fn events(events: &Events) -> [String; 3] {
    [events.sleeps, events.steals, events.handoffs].map(|number| number.map_or_else(|| "-".to_owned(), count))
}

fn details(text: &mut String, profile: &Profile, number: LockId, lock: &Lock) {
    super::locks::heading(text, lock);
    if let Some(course) = super::locks::over_time(lock) {
        let _ = writeln!(text, "  waits over time: {course}");
    }
    let hold = &lock.usage.hold;
    if hold.count > 0 {
        let (mean, p99, max) = (time(hold.mean_ns()), time(hold.quantile(0.99)), time(hold.max_ns));
        let holds = plural(hold.count, "hold", "holds");
        let _ = writeln!(text, "  {holds} after recorded waits: mean {mean}, p99 {p99}, longest {max}");
    }
    let waiting = (0..).zip(&profile.sites).filter(|(_, site)| site.lock == number && site.usage.wait.sum_ns > 0);
    for (id, site) in waiting.take(LINES) {
        self::site(text, profile, id, site, lock);
    }
}

fn site(text: &mut String, profile: &Profile, id: SiteId, site: &Site, lock: &Lock) {
    let usage = &site.usage;
    let part = share(usage.wait.sum_ns, lock.usage.wait.sum_ns);
    let _ = writeln!(text, "  {part:>5}  {}", site_name(profile, site));
    let (waits, mean, max) = (plural(usage.wait.count, "wait", "waits"), usage.wait.mean_ns(), usage.wait.max_ns);
    let [sleeps, steals, handoffs] = events(&usage.events);
    let failed = if usage.failed > 0 { format!(", {} gave up", count(usage.failed)) } else { String::new() };
    let _ = writeln!(
        text,
        "         {waits}, mean {}, max {}, {sleeps} sleeps, {steals} steals, {handoffs} handed over{failed}",
        time(mean),
        time(max)
    );
    for pair in profile.blocked.iter().filter(|pair| pair.waiter == id).take(LINES) {
        let holder = site_name(profile, &profile.sites[pair.holder as usize]);
        let figures = format!(": {}, {}", plural(pair.waits, "wait", "waits"), time(pair.wait_ns));
        *text += &fitted(&[("         held by ", &holder)], &figures);
    }
    for (caller, wait) in callers(profile, site).into_iter().take(LINES).filter(|(_, wait)| *wait > 0) {
        *text += &fitted(&[("         called from ", &place(profile, caller))], &format!(": {}", time(wait)));
    }
}
