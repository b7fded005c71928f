//! The data of a profile. All times are nanoseconds, points in time since the recording began.
//!
//! Things refer to one another by their index in the profile's lists ([`LockId`], [`SiteId`], …).

use serde::{Deserialize, Serialize};
use turnwise_present::others::Others;

/// Grows when a reader of an older profile would misunderstand a newer one.
pub const SCHEMA: u32 = 2;

/// Index in [`Profile::locks`].
pub type LockId = u32;
/// Index in [`Profile::sites`].
pub type SiteId = u32;
/// Index in [`Profile::threads`].
pub type ThreadId = u32;
/// Index in [`Profile::stacks`].
pub type StackId = u32;
/// Index in [`Profile::frames`].
pub type FrameId = u32;

/// One recorded run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What ran.
    pub program: Program,
    /// How it was recorded, and what the recording cannot tell.
    pub recording: Recording,
    /// In order of appearance.
    pub threads: Vec<Thread>,
    /// By total wait time, longest first.
    pub locks: Vec<Lock>,
    /// Each lock's call sites, by total wait time, longest first.
    pub sites: Vec<Site>,
    /// Waits one by one, as far as they were kept, in order of their beginning.
    pub episodes: Vec<Episode>,
    /// Who held while others waited, by wait time, longest first.
    pub blocked: Vec<Blocked>,
    /// Condition variables, by number of waits.
    pub conditions: Vec<Condition>,
    /// Pairs of locks that were taken in both orders.
    pub inversions: Vec<Inversion>,
    /// Cache lines with more than one busy lock.
    pub shared_lines: Vec<SharedLine>,
    /// Threads that waited for one another when the recording ended.
    #[serde(default)]
    pub deadlocks: Vec<Deadlock>,
    /// Call stacks, innermost frame first.
    pub stacks: Vec<Vec<FrameId>>,
    /// The frames of the stacks.
    pub frames: Vec<Frame>,
    /// The forecast for more CPUs, if the user asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
}

/// What ran.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// Command line.
    pub command: Vec<String>,
    /// Process number.
    pub pid: u32,
    /// When the recording began: seconds since 1970.
    pub started_unix_s: u64,
    /// From its beginning to the end of the process or of the recording.
    pub duration_ns: u64,
    /// How the process ended.
    pub ending: Ending,
    /// The locks it ran on: `libc`, `adaptive`, …
    pub policy: String,
    /// CPUs that it could use.
    pub cpus: u32,
    /// Host, processor and kernel, as `turnwise compare` has them.
    pub machine: String,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It had not when the recording ended.
    #[default]
    Running,
    /// With this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It ended; how is not known.
    Ended,
}

/// How it was recorded.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// One in so many uncontended acquisitions has its hold time measured. So have contended ones that are kept one by
    /// one.
    pub hold_one_in: u32,
    /// One in so many short and frequent waits has call stack and holder, and is kept one by one. All have their call
    /// site and length.
    pub stack_one_in: u32,
    /// Waits kept one by one ([`Profile::episodes`]).
    pub episodes_kept: u64,
    /// Waits that are in all totals, but not kept one by one: short and frequent ones, or for want of room.
    pub episodes_dropped: u64,
    /// Acquisitions that could not be told apart by lock and site, for want of room. 0 in any sound recording.
    pub acquisitions_unattributed: u64,
    /// What could not be recorded, and why: said before all else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What a reader of the profile should know.
    pub remarks: Vec<String>,
    /// What saw the waits.
    #[serde(default)]
    pub method: Method,
    /// Waits that had not ended when the recording did. They are in all wait times, and in no count of acquisitions.
    #[serde(default)]
    pub still_waiting: u64,
    /// What others took of the CPUs meanwhile, if that is known and the run was long enough to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// Records of a trace that were lost for want of room: their waits are in no figure.
    #[serde(default)]
    pub records_lost: u64,
}

/// What a profile was made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The preloaded recorder, by the calls of pthread's functions.
    #[default]
    Recorder,
    /// The kernel's futex calls. [`Usage::contended`] counts waits in them, [`Usage::failed`] those that timed out, and
    /// a [`Blocked`] pair's or an [`Episode`]'s holder is who woke the waiter. Acquisitions, holds and what happens in
    /// the lock are not known: 0 here, absent in JSON.
    FutexTrace,
    /// The recorder inside a program that runs on our locks, while it was switched on. Waits, their times, sleeps,
    /// steals and hand-offs are those of the program's counters; stacks, threads, holders and the course over time are
    /// from a sample, scaled up. Acquisitions without a wait are not known, nor is the time that locks were held
    /// altogether: 0 here, absent in JSON. Holds are those of recorded waits whose release others waited for.
    Live,
}

impl Recording {
    /// Returns whether acquisitions and holds are known.
    #[must_use]
    pub fn knows_acquisitions(&self) -> bool {
        self.method == Method::Recorder
    }

    /// Returns whether something is known of what happened in the locks: their events, and some holds.
    #[must_use]
    pub fn knows_locks(&self) -> bool {
        self.method != Method::FutexTrace
    }
}

/// A thread of the program.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Its number in the system.
    pub tid: u32,
    /// Its name (`pthread_setname_np`), else the program's.
    pub name: String,
    /// When it first took a lock.
    pub began_ns: u64,
    /// When it ended, or the recording did.
    pub ended_ns: u64,
    /// What it did at all locks together.
    pub usage: Usage,
}

/// The type of a lock, as the program declared it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// `pthread_mutex_t`, normal or adaptive.
    #[default]
    Mutex,
    /// Recursive.
    RecursiveMutex,
    /// Error-checking.
    ErrorCheckMutex,
    /// Robust, priority-inheriting, priority-protected or process-shared.
    SpecialMutex,
    /// `pthread_rwlock_t`.
    RwLock,
    /// `pthread_spinlock_t`.
    SpinLock,
    /// A word that threads sleep on by the kernel's futex calls: a lock's, a condition variable's, any.
    Futex,
}

/// One lock.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Lock {
    /// Where it lies.
    pub address: u64,
    /// Type.
    pub kind: LockKind,
    /// A name for people: the symbol (`cache_lock`, `table+24`), or where it was made, or where it is mostly taken.
    pub name: String,
    /// Its variable, if it is one (with the module it is in).
    pub symbol: Option<String>,
    /// The stack of the call that made it (`pthread_mutex_init`), if there was one.
    pub created: Option<StackId>,
    /// All its acquisitions.
    pub usage: Usage,
    /// Wait and hold time over the run, in equal steps of [`Lock::step_ns`].
    pub over_time: Vec<Step>,
    /// Length of a step.
    pub step_ns: u64,
}

/// One step of a lock's course.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// Acquisitions that ended in it.
    #[serde(default)]
    pub acquisitions: u64,
    /// Of them, contended.
    pub contended: u64,
    /// Time that threads waited.
    pub wait_ns: u64,
}

/// A place in the program that takes a lock.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Site {
    /// The lock.
    pub lock: LockId,
    /// The frame that called the lock function, with what was inlined there; innermost first. C++'s and Rust's lock
    /// classes are left out where debug information tells.
    pub frames: Vec<FrameId>,
    /// For reading (readers-writer locks only).
    pub reader: bool,
    /// Whether it is a condition variable's wait, which acquires the mutex again.
    pub after_wait: bool,
    /// Its acquisitions.
    pub usage: Usage,
    /// The stacks of its waits, with count and wait time; those that were kept.
    pub stacks: Vec<StackUsage>,
}

/// One stack's part of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StackUsage {
    /// The stack.
    pub stack: StackId,
    /// Waits, scaled up by [`Recording::stack_one_in`].
    pub waits: u64,
    /// Their time, scaled up too.
    pub wait_ns: u64,
}

/// What happened at a lock, a site, or in a thread.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Acquisitions, readers' included.
    pub acquisitions: u64,
    /// Of them, by readers.
    pub reads: u64,
    /// Of them, not to be had at once.
    pub contended: u64,
    /// Attempts that failed: `trylock`, time-outs.
    pub failed: u64,
    /// Waits of the contended acquisitions, and of those given up at their time. Exact.
    pub wait: Distribution,
    /// From acquisition to release, of a sample; of a lock, each site's weighed by its acquisitions.
    pub hold: Distribution,
    /// Time held in total, scaled up from the sample; of a lock that one thread has at a time not more than the run.
    pub hold_total_ns: u64,
    /// What happened inside the lock, where that is known.
    pub events: Events,
}

/// What happened inside a lock; sums over the contended acquisitions and, of steals, over the others, too. `None`:
/// unknown.
///
/// Turnwise's locks tell all of it, each as far as it can happen there: the spin locks never sleep, hand over or look
/// at their owner. The C library's tell nothing: there the thread's voluntary context switches stand for sleeps, in
/// waits that were long enough to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Events {
    /// Sleeps, of the waits [`Events::watched`]; one wait may have several.
    pub sleeps: Option<u64>,
    /// Acquisitions past threads that slept for it.
    pub steals: Option<u64>,
    /// Acquisitions by a promised turn.
    pub handoffs: Option<u64>,
    /// Spins that ended with the lock.
    pub spins_won: Option<u64>,
    /// Spins not begun or given up since the owner was off its CPU, or since a sleeper went first.
    pub spins_off_cpu: Option<u64>,
    /// Spins given up since their time was spent.
    pub spins_timed_out: Option<u64>,
    /// Waits whose sleeps are known: if fewer than were contended, there may have been more sleeps.
    pub watched: u64,
}

/// How long something took, how often.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The greatest.
    pub max_ns: u64,
    /// Upper bound of a bucket (ns, inclusive) and number of values in it; ascending, without empty ones.
    pub buckets: Vec<(u64, u64)>,
}

/// One wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Episode {
    /// Who waited.
    pub thread: ThreadId,
    /// At which call site (which names the lock).
    pub site: SiteId,
    /// The whole stack, if it was taken.
    pub stack: Option<StackId>,
    /// When the wait began.
    pub began_ns: u64,
    /// When it had the lock (or gave up).
    pub acquired_ns: u64,
    /// When it released it; `None`: not seen.
    pub released_ns: Option<u64>,
    /// Who held the lock when the wait began, and where that thread had taken it.
    pub holder: Option<(ThreadId, SiteId)>,
    /// False: it gave up.
    pub acquired: bool,
}

/// Waits at one site for a holder from one site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Blocked {
    /// Who waited.
    pub waiter: SiteId,
    /// Who had it.
    pub holder: SiteId,
    /// How often.
    pub waits: u64,
    /// How long.
    pub wait_ns: u64,
    /// Of the waits, those at whose beginning somebody looked whether the holder was on a CPU; scaled up.
    #[serde(default)]
    pub looked: u64,
    /// Of those, the ones in which it was not: it slept, or waited for a CPU. `None`: nobody looked.
    pub holder_off_cpu: Option<u64>,
}

/// A condition variable.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Condition {
    /// Where it lies.
    pub address: u64,
    /// As [`Lock::name`].
    pub name: String,
    /// The mutex that its waits release.
    pub mutex: Option<LockId>,
    /// Waits.
    pub waits: u64,
    /// Waits that ended by their time.
    pub timed_out: u64,
    /// `pthread_cond_signal`.
    pub signals: u64,
    /// `pthread_cond_broadcast`.
    pub broadcasts: u64,
    /// Woken threads that waited again on the same variable without having released the mutex in between: they found
    /// nothing.
    pub woken_for_nothing: u64,
    /// How long waits took.
    pub wait: Distribution,
}

/// Two locks taken in both orders: a deadlock that may come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Inversion {
    /// Taken first here, second there.
    pub a: LockId,
    /// Taken second here, first there.
    pub b: LockId,
    /// Where `b` was taken under `a`.
    pub b_under_a: SiteId,
    /// Where `a` was taken under `b`.
    pub a_under_b: SiteId,
}

/// A circle of waits: each thread waits for a lock that the next one has, and the last for one that the first has.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Deadlock {
    /// In that order; one alone waits for a lock that it has itself.
    pub waits: Vec<StuckWait>,
    /// It is not known who has the locks (readers, say), but all threads that take locks are in `waits`.
    #[serde(default)]
    pub all_wait: bool,
}

/// One wait of a [`Deadlock`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StuckWait {
    /// Who waits: name and number in the system.
    pub thread: String,
    /// The name of the lock that it waits for.
    pub lock: String,
    /// The same lock in [`Profile::locks`], if it is there.
    pub lock_id: Option<LockId>,
    /// Where it waits, if that is known.
    pub place: Option<String>,
    /// Where the next thread took the lock, if that is known.
    pub taken: Option<String>,
    /// How long it had waited at the end of the recording, if that is known.
    pub wait_ns: Option<u64>,
}

/// Locks on one cache line: taking one slows the others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SharedLine {
    /// Address of the line (64 bytes).
    pub line: u64,
    /// The locks on it, busiest first.
    pub locks: Vec<LockId>,
}

/// The recorded locks on a simulated machine, a thread on each CPU: `--what-if-cpus`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Scaling {
    /// The simulated machine: name and title.
    pub machine: String,
    /// Of the simulator's chance.
    pub seed: u64,
    /// The model beside what was recorded.
    pub check: ScalingCheck,
    /// The forecast for each design of locks.
    pub designs: Vec<Design>,
}

impl Scaling {
    /// Returns whether the model is off by so much where it can be checked that it says nothing.
    #[must_use]
    pub fn is_off(&self) -> bool {
        const MOST: f64 = 0.2;
        self.check.error().is_none_or(|error| error.abs() > MOST)
    }
}

impl ScalingCheck {
    /// By what share the model gives more (or less) than was recorded; `None`: nothing was recorded.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        Some(self.model_per_s / self.recorded_per_s - 1.0).filter(|error| error.is_finite())
    }
}

/// How far the model is off where that can be seen.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScalingCheck {
    /// Threads that were there at once.
    pub threads: u32,
    /// CPUs that they could use.
    pub cpus: u32,
    /// As recorded.
    pub recorded_per_s: f64,
    /// As the model has it, with the locks that the program ran on.
    pub model_per_s: f64,
}

/// One design of locks over numbers of CPUs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Design {
    /// Which locks, as the second half of "with …".
    pub name: String,
    /// In few words.
    pub title: String,
    /// By CPUs, ascending.
    pub points: Vec<ScalingPoint>,
    /// The first number of CPUs at which threads wait for one lock for more than half their time, and the lock.
    pub wall: Option<(u32, LockId)>,
}

/// One forecast.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// CPUs, and as many threads.
    pub cpus: u32,
    /// Acquisitions a second.
    pub acquisitions_per_s: f64,
    /// Share of the threads' time that they wait for locks.
    pub waiting: f64,
    /// The lock that they wait most for, if for any.
    pub lock: Option<LockId>,
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// Demangled; the module and offset if unknown (`libfoo.so.1+0x1234`).
    pub function: String,
    /// The program or shared object.
    pub module: String,
    /// Source file, where debug information tells.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Whether the compiler had inlined it into the next.
    pub inlined: bool,
}

impl LockKind {
    /// The kind in a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LockKind::Mutex => "mutex",
            LockKind::RecursiveMutex => "recursive mutex",
            LockKind::ErrorCheckMutex => "error-checking mutex",
            LockKind::SpecialMutex => "special mutex",
            LockKind::RwLock => "rwlock",
            LockKind::SpinLock => "spin lock",
            LockKind::Futex => "futex",
        }
    }
}

impl Distribution {
    /// The value that a share of all lies at or below, to the width of a bucket; 0 of none.
    #[must_use]
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

    /// The mean; 0 of none.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.count).unwrap_or(0)
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
