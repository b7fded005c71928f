//! The data of a profile. All times are nanoseconds, points in time since the recording began.
//!
//! Items refer to one another by their index in the profile's lists ([`LockId`], [`SiteId`], …).

pub use crate::awaited::{Awaited, AwaitedSite};
pub use crate::danger::{CycleStep, LockCycle, Misuse, MisuseKind};
pub use crate::kind::LockKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use turnwise_present::others::Others;

/// The version of the schema, which grows when an older reader would misunderstand a newer profile.
pub const SCHEMA: u32 = 3;

/// The index in [`Profile::locks`].
pub type LockId = u32;
/// The index in [`Profile::sites`].
pub type SiteId = u32;
/// The index in [`Profile::threads`].
pub type ThreadId = u32;
/// The index in [`Profile::stacks`].
pub type StackId = u32;
/// The index in [`Profile::frames`].
pub type FrameId = u32;

/// One recorded run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that ran.
    pub program: Program,
    /// How it was recorded, and what the recording cannot show.
    pub recording: Recording,
    /// The threads, in order of appearance.
    pub threads: Vec<Thread>,
    /// The locks, by total wait time, longest first.
    pub locks: Vec<Lock>,
    /// Each lock's call sites, by total wait time, longest first.
    pub sites: Vec<Site>,
    /// The individual waits that were kept, in order of their beginning.
    pub episodes: Vec<Episode>,
    /// Which sites held locks while others waited, by wait time, longest first.
    pub blocked: Vec<Blocked>,
    /// Condition variables, by number of waits.
    pub conditions: Vec<Condition>,
    /// What threads slept on that is neither a lock nor a condition variable, by total time, longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<Awaited>,
    /// Orders of locks that lead back to their beginning.
    pub cycles: Vec<LockCycle>,
    /// All orders of locks.
    #[serde(skip)]
    pub orders: Vec<CycleStep>,
    /// What threads did with mutexes though POSIX forbids it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misuses: Vec<Misuse>,
    /// Cache lines with more than one busy lock.
    pub shared_lines: Vec<SharedLine>,
    /// Threads that waited for one another when the recording ended.
    #[serde(default)]
    pub deadlocks: Vec<Deadlock>,
    /// Call stacks, innermost frame first.
    pub stacks: Vec<Vec<FrameId>>,
    /// The frames of the stacks.
    pub frames: Vec<Frame>,
    /// The forecast for more CPUs, if the user requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
}

/// The program that ran.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// The command line.
    pub command: Vec<String>,
    /// The process number.
    pub pid: u32,
    /// The start of the recording: seconds since 1970.
    pub started_unix_s: u64,
    /// The time from its beginning to the end of the process or of the recording.
    pub duration_ns: u64,
    /// How the process ended.
    pub ending: Ending,
    /// The locks it ran on: `libc`, `adaptive`, …
    pub policy: String,
    /// The number of CPUs that it could use.
    pub cpus: u32,
    /// Host, processor and kernel, as in `turnwise compare`.
    pub machine: String,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It had not ended when the recording ended.
    #[default]
    Running,
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Signalled(i32),
    /// It ended; how is unknown.
    Ended,
}

/// The parameters of a recording.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// One in this many uncontended acquisitions has its hold time measured. So have contended ones that are kept
    /// individually.
    pub hold_one_in: u32,
    /// One in this many short and frequent waits has call stack and holder, and is kept individually. All have their
    /// call site and length.
    pub stack_one_in: u32,
    /// The number of waits kept individually ([`Profile::episodes`]).
    pub episodes_kept: u64,
    /// Waits that are in all totals, but not kept individually: short and frequent ones, or for lack of room.
    pub episodes_dropped: u64,
    /// Acquisitions that could not be assigned to lock and site, for lack of room. 0 in any sound recording.
    pub acquisitions_unattributed: u64,
    /// What could not be recorded, and why: reported before all else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Remarks for the reader of the profile.
    pub remarks: Vec<String>,
    /// The method by which the waits were recorded.
    #[serde(default)]
    pub method: Method,
    /// Waits that had not ended when the recording ended. They are in all wait times, and in no count of acquisitions.
    #[serde(default)]
    pub still_waiting: u64,
    /// The CPU use of others meanwhile, if it is known and the run was long enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// The number of records of a trace that were lost for lack of room: their waits are in no figure.
    #[serde(default)]
    pub records_lost: u64,
}

/// The method by which a profile was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The preloaded recorder, by the calls of pthread's functions.
    #[default]
    Recorder,
    /// The kernel's futex calls. [`Usage::contended`] counts waits in them, [`Usage::failed`] those that timed out, and
    /// a [`Blocked`] pair's or an [`Episode`]'s holder is the waker. Acquisitions, holds and events in the lock are
    /// unknown: 0 here, absent in JSON.
    FutexTrace,
    /// The recorder inside a program that runs on our locks, while it was switched on. Waits, their times, sleeps,
    /// steals and hand-offs are those of the program's counters; stacks, threads, holders and the time course are from
    /// a sample, scaled up. Acquisitions without a wait are unknown, as is the total time that locks were held: 0 here,
    /// absent in JSON. Holds are those of recorded waits whose release others waited for.
    Live,
}

impl Recording {
    /// Returns whether acquisitions and holds are known.
    pub fn knows_acquisitions(&self) -> bool {
        self.method == Method::Recorder
    }

    /// Returns whether the locks' events and some holds are known.
    pub fn knows_locks(&self) -> bool {
        self.method != Method::FutexTrace
    }
}

/// A thread of the program.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Its number in the system.
    pub tid: u32,
    /// Its name (`pthread_setname_np`), otherwise the program's.
    pub name: String,
    /// When it first took a lock.
    pub began_ns: u64,
    /// When it ended, or the recording ended.
    pub ended_ns: u64,
    /// Its use of all locks together.
    pub usage: Usage,
    /// Whether it took no lock and was recorded only as it slept otherwise: shares of the threads' time are without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_slept: bool,
}

impl Thread {
    /// Returns how long it existed, as a part of the time that threads could spend on locks.
    pub fn alive_ns(&self) -> u64 {
        if self.only_slept { 0 } else { self.ended_ns.saturating_sub(self.began_ns) }
    }
}

/// One lock.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Lock {
    /// Its address.
    pub address: u64,
    /// Its type.
    pub kind: LockKind,
    /// A readable name: the symbol (`cache_lock`, `table+24`), or where it was created, or where it is mostly taken.
    pub name: String,
    /// Its variable, if it is one (with its module).
    pub symbol: Option<String>,
    /// The stack of the call that made it (`pthread_mutex_init`), if there was one.
    pub created: Option<StackId>,
    /// All its acquisitions.
    pub usage: Usage,
    /// Calls that were to wake its sleepers, and those of them that woke none; known of locks that sleep by futex
    /// calls.
    #[serde(default)]
    pub wake_ups: (u64, u64),
    /// Wait and hold time over the run, in equal steps of [`Lock::step_ns`].
    pub over_time: Vec<Step>,
    /// The length of a step.
    pub step_ns: u64,
}

/// One step of a lock's time course.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// The number of acquisitions that ended in it.
    #[serde(default)]
    pub acquisitions: u64,
    /// The number of them that were contended.
    pub contended: u64,
    /// The time that threads waited.
    pub wait_ns: u64,
}

/// A place in the program that takes a lock.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Site {
    /// The lock.
    pub lock: LockId,
    /// The frame that called the lock function, with frames inlined there; innermost first. C++'s and Rust's lock
    /// classes are left out if debug information identifies them.
    pub frames: Vec<FrameId>,
    /// Whether it is for reading (readers-writer locks only).
    pub reader: bool,
    /// Whether it is a condition variable's wait, which reacquires the mutex.
    pub after_wait: bool,
    /// Its acquisitions.
    pub usage: Usage,
    /// The recorded stacks of its waits, with count and wait time.
    pub stacks: Vec<StackUsage>,
}

/// One stack's part of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StackUsage {
    /// The stack.
    pub stack: StackId,
    /// The number of waits, scaled up by [`Recording::stack_one_in`].
    pub waits: u64,
    /// Their time, also scaled up.
    pub wait_ns: u64,
}

/// The use of a lock, at a site, or by a thread.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// The number of acquisitions, including readers'.
    pub acquisitions: u64,
    /// The number of them by readers.
    pub reads: u64,
    /// The number of them that were not immediate.
    pub contended: u64,
    /// The number of failed attempts: `trylock`, time-outs.
    pub failed: u64,
    /// The waits of the contended acquisitions, and of those that timed out. Exact.
    pub wait: Distribution,
    /// Times from acquisition to release, of a sample; for a lock, each site's are weighted by its acquisitions.
    pub hold: Distribution,
    /// Total hold time, scaled up from the sample; for a lock that one thread holds at a time at most the run.
    pub hold_total_ns: u64,
    /// The events inside the lock, if known.
    pub events: Events,
}

/// The events inside a lock: sums over the contended acquisitions and, for steals, also over the others. `None`:
/// unknown.
///
/// Turnwise's locks report all of them, as far as they can occur there: the spin locks never sleep, hand over or check
/// their owner. The C library's report none: there the thread's voluntary context switches stand for sleeps, in waits
/// that were long enough to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Events {
    /// The number of sleeps in the waits [`Events::watched`]; one wait may have several.
    pub sleeps: Option<u64>,
    /// Acquisitions past threads that slept for it.
    pub steals: Option<u64>,
    /// Acquisitions by a hand-off.
    pub handoffs: Option<u64>,
    /// Spins that ended with the lock.
    pub spins_won: Option<u64>,
    /// Spins not begun or abandoned because the owner was off its CPU, or a sleeper had priority.
    pub spins_off_cpu: Option<u64>,
    /// Spins abandoned at the end of their time.
    pub spins_timed_out: Option<u64>,
    /// The number of waits whose sleeps are known: if fewer than were contended, there may have been more sleeps.
    pub watched: u64,
}

/// A distribution of durations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The greatest.
    pub max_ns: u64,
    /// The upper bound of each bucket (ns, inclusive) and the number of values in it; ascending, without empty ones.
    pub buckets: Vec<(u64, u64)>,
}

/// One wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Episode {
    /// The thread that waited.
    pub thread: ThreadId,
    /// The call site (which names the lock).
    pub site: SiteId,
    /// The whole stack, if it was taken.
    pub stack: Option<StackId>,
    /// When the wait began.
    pub began_ns: u64,
    /// When the thread acquired the lock (or gave up).
    pub acquired_ns: u64,
    /// When the thread released it; `None`: not seen.
    pub released_ns: Option<u64>,
    /// The thread that held the lock when the wait began, and where it had taken it.
    pub holder: Option<(ThreadId, SiteId)>,
    /// Whether the lock was acquired; false: the thread gave up.
    pub acquired: bool,
}

/// Waits at one site for a holder from one site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Blocked {
    /// The site that waited.
    pub waiter: SiteId,
    /// The site that held the lock.
    pub holder: SiteId,
    /// The number of waits.
    pub waits: u64,
    /// The total wait time.
    pub wait_ns: u64,
    /// The number of waits at whose beginning it was checked whether the holder was on a CPU; scaled up.
    #[serde(default)]
    pub looked: u64,
    /// The number of those in which it was not: it slept, or waited for a CPU. `None`: not checked.
    pub holder_off_cpu: Option<u64>,
}

/// A condition variable.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Condition {
    /// Its address.
    pub address: u64,
    /// As [`Lock::name`].
    pub name: String,
    /// The mutex that its waits release.
    pub mutex: Option<LockId>,
    /// The number of waits.
    pub waits: u64,
    /// The number of waits that timed out.
    pub timed_out: u64,
    /// The number of calls of `pthread_cond_signal`.
    pub signals: u64,
    /// The number of calls of `pthread_cond_broadcast`.
    pub broadcasts: u64,
    /// The number of woken threads that waited again on the same variable without having released the mutex in between:
    /// they found nothing to do.
    pub woken_for_nothing: u64,
    /// The durations of waits.
    pub wait: Distribution,
}

/// A cycle of waits: each thread waits for a lock that the next one holds, and the last for one that the first holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Deadlock {
    /// The waits in that order; a single one is for a lock that the thread itself holds.
    pub waits: Vec<StuckWait>,
    /// Whether the locks' holders are unknown (readers, for example), but all threads that take locks are in `waits`.
    #[serde(default)]
    pub all_wait: bool,
}

/// One wait of a [`Deadlock`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StuckWait {
    /// The thread that waits: name and number in the system.
    pub thread: String,
    /// The name of the lock that it waits for.
    pub lock: String,
    /// That lock's index in [`Profile::locks`], if it is there.
    pub lock_id: Option<LockId>,
    /// Where it waits, if known.
    pub place: Option<String>,
    /// Where the next thread took the lock, if known.
    pub taken: Option<String>,
    /// How long it had waited at the end of the recording, if known.
    pub wait_ns: Option<u64>,
}

/// Locks on one cache line: taking one slows the others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SharedLine {
    /// The address of the line (64 bytes).
    pub line: u64,
    /// The locks on it, busiest first.
    pub locks: Vec<LockId>,
}

/// The recorded locks on a simulated machine, with one thread on each CPU: `--what-if-cpus`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Scaling {
    /// The simulated machine: name and title.
    pub machine: String,
    /// The seed of the simulator's random numbers.
    pub seed: u64,
    /// The model compared with the recording.
    pub check: ScalingCheck,
    /// The forecast for each design of locks.
    pub designs: Vec<Design>,
}

impl Scaling {
    /// Returns whether the model's error, where it can be checked, is too large for a forecast.
    pub fn is_off(&self) -> bool {
        const MOST: f64 = 0.2;
        self.check.error().is_none_or(|error| error.abs() > MOST)
    }
}

impl ScalingCheck {
    /// Returns the share by which the model gives more (or less) than was recorded; `None`: no figure was recorded.
    pub fn error(&self) -> Option<f64> {
        Some(self.model_per_s / self.recorded_per_s - 1.0).filter(|error| error.is_finite())
    }
}

/// The model's error where it can be checked.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScalingCheck {
    /// The number of threads that existed at the same time.
    pub threads: u32,
    /// The number of CPUs that they could use.
    pub cpus: u32,
    /// Acquisitions a second as recorded.
    pub recorded_per_s: f64,
    /// Acquisitions a second in the model, with the locks that the program ran on.
    pub model_per_s: f64,
}

/// One design of locks over numbers of CPUs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Design {
    /// The locks, as the second half of "with …".
    pub name: String,
    /// A short title.
    pub title: String,
    /// The forecasts by CPUs, ascending.
    pub points: Vec<ScalingPoint>,
    /// The first number of CPUs at which threads wait for one lock for more than half their time, and the lock.
    pub wall: Option<(u32, LockId)>,
}

/// One forecast.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// The number of CPUs, and of threads.
    pub cpus: u32,
    /// Acquisitions a second.
    pub acquisitions_per_s: f64,
    /// The share of the threads' time that they wait for locks.
    pub waiting: f64,
    /// The lock that they wait for most, if any.
    pub lock: Option<LockId>,
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// The demangled function; the module and offset if unknown (`libfoo.so.1+0x1234`).
    pub function: String,
    /// The program or shared object.
    pub module: String,
    /// The source file, if debug information has it.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// Whether the compiler had inlined it into the next.
    pub inlined: bool,
}

impl Distribution {
    /// Returns the value at or below which a share of all lies, to the width of a bucket; 0 if there are none.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for &(bound, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return bound.min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// Adds the values of another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        let mut buckets: BTreeMap<u64, u64> = self.buckets.iter().copied().collect();
        for (bound, count) in &other.buckets {
            *buckets.entry(*bound).or_default() += count;
        }
        self.buckets = buckets.into_iter().collect();
    }

    /// Returns the mean; 0 if there are no values.
    pub fn mean_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.count).unwrap_or(0)
    }
}

impl Usage {
    /// Adds another usage of which only waits, holds and events are known.
    pub fn add_waits(&mut self, other: &Usage) {
        self.contended = self.contended.saturating_add(other.contended);
        self.failed = self.failed.saturating_add(other.failed);
        self.wait.merge(&other.wait);
        self.hold.merge(&other.hold);
        let (own, more) = (&mut self.events, &other.events);
        let sums = [&mut own.sleeps, &mut own.steals, &mut own.handoffs];
        for (sum, more) in sums.into_iter().zip([more.sleeps, more.steals, more.handoffs]) {
            *sum = sum.map_or(more, |sum| Some(sum.saturating_add(more.unwrap_or(0))));
        }
        own.watched = own.watched.saturating_add(more.watched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds_of_buckets() {
        let times = Distribution { count: 10, sum_ns: 550, max_ns: 190, buckets: vec![(15, 4), (63, 5), (255, 1)] };
        assert_eq!([0.0, 0.4, 0.5, 0.9, 0.99].map(|share| times.quantile(share)), [15, 15, 63, 63, 190]);
        assert_eq!(times.mean_ns(), 55);
        assert_eq!(Distribution::default().quantile(0.5), 0);
    }
}
