//! Threads in peculiar situations: each operation takes any of several locks, or comes at a time of its own.
//!
//! Where requests arrive at times of their own, whether or not the lock has kept up (an open loop, like requests from
//! outside), the wait counts from the time at which a request was to arrive, and requests that were due and never
//! served count, too: a lock that stalls delays all that arrive meanwhile, where threads that ask again only after they
//! were served would see one long wait (G. Tene calls that coordinated omission).

use super::body::{Body, Load, Work, lot};
use super::exclusive::{Lock, Protected, change, take};
use crate::environment::Environment;
use crate::probe::Probe;
use crate::run::{self, Apart, Counts, Kind, Outcome, Plan, Roles, Workload};
use crate::situation::Arrivals;
use turnwise::platform::{Native, Platform};

/// Runs one sample of `plan` with as many fresh locks as it specifies, in which requests arrive as it specifies.
///
/// # Errors
/// When a thread cannot be started, or when a lock let two threads in at the same time.
pub(crate) fn sample<L: Lock<Protected>>(plan: &Plan) -> anyhow::Result<Outcome> {
    run::sample(plan, Load::<(Situated, L), _>::of(Situation::of(plan)))
}

/// The kind of the workload.
enum Situated {}

/// What an operation does, with one of how many locks, and when it is due.
#[derive(Clone, Copy)]
struct Situation {
    body: Work<()>,
    locks: usize,
    /// `None`: as soon as the operation before it is done.
    arrivals: Option<Arrivals>,
    threads: usize,
}

impl Situation {
    fn of(plan: &Plan) -> Situation {
        let Plan { section, situation, threads, .. } = *plan;
        Situation { body: Work::of(section, ()), locks: situation.locks, arrivals: situation.arrivals, threads }
    }
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
    while Native::now() < due_ns {
        // SAFETY: `due` is readable, and the rest of an interrupted sleep is not requested.
        unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &due, std::ptr::null_mut()) };
    }
}

/// A thread's private state.
struct Local {
    chain: u64,
    lots: u64,
    schedule: Option<Schedule>,
}

impl<L: Lock<Protected>> Workload for Load<(Situated, L), Situation> {
    type Shared = Vec<Apart<L>>;
    type Local = Local;

    fn shared(self) -> Self::Shared {
        (0..self.body.locks).map(|_| Apart(L::new(Protected::default()))).collect()
    }

    fn local(self, _roles: Roles, thread: usize) -> Local {
        let schedule = self.body.arrivals.map(|arrivals| Schedule::new(arrivals, self.body.threads, thread));
        Local { chain: 1, lots: thread as u64 + 1, schedule }
    }

    fn prepare(self) {
        if self.body.arrivals.is_some() {
            Native::prepare_to_sleep();
        }
        Body::<Native>::prepare(self.body.body);
    }

    fn operate<P: Probe>(self, locks: &Self::Shared, local: &mut Local, probe: &mut P) -> Kind {
        let lock = &locks[lot(&mut local.lots) as usize % locks.len()].0;
        let Some(schedule) = &mut local.schedule else { return take::<Native, L, P>(lock, self.body.body, probe) };
        let due = schedule.due(Native::now());
        wait_until(due);
        let late = lock.with(|data| {
            let late = Native::now().saturating_sub(due);
            change::<Native>(self.body.body, data);
            late
        });
        schedule.advance();
        probe.waited(Kind::Write, late);
        Kind::Write
    }

    fn rest(self, local: &mut Local) {
        Body::<Native>::outside(self.body.body, &mut local.chain);
    }

    /// Requests that are already due have waited for at least this long.
    fn leave<P: Probe>(self, local: &mut Local, probe: &mut P) {
        let Some(schedule) = &mut local.schedule else { return };
        let now = Native::now();
        loop {
            let due = schedule.due(now);
            if due >= now {
                return;
            }
            probe.waited(Kind::Write, now - due);
            schedule.advance();
        }
    }

    /// Checks mutual exclusion: no increment was lost behind any of them.
    fn check(locks: &Self::Shared, done: Counts, _torn: bool) -> anyhow::Result<()> {
        let all = locks.iter().map(|lock| lock.0.with(|data| *data)).fold(Protected::default(), Protected::and);
        all.check(done.write)
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
        let body = Situation { body: Work::of(Section::Tight, ()), locks: 1, arrivals: Some(arrivals), threads: 4 };
        let work = Load::<(Situated, std::sync::Mutex<Protected>), _>::of(body);
        let mut local = work.local(Roles::WRITE, 0);
        // The lock was requested a tenth of a second ago, and has admitted no thread.
        local.schedule.as_mut().expect("requests arrive").due(Native::now() - SECOND / 10);
        let mut heard = Heard::default();
        work.leave(&mut local, &mut heard);
        assert!(heard.0.len() > 50, "{} of about 100", heard.0.len());
        assert!(heard.0[0] > 80_000_000, "the first of them waited for nearly all of it: {}", heard.0[0]);
        assert!(heard.0.windows(2).all(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn every_lock_is_taken_and_all_operations_count() {
        const OPERATIONS: u64 = 1600;
        type Sixteen = Load<(Situated, std::sync::Mutex<Protected>), Situation>;
        let body = Work::of(Section::Work { inside: 1, outside: 1 }, ());
        let work: Sixteen = Load::of(Situation { body, locks: 16, arrivals: None, threads: 1 });
        let locks = work.shared();
        let mut local = work.local(Roles::WRITE, 0);
        for _ in 0..OPERATIONS {
            work.operate(&locks, &mut local, &mut crate::probe::Untimed);
        }
        for lock in &locks {
            let alone = lock.0.with(|data| *data);
            assert!((60..140).any(|count| alone.check(count).is_ok()), "{alone:?} is far from a sixteenth");
        }
        let check = |write| Sixteen::check(&locks, Counts { read: 0, write }, false);
        assert!(check(OPERATIONS).is_ok() && check(OPERATIONS + 1).is_err());
    }
}
