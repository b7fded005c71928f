//! Threads that want a lock at times of their own, whether or not it has kept up: an open loop, like requests from
//! outside. The wait counts from the time at which a request was to arrive, and requests that were due and never served
//! count, too: a lock that stalls delays all that arrive meanwhile, where threads that ask again only after they were
//! served would see one long wait (G. Tene calls that coordinated omission).

use super::body::{Load, lot};
use super::exclusive::{Any, Body, Lock, Protected};
use crate::environment::Environment;
use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Workload};
use crate::situation::Arrivals;
use turnwise::platform::Native;

/// Runs one sample of `plan`, in which requests arrive like this.
///
/// # Errors
/// When a thread cannot be started, or when the lock let two threads in at the same time.
pub(crate) fn sample<L: Lock<Protected>>(plan: &Plan, arrivals: Arrivals) -> anyhow::Result<Outcome> {
    let body = Served { body: Any::of(plan.section, ()), arrivals, threads: plan.threads };
    run::sample(plan, Load::<(Open, L), _>::of(body))
}

/// The kind of the workload.
enum Open {}

/// What an operation does, and when it is due.
#[derive(Clone, Copy)]
struct Served {
    body: Any<()>,
    arrivals: Arrivals,
    threads: usize,
}

/// When the requests of one thread are due. It depends only on the thread's number, so all locks see the same.
struct Schedule {
    arrivals: Arrivals,
    threads: usize,
    lots: u64,
    /// When the next one is due; zero: not begun.
    due_ns: u64,
    /// How many more are due at the same time.
    more: u32,
}

impl Schedule {
    fn new(arrivals: Arrivals, threads: usize, thread: usize) -> Schedule {
        Schedule { arrivals, threads, lots: thread as u64 + 1, due_ns: 0, more: 0 }
    }

    /// Returns when the next request is due, if the first one may be from `now_ns` on.
    fn due(&mut self, now_ns: u64) -> u64 {
        if self.due_ns == 0 {
            self.due_ns = match self.arrivals {
                Arrivals::Poisson { .. } => now_ns,
                // By a clock that all threads share.
                Arrivals::Bursts { every_us, .. } => now_ns - now_ns % (u64::from(every_us) * 1000),
            };
            self.advance();
        }
        self.due_ns
    }

    /// Completes the present request.
    fn advance(&mut self) {
        if self.more > 0 {
            self.more -= 1;
            return;
        }
        match self.arrivals {
            Arrivals::Poisson { per_s } => {
                let mean_ns = 1e9 * self.threads as f64 / f64::from(per_s);
                let chance = (lot(&mut self.lots) as f64 + 1.0) / (f64::from(u32::MAX) + 1.0);
                // At least a nanosecond: every request has its time.
                self.due_ns += (-chance.ln() * mean_ns) as u64 + 1;
            }
            Arrivals::Bursts { each, every_us } => {
                self.due_ns += u64::from(every_us) * 1000;
                self.more = each - 1;
            }
        }
    }
}

/// Sleeps until then, as threads do that wait for requests.
fn wait_until(due_ns: u64) {
    let due = libc::timespec { tv_sec: (due_ns / 1_000_000_000) as _, tv_nsec: (due_ns % 1_000_000_000) as _ };
    while Native::stamp() < due_ns {
        // SAFETY: `due` is readable, and the rest of an interrupted sleep is not requested.
        unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &due, std::ptr::null_mut()) };
    }
}

/// A thread's private state.
struct Local {
    chain: u64,
    schedule: Schedule,
}

impl<L: Lock<Protected>> Workload for Load<(Open, L), Served> {
    type Shared = L;
    type Local = Local;

    fn shared(self) -> L {
        L::new(Protected::default())
    }

    fn local(self, _roles: Roles, thread: usize) -> Local {
        Local { chain: 1, schedule: Schedule::new(self.body.arrivals, self.body.threads, thread) }
    }

    fn prepare(self) {
        Native::prepare_to_sleep();
    }

    fn operate<P: Probe>(self, lock: &L, local: &mut Local, probe: &mut P) -> Kind {
        let due = local.schedule.due(Native::stamp());
        wait_until(due);
        let late = lock.with(|data| {
            let late = Native::stamp().saturating_sub(due);
            Body::<Native>::inside(self.body.body, data);
            late
        });
        local.schedule.advance();
        probe.waited(Kind::Write, late);
        Kind::Write
    }

    fn rest(self, local: &mut Local) {
        Body::<Native>::outside(self.body.body, &mut local.chain);
    }

    /// Requests that are already due have waited for at least this long.
    fn leave<P: Probe>(self, local: &mut Local, probe: &mut P) {
        let now = Native::stamp();
        loop {
            let due = local.schedule.due(now);
            if due >= now {
                return;
            }
            probe.waited(Kind::Write, now - due);
            local.schedule.advance();
        }
    }

    /// Checks mutual exclusion: no increment was lost.
    fn check(lock: &L, done: Counts, _torn: bool) -> anyhow::Result<()> {
        lock.with(|data| *data).check(done.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Section;

    const SECOND: u64 = 1_000_000_000;

    fn all(arrivals: Arrivals, thread: usize, until: u64) -> Vec<u64> {
        let mut schedule = Schedule::new(arrivals, 4, thread);
        let mut all = Vec::new();
        while schedule.due(SECOND) < until {
            all.push(schedule.due(SECOND));
            schedule.advance();
        }
        all
    }

    #[test]
    fn random_arrivals_come_at_their_rate_and_are_the_same_for_every_lock() {
        let rate = Arrivals::Poisson { per_s: 40_000 };
        let one = all(rate, 0, 2 * SECOND);
        assert!((9_700..10_300).contains(&one.len()), "a quarter of 40,000 in a second: {}", one.len());
        assert!(one == all(rate, 0, 2 * SECOND) && one != all(rate, 1, 2 * SECOND));
        assert!(one.windows(2).all(|pair| pair[0] < pair[1]));
        // Of exponential gaps a share of 1/e is longer than the mean.
        let longer = one.windows(2).filter(|pair| pair[1] - pair[0] > 100_000).count() as f64 / one.len() as f64;
        assert!((0.34..0.40).contains(&longer), "{longer}");
        assert_eq!(rate.per_s(4), 40_000.0);
    }

    #[test]
    fn bursts_come_at_once_for_all_threads() {
        let bursts = Arrivals::Bursts { each: 3, every_us: 2_000 };
        let one = all(bursts, 0, SECOND + 7_000_000);
        let at = |ms: u64| [SECOND + ms * 1_000_000; 3];
        assert_eq!(one, [at(2), at(4), at(6)].concat());
        assert_eq!(one, all(bursts, 3, SECOND + 7_000_000));
        assert_eq!(bursts.per_s(4), 6_000.0);
    }

    #[derive(Default)]
    struct Heard(Vec<u64>);

    impl Probe for Heard {
        fn mark(&self) -> u64 {
            0
        }
        fn record(&mut self, _kind: Kind, _asked: u64, _acquired: u64) {}
        fn waited(&mut self, _kind: Kind, ns: u64) {
            self.0.push(ns);
        }
    }

    #[test]
    fn requests_that_were_never_served_count_as_long_as_they_waited() {
        let arrivals = Arrivals::Poisson { per_s: 4_000 };
        let body = Served { body: Any::of(Section::Tight, ()), arrivals, threads: 4 };
        let work = Load::<(Open, std::sync::Mutex<Protected>), _>::of(body);
        let mut local = work.local(Roles::WRITE, 0);
        // The lock was requested a tenth of a second ago, and has admitted no thread.
        local.schedule.due(Native::stamp() - SECOND / 10);
        let mut heard = Heard::default();
        work.leave(&mut local, &mut heard);
        assert!(heard.0.len() > 50, "{} of about 100", heard.0.len());
        assert!(heard.0[0] > 80_000_000, "the first of them waited for nearly all of it: {}", heard.0[0]);
        assert!(heard.0.windows(2).all(|pair| pair[0] > pair[1]));
    }
}
