//! The most important lines.

use super::figures::{count, plural, share, time};
use super::lines::{fitted, plain, wrapped};
use super::site_name;
use crate::model::{Ending, Lock, Profile};
use crate::output::headlines;
use std::fmt::Write;

/// Writes what ran, for how long, and how it ended.
pub(super) fn command(text: &mut String, profile: &Profile) {
    let program = &profile.program;
    let figures = format!(": {}, {}, ", time(program.duration_ns), threads(profile));
    let after = format!(" locks{}", ending(program.ending));
    *text += &fitted(&[("", &program.command.join(" ")), (&figures, &program.policy)], &after);
}

pub(super) fn threads(profile: &Profile) -> String {
    plural(profile.threads.len() as u64, "thread", "threads")
}

pub(super) fn ending(ending: Ending) -> String {
    match ending {
        Ending::Running => ", still running".to_owned(),
        Ending::Exited(0) => String::new(),
        Ending::Ended => ", exit status not known".to_owned(),
        Ending::Exited(status) => format!(", exit status {status}"),
        Ending::Signalled(signal) => format!(", ended by signal {signal}"),
    }
}

/// Writes the lines on a program that took no lock.
pub(super) fn no_locks(text: &mut String, profile: &Profile) {
    let all_is_there = profile.recording.missing.is_empty();
    *text += &wrapped(if all_is_there { headlines::NO_LOCKS } else { headlines::NOTHING }, "");
}

/// Writes the five lines on a program's locks.
pub(super) fn of_locks(text: &mut String, profile: &Profile) {
    command(text, profile);
    let sum = |of: fn(&Lock) -> u64| profile.locks.iter().map(of).sum::<u64>();
    let waited = sum(|lock| lock.usage.wait.sum_ns);
    let (acquisitions, contended) = headlines::acquisitions(profile);
    let alive: u64 = profile.threads.iter().map(|thread| thread.ended_ns.saturating_sub(thread.began_ns)).sum();
    let still = profile.recording.still_waiting;
    let _ = writeln!(
        text,
        "Waited for locks: {} ({} of the threads' time); {} of {} waited ({}){}",
        time(waited),
        share(waited, alive),
        count(contended),
        plural(acquisitions, "acquisition", "acquisitions"),
        share(contended, acquisitions),
        if still == 0 { String::new() } else { format!(", {} not ended", plural(still, "wait had", "waits had")) },
    );
    if waited > 0 {
        most(text, profile, waited);
        who_blocked(text, profile, waited);
    }
}

/// Writes what most waiting was for, and where.
pub(super) fn most(text: &mut String, profile: &Profile, waited: u64) {
    let part = |of: u64| format!(" ({})", share(of, waited));
    if let Some(lock) = profile.locks.first() {
        *text += &fitted(&[("Most of it for: ", &lock.name)], &part(lock.usage.wait.sum_ns));
    }
    if let Some(site) = profile.sites.iter().find(|site| site.lock == 0 && site.usage.wait.sum_ns > 0) {
        *text += &fitted(&[("Most of it in:  ", &site_name(profile, site))], &part(site.usage.wait.sum_ns));
    }
}

/// Writes the pair with most waiting, in three lines if that is long: both names are important.
pub(super) fn who_blocked(text: &mut String, profile: &Profile, waited: u64) {
    let Some(pair) = profile.blocked.first() else { return };
    let [waiter, holder] = [pair.waiter, pair.holder].map(|site| site_name(profile, &profile.sites[site as usize]));
    let seen = headlines::seen_ns(profile);
    let known = if headlines::mostly_seen(profile) {
        String::new()
    } else {
        format!(", {} of the {} whose holder was seen", share(pair.wait_ns, seen), share(seen, waited))
    };
    let figures = format!("({}{known})", time(pair.wait_ns));
    let after = format!(" waited {figures}");
    let whole = format!("Blocked by:     {} while {}{after}", plain(&holder), plain(&waiter));
    if textwrap::core::display_width(&whole) <= super::lines::COLUMNS {
        *text += &(whole + "\n");
    } else {
        *text += &fitted(&[("Blocked by:     ", &holder)], "");
        *text += &fitted(&[("          while ", &waiter)], " waited");
        let _ = writeln!(text, "                {figures}");
    }
}
