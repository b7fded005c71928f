//! The data of the page: the profile, bounded, with omissions stated in words.

use super::super::scaling::sentences;
use super::super::{deadlocks, headlines, names};
use super::flame::Flame;
use super::rows::{self, BlockedRow, ConditionRow, LineRow, LockRow, MOST_ROWS, SiteRow, ThreadRow};
use super::strings::Strings;
use super::timeline::{self, Timeline};
use crate::advice::{self, Finding};
use crate::figures::{count, plural};
use crate::model::{Ending, LockId, Method, Profile, Usage};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct View {
    pub(super) title: String,
    program: Program,
    headlines: Vec<String>,
    /// The title's text about a deadlock.
    deadlock: Option<String>,
    verdict: String,
    findings: Vec<Advised>,
    findings_left_out: usize,
    totals: Totals,
    locks: Vec<LockRow>,
    sites: Vec<SiteRow>,
    threads: Vec<ThreadRow>,
    blocked: Vec<BlockedRow>,
    conditions: Vec<ConditionRow>,
    inversions: Vec<[u32; 4]>,
    lines: Vec<LineRow>,
    flame: Flame,
    timelines: Vec<Timeline>,
    /// Whether acquisitions and holds are known; if not, their columns and tiles are left out, and holders are wakers.
    recorded: bool,
    /// Whether it is of a program that was inspected while it ran: some holds are known, and holders are holders.
    live: bool,
    scaling: Option<Forecast>,
    limits: Vec<String>,
    omitted: Vec<String>,
    strings: Strings,
}

#[derive(Serialize)]
struct Program {
    command: String,
    pid: u32,
    started_unix_s: u64,
    duration_ns: u64,
    ending: String,
    policy: String,
    cpus: u32,
    machine: String,
}

/// The scaling curve.
#[derive(Serialize)]
struct Forecast {
    machine: String,
    seed: u64,
    /// The CPUs and acquisitions a second of the recorded run.
    recorded: (u32, f64),
    designs: Vec<Curve>,
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct Curve {
    title: String,
    /// The points: CPUs, acquisitions a second, share of the time waited, the lock's name.
    points: Vec<(u32, f64, f64, Option<u32>)>,
    wall: Option<(u32, u32)>,
}

#[derive(Serialize)]
struct Advised {
    title: String,
    evidence: Vec<String>,
    experiment: Option<String>,
    change: Option<String>,
    rule: &'static str,
}

#[derive(Serialize)]
struct Totals {
    acquisitions: u64,
    contended: u64,
    waits: u64,
    wait_ns: u64,
    longest_ns: u64,
    thread_ns: u64,
    locks: usize,
    sites: usize,
    threads: usize,
    /// The time waited for known holders.
    seen_ns: u64,
    /// Whether that is nearly all.
    mostly_seen: bool,
}

impl View {
    pub(super) fn of(profile: &Profile) -> View {
        let (mut strings, mut omitted) = (Strings::default(), Vec::new());
        let advice = advice::advise(profile);
        let name = profile.program.command.first().map_or("program", |command| names::base(command));
        for (what, number) in [
            ("locks", profile.locks.len()),
            ("call sites", profile.sites.len()),
            ("pairs of call sites", profile.blocked.len()),
            ("condition variables", profile.conditions.len()),
            ("inversions", profile.inversions.len()),
            ("shared cache lines", profile.shared_lines.len()),
        ] {
            if number > MOST_ROWS {
                let (kept, all) = (count(MOST_ROWS as u64), count(number as u64));
                omitted.push(format!("The table of {what} has the first {kept} of {all}."));
            }
        }
        View {
            title: format!("Locks of {}", names::brief(name)),
            program: program(profile),
            headlines: headlines::headlines(profile),
            deadlock: profile.deadlocks.first().map(deadlocks::summary),
            verdict: advice.verdict.clone(),
            findings: advice.reported().map(|(finding, evidence)| advised(profile, finding, &evidence)).collect(),
            findings_left_out: advice.left_out,
            totals: totals(profile),
            locks: rows::locks(profile, &advice, &mut strings),
            sites: rows::sites(profile, &mut strings),
            threads: rows::threads(profile),
            blocked: rows::blocked(profile, &mut strings),
            conditions: rows::conditions(profile, &mut strings),
            inversions: rows::inversions(profile, &mut strings),
            lines: rows::lines(profile, &mut strings),
            flame: Flame::of(profile, &mut strings, &mut omitted),
            recorded: profile.recording.knows_acquisitions(),
            live: profile.recording.method == Method::Live,
            scaling: forecast(profile, &mut strings),
            timelines: timeline::of(profile, &mut strings, &mut omitted),
            limits: limits(profile),
            omitted,
            strings,
        }
    }
}

fn program(profile: &Profile) -> Program {
    let program = &profile.program;
    Program {
        command: program.command.join(" "),
        pid: program.pid,
        started_unix_s: program.started_unix_s,
        duration_ns: program.duration_ns,
        ending: match program.ending {
            Ending::Running => "still running when the recording ended".to_owned(),
            Ending::Exited(0) => "exited with success".to_owned(),
            Ending::Ended => "ended; its exit status is not known".to_owned(),
            Ending::Exited(status) => format!("exited with status {status}"),
            Ending::Signalled(signal) => format!("ended by signal {signal}"),
        },
        policy: program.policy.clone(),
        cpus: program.cpus,
        machine: program.machine.clone(),
    }
}

fn forecast(profile: &Profile, strings: &mut Strings) -> Option<Forecast> {
    let scaling = profile.scaling.as_ref()?;
    let mut name = |lock: LockId| strings.number(&names::cut(&profile.locks[lock as usize].name));
    let designs = scaling.designs.iter().map(|design| Curve {
        title: design.title.clone(),
        points: design
            .points
            .iter()
            .map(|point| (point.cpus, point.acquisitions_per_s, point.waiting, point.lock.map(&mut name)))
            .collect(),
        wall: design.wall.filter(|_| !scaling.is_off()).map(|(cpus, lock)| (cpus, name(lock))),
    });
    Some(Forecast {
        machine: scaling.machine.clone(),
        seed: scaling.seed,
        recorded: (scaling.check.cpus, scaling.check.recorded_per_s),
        designs: designs.collect(),
        sentences: sentences(profile, scaling),
    })
}

fn advised(profile: &Profile, finding: &Finding, evidence: &[&str]) -> Advised {
    Advised {
        title: finding.title.clone(),
        evidence: evidence.iter().map(|&text| text.to_owned()).collect(),
        experiment: finding.experiment.as_ref().map(|experiment| advice::proposal(experiment, profile)),
        change: finding.change.clone(),
        rule: finding.rule,
    }
}

fn totals(profile: &Profile) -> Totals {
    let sum = |of: fn(&Usage) -> u64| profile.locks.iter().map(|lock| of(&lock.usage)).sum();
    Totals {
        acquisitions: sum(|usage| usage.acquisitions),
        contended: sum(|usage| usage.contended),
        waits: sum(|usage| usage.wait.count),
        wait_ns: sum(|usage| usage.wait.sum_ns),
        longest_ns: profile.locks.iter().map(|lock| lock.usage.wait.max_ns).max().unwrap_or(0),
        thread_ns: headlines::thread_ns(profile),
        locks: profile.locks.len(),
        sites: profile.sites.len(),
        threads: profile.threads.len(),
        seen_ns: headlines::seen_ns(profile),
        mostly_seen: headlines::mostly_seen(profile),
    }
}

/// Describes the origin of the figures, in plain words.
fn limits(profile: &Profile) -> Vec<String> {
    let recording = &profile.recording;
    if !recording.knows_acquisitions() {
        return recording.remarks.clone();
    }
    if headlines::took_none(profile) {
        return Vec::new();
    }
    let mut limits = vec!["Acquisitions, contention and wait times are exact counts, not estimates.".to_owned()];
    limits.push(match recording.hold_one_in {
        0 | 1 => "Every hold was timed.".to_owned(),
        one_in => format!(
            "Holds were timed for 1 in {one_in} uncontended acquisitions, and for the contended ones that were kept \
             one by one; totals are scaled up."
        ),
    });
    limits.push(match recording.stack_one_in {
        0 | 1 => "Every wait has its call stack.".to_owned(),
        one_in => format!(
            "Long waits, the first of each call site and 1 in {one_in} others have their call stack; the flame graph \
             is scaled to the exact totals."
        ),
    });
    let (kept, dropped) = (count(recording.episodes_kept), count(recording.episodes_dropped));
    limits.push(match recording.episodes_dropped {
        0 if recording.episodes_kept == 1 => "The one wait was kept, for the timelines.".to_owned(),
        0 => format!("All {kept} waits were kept one by one, for the timelines."),
        _ => format!(
            "{kept} waits were kept one by one, for the timelines; {dropped} others, short ones of busy call sites, \
             are in the totals only."
        ),
    });
    if recording.acquisitions_unattributed > 0 {
        let number = plural(recording.acquisitions_unattributed, "acquisition", "acquisitions");
        limits.push(format!("{number} could not be attributed to a lock and call site, because the tables were full."));
    }
    limits.extend(recording.remarks.iter().cloned());
    limits
}
