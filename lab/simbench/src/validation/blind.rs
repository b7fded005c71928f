//! Published curves as blind tests: the machines were made from other sources before any figure was predicted.

use super::lockhammer::{self, Effort, Point};
use super::oversubscribed::{self, Curve};
use super::published::{self, Published};
use super::servers;
use anyhow::Result;

/// Simulated milliseconds of each run with more threads than CPUs.
const OVERSUBSCRIBED_MS: [u64; 2] = [100, 20];

/// Returns how many runs the curves take.
///
/// # Errors
/// The published figures cannot be read.
pub fn runs(quick: bool) -> Result<usize> {
    let published = published::read()?;
    let over: usize = published.oversubscription.iter().map(oversubscribed::count).sum();
    let servers = servers::count(&published.server, server_effort(quick));
    Ok(lockhammer::count(&published.lockhammer, effort(quick)) + over + servers)
}

/// Predictions next to published figures.
pub(super) struct Blind {
    published: Published,
    pub(super) points: Vec<Point>,
    /// For each machine with more threads than CPUs.
    pub(super) curves: Vec<Vec<Curve>>,
    pub(super) servers: Vec<Point>,
}

fn effort(quick: bool) -> Effort {
    if quick { Effort::QUICK } else { Effort::FULL }
}

fn server_effort(quick: bool) -> servers::Effort {
    if quick { servers::Effort::QUICK } else { servers::Effort::FULL }
}

impl Blind {
    /// Predicts all curves, or a few points of each; calls `tick` after each run.
    pub(super) fn predict(quick: bool, mut tick: impl FnMut()) -> Result<Blind> {
        let published = published::read()?;
        let points = lockhammer::predict(&published.lockhammer, effort(quick), &mut tick)?;
        let ms = OVERSUBSCRIBED_MS[usize::from(quick)];
        let curves = published.oversubscription.iter().map(|over| oversubscribed::predict(over, ms, &mut tick));
        let curves = curves.collect::<Result<_>>()?;
        let servers = servers::predict(&published.server, server_effort(quick), &mut tick)?;
        Ok(Blind { published, points, curves, servers })
    }

    /// Summarises the results in a few lines.
    pub(super) fn summary(&self) -> String {
        let over = self.published.oversubscription.iter().zip(&self.curves);
        let over: Vec<String> = over.map(|(over, curves)| oversubscribed::table(over, curves)).collect();
        format!(
            "{HAMMER}{}\n{OVER}{}\n{SERVERS}{}",
            lockhammer::summary(&self.points),
            over.join("\n"),
            lockhammer::summary(&self.servers)
        )
    }
}

/// Returns the page of the curves alone, with all points.
///
/// # Errors
/// A machine file is wrong, or threads make no progress.
pub fn page(command: &str, commit: Option<&str>, quick: bool, tick: impl FnMut()) -> Result<String> {
    let blind = Blind::predict(quick, tick)?;
    Ok(format!(
        "# Published curves, predicted\n\nWritten by `{command}`, commit {}; do not edit.\n{}\n## Every point\n\n\
         Published / predicted, nanoseconds for each acquisition, by threads.\n{}{}",
        commit.unwrap_or("unknown"),
        blind.summary(),
        lockhammer::tables(&blind.points),
        lockhammer::tables(&blind.servers),
    ))
}

const HAMMER: &str = "\n## LockHammer's curves\n\n\
    Two anonymous x86 servers, as Arm published them in 2018, from 8 threads on: their machine files hold latencies \
    that others measured on such hosts, and none was fitted to these curves. Points within 35% of the published \
    median and the median error, by lock; pairs of locks, of those that the published figures separate by 20%.\n\n";

const OVER: &str = "\n## More threads than CPUs\n\n\
    Microseconds for each section on 104 CPUs and on 512, published by FlexGuard (SOSP 2025) and predicted, by \
    threads. Only ratios are comparable: what the published axis means is not said. A curve breaks where it rises by \
    more than 50 times from one column to the next. On 512 CPUs only that is known: FIFO spin locks break at 530 \
    threads, by four to six decades, a futex and glibc's mutex do not.\n\n";

const SERVERS: &str = "\n## Locks on servers\n\n\
    Linux's queued spin lock in `locktorture`, its readers-writer semaphore, and mutexes that sleep, as others \
    published them; what a round takes beside the lock is taken from the figure with one thread, which is not judged. \
    The same bounds.\n\n";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Properties of the predictions whatever the figures: which lock is worst, which stays flat, which breaks where.
    #[test]
    fn the_shapes_of_the_curves_hold() {
        let mut ticks = 0;
        let blind = Blind::predict(true, || ticks += 1).expect("the files are built in");
        assert_eq!(ticks, runs(true).expect("the figures are built in"));
        let growth = |lock: &str| {
            let mut ends: BTreeMap<_, Vec<f64>> = BTreeMap::new();
            let held = blind.points.iter().filter(|p| p.lock == lock && p.section == lockhammer::section(1000, 0));
            held.for_each(|p| ends.entry(&p.machine).or_default().push(p.predicted_ns));
            ends.into_values().map(|ns| ns[1] / ns[0]).fold(0.0, f64::max)
        };
        assert!(growth("swap_mutex") > 1.5 && growth("queued_spinlock") < 1.2, "exchanges pile up, a queue does not");
        let over = blind.published.oversubscription.iter().zip(&blind.curves);
        for (over, curve) in over.flat_map(|(over, curves)| curves.iter().map(move |curve| (over, curve))) {
            let spins_in_queue = ["mcs", "ticket_spinlock"].contains(&curve.lock.as_str());
            let beyond = over.threads.iter().position(|n| [110, 530].contains(n)).expect("a column");
            let jump = curve.predicted_us[beyond] / curve.predicted_us[beyond - 1];
            // On 512 CPUs a futex has two speeds, depending on how long one thread keeps it, and neither is a break.
            let calm = if over.us.is_empty() { 4.0 } else { 1.5 };
            assert!(if spins_in_queue { jump > 4.0 } else { jump < calm }, "{}: {:?}", curve.lock, curve.predicted_us);
        }
    }
}
