//! `turnwise top --advise`: which settings of `turnwise tune` are worth a trial, as far as live figures can show.
//!
//! The rule base of `profile` (`crates/profile/src/advice`) judges by hold times, by which sites blocked which, and by
//! other data of a recording. A live view counts waits. The rules that need only these are here.

use super::once::summary;
use crate::live::{Names, Process, Row, View};
use crate::next::{after_look, next};
use crate::setting::shown;
use turnwise::wait::Policy;
use turnwise_live::{Kind, Setting, Values, unnumbered};
use turnwise_present::figures::{percent, time};
use turnwise_profile::template::{Words, context};

/// The share of threads' time below which a lock is not worth a trial, as for a profile.
const WORTHWHILE: f64 = 0.01;
/// The share of all waiting below which a lock is not worth a trial until the others are fixed.
const MATTERS: f64 = 0.05;
/// The minimum number of waits for a proposal.
const FEW: u64 = 100;
/// The length of waits that find their owner in one section for longer than a spinner waits for it.
const FAILED_NS: u64 = 16 * Policy::DEFAULT.still_ns;
/// The time after which an overtaken waiter gets the lock next.
const FAIR_NS: u64 = Policy::DEFAULT.handoff_after_ns;

/// A setting to try, and why.
#[derive(PartialEq, Debug)]
struct Proposal {
    why: String,
    setting: Setting,
    ns: u32,
}

/// Returns the settings worth a trial, with the command for each.
pub(super) fn text(view: &View, names: &mut Names, rows: &[Row]) -> String {
    let mut first = None;
    let mut order: Vec<&Row> = rows.iter().filter(|row| row.share >= MATTERS).collect();
    order.sort_by(|a, b| b.share.total_cmp(&a.share));
    let locks = order.iter().filter_map(|row| {
        let process = view.process(row.process())?;
        let proposals = proposals(row, threads(view, process)).into_iter().map(|proposal| {
            let command = command(row, process, &proposal);
            first.get_or_insert_with(|| command.clone());
            context! { why => proposal.why, command }
        });
        Some(context! {
            title => row.title(),
            share => percent(row.share),
            site => names.site(row.process(), row.site),
            proposals => proposals.collect::<Vec<_>>(),
            pid => process.id.pid,
        })
    });
    let values = context! {
        locks => locks.collect::<Vec<_>>(),
        processes => view.processes.iter().map(|process| summary(view, process)).collect::<Vec<_>>(),
    };
    let next = match first {
        Some(trial) => {
            next(&trial, "tells by rounds with and without whether it helps; CMD prints the program's speed")
        }
        None => after_look(view, order.first().map(|row| row.process())),
    };
    Words::of(include_str!("advise.jinja")).render(values) + &next
}

fn threads(view: &View, process: &Process) -> usize {
    view.threads.iter().filter(|thread| thread.process == process.id).count()
}

/// Returns the trial of a proposal, in shell syntax.
fn command(row: &Row, process: &Process, proposal: &Proposal) -> String {
    let mut values = Values::default();
    values.set(proposal.setting, proposal.ns);
    let trial = format!("{:#x}={}", unnumbered(row.locks[0].address), shown(&values));
    format!("turnwise tune {} --trial {trial} --metric-cmd CMD", process.id.pid)
}

/// Returns the proposals that the waits for a lock suggest.
fn proposals(row: &Row, threads: usize) -> Vec<Proposal> {
    let (now, waits) = (&row.now, row.now.waits as f64);
    let is_worthwhile = row.waiting.is_some_and(|waiting| waiting >= WORTHWHILE * threads.max(1) as f64);
    if !row.kind.is_ours() || row.kind == Kind::Spin || now.waits < FEW || !is_worthwhile {
        return Vec::new();
    }
    let (Some(median), Some(p99)) = (now.quantile(0.5), now.quantile(0.99)) else { return Vec::new() };
    let (slept, handed) = (now.sleeps as f64 / waits, now.handoffs as f64 / waits);
    let mut found = Vec::new();
    if slept > 0.5 && median >= FAILED_NS {
        let why = format!("half of its waits last {} or more: spins before the sleeps are wasted", time(median as f64));
        found.push(Proposal { why, setting: Setting::Spin, ns: 0 });
    }
    if handed > 0.05 {
        let why = format!(
            "{} of its waits end by a hand-off, for which the lock waits until the thread runs: fewer may be faster",
            percent(handed)
        );
        found.push(Proposal { why, setting: Setting::FairAfter, ns: 50_000_000 });
    } else if p99 > 4 * FAIR_NS && p99 / 100 > median {
        let why = format!(
            "1 wait in 100 lasts {} or more, half of them {}: a hand-off may come sooner",
            time(p99 as f64),
            time(median as f64)
        );
        found.push(Proposal { why, setting: Setting::FairAfter, ns: 1_000_000 });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::made_up::server;
    use crate::live::{Wanted, rows};

    /// Returns the hot lock of a server with one second's waits in these buckets, and these sleeps and hand-offs.
    fn hot(waits: &[(usize, u64)], sleeps: u64, handoffs: u64) -> (View, Names, Row) {
        let (_, view, mut names) = server();
        let mut row = rows(&view, &mut names, &Wanted::default(), 1).0.remove(0);
        row.now.ended.histogram.fill(0);
        waits.iter().for_each(|(bucket, waits)| row.now.ended.histogram[*bucket] = *waits);
        row.now.ended.waits = waits.iter().map(|(_, waits)| waits).sum();
        (row.now.ended.sleeps, row.now.ended.handoffs) = (sleeps, handoffs);
        (view, names, row)
    }

    fn proposed(waits: &[(usize, u64)], sleeps: u64, handoffs: u64) -> Vec<(Setting, u32)> {
        let (_, _, row) = hot(waits, sleeps, handoffs);
        proposals(&row, 3).into_iter().map(|proposal| (proposal.setting, proposal.ns)).collect()
    }

    #[test]
    fn waits_suggest_settings() {
        assert_eq!(proposed(&[(15, 1_000)], 900, 0), [], "32 us");
        assert_eq!(proposed(&[(20, 1_000)], 900, 0), [(Setting::Spin, 0)], "a millisecond");
        assert_eq!(proposed(&[(9, 1_000)], 10, 100), [(Setting::FairAfter, 50_000_000)]);
        assert_eq!(proposed(&[(9, 900), (25, 100)], 10, 1), [(Setting::FairAfter, 1_000_000)]);
        assert_eq!(proposed(&[(9, 1_000)], 10, 0), [], "short waits");
        assert_eq!(proposed(&[(20, 50)], 50, 0), [], "few");
    }

    #[test]
    fn each_comes_with_its_trial_and_what_is_not_judged_is_said() {
        let (view, mut names, row) = hot(&[(20, 1_000)], 900, 0);
        let reported = text(&view, &mut names, &[row]);
        assert!(reported.contains("\n  turnwise tune 4000001 --trial 0x100=spin=off --metric-cmd CMD\n"), "{reported}");
        assert!(
            reported.contains("% of all waiting, mostly in ") && reported.contains("`turnwise profile -- CMD` does"),
            "{reported}"
        );
        assert!(reported.contains("hold") && !reported.contains("No setting"), "{reported}");
        assert!(text(&view, &mut names, &[]).contains("No setting suggests itself"));
    }
}
