//! The data of the page: the profile, bounded, with omissions stated in words.

use super::super::scaling::sentences;
use super::super::{deadlocks, headlines, names};
use super::flame::Flame;
use super::rows::{self, MOST_ROWS};
use super::strings::Strings;
use super::timeline;
use crate::advice;
use crate::figures::count;
use crate::model::{Design, Ending, LockId, Method, Profile, Usage};
use crate::template::{self, context};
use minijinja::value::Serde;
use serde_json::{Value, json};

pub(super) fn title(profile: &Profile) -> String {
    let name = profile.program.command.first().map_or("program", |command| names::base(command));
    format!("Locks of {}", names::brief(name))
}

pub(super) fn data(profile: &Profile) -> Value {
    let (mut strings, mut omitted) = (Strings::default(), rows_left_out(profile));
    let advice = advice::advise(profile);
    let mut data = json!({
        "title": title(profile),
        "program": program(profile),
        "headlines": headlines::headlines(profile),
        "deadlock": profile.deadlocks.first().map(deadlocks::summary),
        "verdict": advice.verdict,
        "findings": advice::shown(&advice, profile),
        "findings_left_out": advice.left_out,
        "totals": totals(profile),
        "locks": rows::locks(profile, &advice, &mut strings),
        "sites": rows::sites(profile, &mut strings),
        "threads": rows::threads(profile),
        "blocked": rows::blocked(profile, &mut strings),
        "conditions": rows::conditions(profile, &mut strings),
        "awaited": rows::awaited(profile, &mut strings),
        "cycles": rows::cycles(profile, &mut strings),
        "lines": rows::lines(profile, &mut strings),
        "flame": Flame::of(profile, &mut strings, &mut omitted),
        // Without acquisitions and holds, their columns and tiles are left out, and holders are wakers.
        "recorded": profile.recording.knows_acquisitions(),
        // Of a program that was inspected while it ran some holds are known, and holders are holders.
        "live": profile.recording.method == Method::Live,
        "scaling": forecast(profile, &mut strings),
        "timelines": timeline::of(profile, &mut strings, &mut omitted),
        "limits": limits(profile),
    });
    (data["omitted"], data["strings"]) = (omitted.into(), json!(strings));
    data
}

fn rows_left_out(profile: &Profile) -> Vec<String> {
    let tables = [
        ("locks", profile.locks.len()),
        ("call sites", profile.sites.len()),
        ("pairs of call sites", profile.blocked.len()),
        ("condition variables", profile.conditions.len()),
        ("other waits", profile.awaited.len()),
        ("cycles", profile.cycles.len()),
        ("shared cache lines", profile.shared_lines.len()),
    ];
    let long = tables.into_iter().filter(|(_, number)| *number > MOST_ROWS);
    long.map(|(what, number)| {
        let (kept, all) = (count(MOST_ROWS as u64), count(number as u64));
        format!("The table of {what} has the first {kept} of {all}.")
    })
    .collect()
}

fn program(profile: &Profile) -> Value {
    let mut program = json!(profile.program);
    program["command"] = profile.program.command.join(" ").into();
    program["ending"] = match profile.program.ending {
        Ending::Running => "still running when the recording ended".into(),
        Ending::Exited(0) => "exited with success".into(),
        Ending::Ended => "ended; its exit status is not known".into(),
        Ending::Exited(status) => format!("exited with status {status}").into(),
        Ending::Signalled(signal) => format!("ended by signal {signal}").into(),
    };
    program
}

/// Returns the scaling curve. Points: CPUs, acquisitions a second, share of the time waited, the lock's name.
fn forecast(profile: &Profile, strings: &mut Strings) -> Option<Value> {
    let scaling = profile.scaling.as_ref()?;
    let mut name = |lock: LockId| strings.lock(profile, lock);
    let mut curve = |design: &Design| {
        let points = design.points.iter();
        let points =
            points.map(|point| (point.cpus, point.acquisitions_per_s, point.waiting, point.lock.map(&mut name)));
        let points: Vec<_> = points.collect();
        let wall = design.wall.filter(|_| !scaling.is_off()).map(|(cpus, lock)| (cpus, name(lock)));
        json!({ "title": design.title, "points": points, "wall": wall })
    };
    Some(json!({
        "machine": scaling.machine,
        "seed": scaling.seed,
        // The CPUs and acquisitions a second of the recorded run.
        "recorded": (scaling.check.cpus, scaling.check.recorded_per_s),
        "designs": scaling.designs.iter().map(&mut curve).collect::<Vec<_>>(),
        "sentences": sentences(profile, scaling),
    }))
}

fn totals(profile: &Profile) -> Value {
    let sum = |of: fn(&Usage) -> u64| profile.locks.iter().map(|lock| of(&lock.usage)).sum::<u64>();
    json!({
        "acquisitions": sum(|usage| usage.acquisitions),
        "contended": sum(|usage| usage.contended),
        "waits": sum(|usage| usage.wait.count),
        "wait_ns": headlines::waited_ns(profile),
        "longest_ns": profile.locks.iter().map(|lock| lock.usage.wait.max_ns).max().unwrap_or(0),
        "thread_ns": headlines::thread_ns(profile),
        "locks": profile.locks.len(),
        "sites": profile.sites.len(),
        "threads": profile.threads.len(),
        // The time waited for known holders, and whether that is nearly all.
        "seen_ns": headlines::seen_ns(profile),
        "mostly_seen": headlines::mostly_seen(profile),
    })
}

/// Describes the origin of the figures, in plain words.
fn limits(profile: &Profile) -> Vec<String> {
    let recording = &profile.recording;
    let mut limits = Vec::new();
    if recording.knows_acquisitions() && headlines::took_none(profile) {
        return limits;
    }
    if recording.knows_acquisitions() {
        let values = context! { recording => Serde(recording) };
        limits.extend(template::lines(include_str!("../../../assets/limits.jinja"), values));
    }
    limits.extend(recording.remarks.iter().cloned());
    limits
}
