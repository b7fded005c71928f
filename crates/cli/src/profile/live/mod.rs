//! Profiles of processes that run under `turnwise run`: the recorder inside them is switched on for a while, and off
//! again. That needs no rights but their user's, and stops no thread. `command.rs` starts one for it.

mod command;
mod log;
mod maker;
mod remarks;

pub(super) use command::run;

use super::futex;
use super::started::Signals;
use crate::live::{Modules, unloads_of};
use anyhow::{Context, Result};
use log::Log;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::time::{Duration, Instant, SystemTime};
use turnwise_futex_trace::has_ended;
use turnwise_live::{Channel, Error, Fault, Recorder, SiteSum, Snapshot};
use turnwise_profile::model::{Ending, Profile};

/// The interval at which records are taken.
const STEP: Duration = Duration::from_millis(10);
/// The interval at which the length from which all waits are recorded is adjusted.
const TURN: Duration = Duration::from_millis(100);
/// The number of records wanted in an interval; at most twice as many are taken.
const WANTED: usize = 75;
/// The initial value of that length, and its bounds.
const PERIOD_NS: u64 = 500_000;
const SHORTEST_NS: u64 = 10_000;
const LONGEST_NS: u64 = 10_000_000_000;

/// The data about a program at one moment.
struct Look {
    snapshot: Snapshot,
    sums: Vec<SiteSum>,
}

impl Look {
    fn at(channel: &Channel) -> Result<Look, Error> {
        channel.sums().map(|(snapshot, sums)| Look { snapshot, sums })
    }
}

/// All data that a profile is made from.
struct Seen {
    first: Look,
    last: Look,
    log: Log,
    modules: Modules,
    /// The number of lost records, and of those without a stack.
    losses: (u64, u64),
    /// The other processes of the same program.
    others: Vec<u32>,
    /// The reason that no waits were seen.
    missing: Option<String>,
}

/// Opens the live view of a process; `None`: there is none.
pub(super) fn view_of(pid: u32) -> Result<Option<Channel>> {
    match Channel::of(pid) {
        Ok(channel) => Ok(Some(channel)),
        Err(Error { fault: Fault::NoView(_), .. }) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("--pid {pid} (--futex traces its futex calls instead)")),
    }
}

/// Records the waits of a running process until Ctrl-C, its end, or `time` has passed.
pub(super) fn attached(channel: &Channel, time: Option<Duration>) -> Result<Profile> {
    let (pid, began) = (channel.pid(), Instant::now());
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let program = futex::running(pid);
    let context = || format!("--pid {pid}");
    let mut recorder = channel.record().with_context(context)?;
    let first = Look::at(channel).with_context(context)?;
    recorder.ask(PERIOD_NS).with_context(context)?;
    let (started, took) = (SystemTime::now(), began.elapsed());
    let until = if time.is_some() { "" } else { "; Ctrl-C ends that and shows the report" };
    eprintln!(
        "turnwise: recording the waits inside process {pid}, {} (switched on in {:.1} ms){until}",
        program.join(" "),
        took.as_secs_f64() * 1e3
    );
    let is_over =
        || has_ended(pid) || signals.pending().next().is_some() || time.is_some_and(|time| began.elapsed() >= time);
    let seen = observed(channel, Some(recorder), first, is_over).with_context(context)?;
    let ending = if has_ended(pid) { Ending::Ended } else { Ending::Running };
    let mut about = futex::about(program, started, ending);
    // Without a policy of its own, a policy file's rules decide.
    about.policy = channel.policy().map_or("a policy file's", |policy| policy.name()).to_owned();
    Ok(maker::profile(&seen, about))
}

/// Records the waits of a process until the end. Without a recorder, as it has ended, there are only its counts.
fn observed(
    channel: &Channel,
    mut recorder: Option<Recorder>,
    first: Look,
    is_over: impl FnMut() -> bool,
) -> Result<Seen, Error> {
    let mut log = Log::new(first.snapshot.taken_ns, channel.pid());
    let (mut modules, mut losses) = (Modules::none(), (0, 0));
    if let Some(recorder) = &mut recorder {
        modules = Modules::of(channel.pid(), || unloads_of(channel));
        follow(channel, recorder, &mut log, &mut modules, is_over)?;
        losses = recorder.losses()?;
    }
    let last = Look::at(channel)?;
    drop(recorder);
    log.unwind(&mut modules);
    modules.learn(last.snapshot.unloads.clone());
    Ok(Seen { first, last, log, modules, losses, others: others(channel), missing: None })
}

/// Takes records until the end, and ends the recording.
fn follow(
    channel: &Channel,
    recorder: &mut Recorder,
    log: &mut Log,
    modules: &mut Modules,
    mut is_over: impl FnMut() -> bool,
) -> Result<(), Error> {
    let (mut period_ns, mut turn, mut taken) = (PERIOD_NS, Instant::now(), 0);
    while !is_over() && channel.is_alive() {
        std::thread::sleep(STEP);
        recorder.ask(period_ns)?;
        let (waits, releases) = recorder.take()?;
        taken += waits.len();
        log.add(waits, &releases, modules, &|| unloads_of(channel));
        if turn.elapsed() >= TURN {
            period_ns = next_period(period_ns, taken);
            (turn, taken) = (Instant::now(), 0);
        }
    }
    recorder.stop()?;
    // These are records that threads are writing just now.
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1));
        let (waits, releases) = recorder.take()?;
        log.add(waits, &releases, modules, &|| unloads_of(channel));
    }
    Ok(())
}

/// Returns the length from which all waits are to be recorded, after `taken` records in an interval.
fn next_period(period_ns: u64, taken: usize) -> u64 {
    let next = match taken {
        many if many > 2 * WANTED => {
            period_ns.saturating_mul((many / WANTED).next_power_of_two().try_into().unwrap_or(u64::MAX))
        }
        few if few < WANTED / 2 => period_ns / 2,
        _ => period_ns,
    };
    next.clamp(SHORTEST_NS, LONGEST_NS)
}

/// Returns other processes that run the same program, and have live views.
fn others(channel: &Channel) -> Vec<u32> {
    let others = Channel::list().into_iter().filter(|other| other.name() == channel.name());
    others.map(|other| other.pid()).filter(|pid| *pid != channel.pid()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_at_about_the_wanted_rate() {
        // Threads that wait for `waiting` ns in an interval have one record for each period.
        for waiting in [0, 1_000_000, 100_000_000, 800_000_000, 100_000_000_000] {
            let mut period_ns = PERIOD_NS;
            for _ in 0..40 {
                period_ns = next_period(period_ns, (waiting / period_ns) as usize);
            }
            let records = (waiting / period_ns) as usize;
            let is_slow = period_ns == SHORTEST_NS;
            assert!(records <= 2 * WANTED && (records >= WANTED / 2 || is_slow), "{waiting}: {records} records");
        }
    }

    #[test]
    fn a_flood_of_records_is_stemmed_at_once() {
        let after = next_period(PERIOD_NS, 100 * WANTED);
        assert!(after >= 100 * PERIOD_NS, "{after}");
        assert_eq!(next_period(LONGEST_NS, usize::MAX), LONGEST_NS);
    }

    #[test]
    fn a_process_without_a_view_has_none() {
        assert!(view_of(std::process::id()).unwrap().is_none());
    }
}
