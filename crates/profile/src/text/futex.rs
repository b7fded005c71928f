//! The report on a trace of futex calls: waits and their wakers; unknown figures are omitted.

use super::figures::{count, plural, share, time};
use super::lines::fitted;
use super::summary::ending;
use super::{callers, more, place, remarks, site_name};
use crate::model::{Lock, Profile, Site};
use std::fmt::Write;

/// The numbers of futexes in the table, and of those with their sites.
const FUTEXES: usize = 10;
const DETAILED: usize = 3;
/// The number of sites of a futex, of wakers of a site, and of threads.
const LINES: usize = 5;

/// Writes the whole report.
pub(super) fn report(text: &mut String, profile: &Profile) {
    summary(text, profile);
    if !profile.locks.is_empty() {
        table(text, profile);
        for (number, lock) in (0..).zip(&profile.locks).take(DETAILED) {
            details(text, profile, number, lock);
        }
        threads(text, profile);
    }
    let recording = &profile.recording;
    let _ = writeln!(text, "\nEvery futex call that the kernel recorded is counted, with its call stack.");
    if recording.episodes_dropped > 0 {
        let dropped = plural(recording.episodes_dropped, "wait is", "waits are");
        let _ = writeln!(text, "{dropped} in all sums, but not kept one by one.");
    }
    remarks(text, &recording.remarks);
}

fn summary(text: &mut String, profile: &Profile) {
    let program = &profile.program;
    let figures = format!(
        ": {}, {}, futex calls of process {}{}",
        time(program.duration_ns),
        super::summary::threads(profile),
        program.pid,
        ending(program.ending),
    );
    *text += &fitted(&[("", &program.command.join(" "))], &figures);
    let sum = |of: fn(&Lock) -> u64| profile.locks.iter().map(of).sum::<u64>();
    let (waited, waits) = (sum(|lock| lock.usage.wait.sum_ns), sum(|lock| lock.usage.wait.count));
    if waits == 0 {
        let _ = writeln!(text, "No thread slept in a futex call, joins aside.");
        return;
    }
    let alive: u64 = profile.threads.iter().map(|thread| thread.ended_ns.saturating_sub(thread.began_ns)).sum();
    let _ = writeln!(
        text,
        "Slept in futex calls: {} ({} of the threads' time), {}, {} timed out",
        time(waited),
        share(waited, alive),
        plural(waits, "wait", "waits"),
        count(sum(|lock| lock.usage.failed)),
    );
    let part = |of: u64| format!(" ({})", share(of, waited));
    if let Some(lock) = profile.locks.first() {
        *text += &fitted(&[("Most of it on: ", &lock.name)], &part(lock.usage.wait.sum_ns));
    }
    if let Some(site) = profile.sites.first() {
        *text += &fitted(&[("Most of it in: ", &site_name(profile, site))], &part(site.usage.wait.sum_ns));
    }
    if let Some(pair) = profile.blocked.first() {
        let [waiter, waker] = [pair.waiter, pair.holder].map(|site| site_name(profile, &profile.sites[site as usize]));
        let ended = format!(" ended {} of waiting in ", time(pair.wait_ns));
        *text += &fitted(&[("Most wake-ups: ", &waker), (&ended, &waiter)], "");
    }
}

fn table(text: &mut String, profile: &Profile) {
    let _ = writeln!(text, "\nFUTEXES BY WAIT TIME");
    let _ = writeln!(
        text,
        "{:>9} {:>8} {:>8} {:>8} {:>9} {:>9}  futex",
        "waited", "p50", "p99", "max", "waits", "timed out"
    );
    for lock in profile.locks.iter().take(FUTEXES) {
        let wait = &lock.usage.wait;
        let [sum, half, most, max] = [wait.sum_ns, wait.quantile(0.5), wait.quantile(0.99), wait.max_ns].map(time);
        let (waits, timed_out) = (count(wait.count), count(lock.usage.failed));
        let figures = format!("{sum:>9} {half:>8} {most:>8} {max:>8} {waits:>9} {timed_out:>9}  ");
        *text += &fitted(&[(&figures, &lock.name)], "");
    }
    more(text, profile.locks.len(), FUTEXES);
}

fn details(text: &mut String, profile: &Profile, number: u32, lock: &Lock) {
    super::locks::heading(text, lock);
    if let Some(course) = super::locks::over_time(lock) {
        let _ = writeln!(text, "  waits over time: {course}");
    }
    let waiting = (0..).zip(&profile.sites).filter(|(_, site)| site.lock == number && site.usage.wait.count > 0);
    for (id, site) in waiting.take(LINES) {
        self::site(text, profile, id, site, lock);
    }
}

fn site(text: &mut String, profile: &Profile, id: u32, site: &Site, lock: &Lock) {
    let wait = &site.usage.wait;
    let part = share(wait.sum_ns, lock.usage.wait.sum_ns);
    let _ = writeln!(text, "  {part:>5}  {}", site_name(profile, site));
    let waits = plural(wait.count, "wait", "waits");
    let (mean, max, timed_out) = (time(wait.mean_ns()), time(wait.max_ns), count(site.usage.failed));
    let _ = writeln!(text, "         {waits}, mean {mean}, max {max}, {timed_out} timed out");
    for pair in profile.blocked.iter().filter(|pair| pair.waiter == id).take(LINES) {
        let waker = site_name(profile, &profile.sites[pair.holder as usize]);
        let figures = format!(": {}, {}", plural(pair.waits, "wait", "waits"), time(pair.wait_ns));
        *text += &fitted(&[("         woken by ", &waker)], &figures);
    }
    for (caller, wait) in callers(profile, site).into_iter().take(2).filter(|(_, wait)| *wait > 0) {
        *text += &fitted(&[("         called from ", &place(profile, caller))], &format!(": {}", time(wait)));
    }
}

/// Writes the threads that waited longest.
pub(super) fn threads(text: &mut String, profile: &Profile) {
    let mut order: Vec<_> = profile.threads.iter().collect();
    order.sort_by_key(|thread| std::cmp::Reverse(thread.usage.wait.sum_ns));
    let _ = writeln!(text, "\nTHREADS\n    waited  of its time      waits  thread");
    for thread in order.iter().take(LINES) {
        let wait = &thread.usage.wait;
        let alive = thread.ended_ns.saturating_sub(thread.began_ns);
        let (sum, part, waits) = (time(wait.sum_ns), share(wait.sum_ns, alive), count(wait.count));
        let figures = format!("{sum:>10} {part:>12} {waits:>10}  ");
        *text += &fitted(&[(&figures, &thread.name)], &format!(" ({})", thread.tid));
    }
    more(text, order.len(), LINES);
}
