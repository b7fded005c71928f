//! Real-time threads of different priorities on the same CPUs: in whatever step of a lock's protocol a low-priority
//! thread is preempted, a high-priority thread that arrives lets it continue, by sleeping. One that only yielded, or
//! spun, would wait for ever.
//!
//! Each lock has its own process, which the kernel ends when a real-time thread has run for a second without sleeping.
#![cfg(all(target_os = "linux", feature = "native", feature = "spin", not(any(miri, turnwise_portable))))]

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Mutex as Serial;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};
use turnwise::osq::Osq;
use turnwise::platform::native::end_exit_key;
use turnwise::platform::{Native, Platform as _};
use turnwise::{Condvar, FairSemaphore, LockRef, Mutex, ReentrantMutex, RwSem, Semaphore, SeqRwLock};

/// The variable that says which lock's process this is, and whether its threads have slots.
const VARIABLE: &str = "TURNWISE_REALTIME";
const RUN: Duration = Duration::from_millis(300);
/// The time limit, for a process that neither ends nor runs.
const LIMIT: Duration = Duration::from_secs(60);
/// The longest time that a real-time thread may run without sleeping.
const RUN_MAX_US: libc::rlim_t = 1_000_000;

static STOP: AtomicBool = AtomicBool::new(false);
/// The number of sections entered.
static SECTIONS: AtomicU64 = AtomicU64::new(0);

/// A thread's own random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn us_below(&mut self, limit: u64) -> Duration {
        Duration::from_nanos(self.below(limit * 1000))
    }
}

/// Runs a critical section: mostly short, now and then long enough that waiters stop spinning. Some owners sleep in it,
/// so that a high-priority owner also comes back to release the lock while a newcomer is in the middle of a step.
fn section(random: &mut Random) {
    SECTIONS.fetch_add(1, Relaxed);
    match random.below(16) {
        0 => (0..random.below(60_000)).for_each(|round| _ = black_box(round)),
        1 | 2 => sleep(random.us_below(60)),
        _ => (0..random.below(60)).for_each(|round| _ = black_box(round)),
    }
}

type Operation = fn(&mut Random);

/// Puts the calling thread under SCHED_FIFO, on one CPU; returns whether that is permitted.
fn become_realtime(priority: i32, cpu: usize) -> bool {
    bind(0, cpu);
    // SAFETY: zero bytes are a valid parameter: it consists of numbers, of which musl has more.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = priority;
    // SAFETY: the parameters are initialised, and 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) == 0 }
}

/// Binds a thread to one CPU; 0 is the calling thread.
fn bind(thread: i32, cpu: usize) {
    // SAFETY: zero bytes are an empty set, which is large enough for the CPU: the number came from one.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(thread, size_of_val(&set), &set);
    }
}

/// Returns the first and the last CPU that the process may use.
fn two_cpus() -> (usize, usize) {
    // SAFETY: zero bytes are an empty set, which is then filled.
    let set = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
        set
    };
    // SAFETY: all the numbers are within the set.
    let allowed = (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) });
    let allowed: Vec<_> = allowed.collect();
    (allowed[0], allowed[allowed.len() - 1])
}

/// Runs a low-priority thread, which uses the lock most of the time.
fn low(cpu: usize, operation: Operation) {
    assert!(become_realtime(1, cpu));
    let mut random = Random(0x9e37_79b9 + cpu as u64);
    while !STOP.load(Relaxed) {
        (0..1 + random.below(32)).for_each(|_| operation(&mut random));
        sleep(random.us_below(60));
    }
}

/// Runs a high-priority thread, which arrives at any time and keeps the thread it preempts off the CPU for a while.
fn high(priority: i32, cpu: usize, id: &AtomicI32, operation: Operation) {
    assert!(become_realtime(priority, cpu));
    // SAFETY: no arguments.
    id.store(unsafe { libc::gettid() }, Relaxed);
    let mut random = Random(0x1234_5678 + priority as u64);
    while !STOP.load(Relaxed) {
        sleep(random.us_below(60));
        match random.below(3) {
            0 => operation(&mut random),
            1 => (0..random.below(64)).for_each(|_| operation(&mut random)),
            _ => (0..random.below(60_000)).for_each(|round| _ = black_box(round)),
        }
    }
}

/// Moves a thread back and forth, so that it also arrives on a CPU while it waits.
fn mover(cpus: (usize, usize), id: &AtomicI32) {
    assert!(become_realtime(4, cpus.1));
    let mut random = Random(0xdead_beef);
    while !STOP.load(Relaxed) {
        sleep(random.us_below(100));
        if id.load(Relaxed) != 0 {
            bind(id.load(Relaxed), if random.below(2) == 0 { cpus.0 } else { cpus.1 });
        }
    }
}

/// Runs the test in the lock's own process.
fn run(operation: Operation) {
    let limit = |resource, soft, hard| {
        let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        // SAFETY: an initialised limit.
        assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
    };
    limit(libc::RLIMIT_CORE, 0, 0);
    limit(libc::RLIMIT_RTTIME, RUN_MAX_US, 2 * RUN_MAX_US);
    let cpus = two_cpus();
    let ids = [AtomicI32::new(0), AtomicI32::new(0)];
    scope(|threads| {
        threads.spawn(|| low(cpus.0, operation));
        threads.spawn(|| low(cpus.1, operation));
        threads.spawn(|| high(2, cpus.0, &ids[0], operation));
        threads.spawn(|| high(3, cpus.1, &ids[1], operation));
        threads.spawn(|| mover(cpus, &ids[1]));
        sleep(RUN);
        STOP.store(true, Relaxed);
    });
    let sections = SECTIONS.load(Relaxed);
    assert!(sections > 100, "only {sections} sections were entered");
}

/// Runs a test's operation in separate processes: by threads with slots, and by threads without.
fn alone(test: &str, operation: Operation) {
    alone_by(&["slots", "no slots"], test, operation);
}

fn alone_by(kinds: &[&str], test: &str, operation: Operation) {
    /// Two at a time would only compete for the CPUs.
    static ONE: Serial<()> = Serial::new(());
    match std::env::var(VARIABLE).as_deref() {
        Ok("slots") => return run(operation),
        Ok(_) => {
            assert!(end_exit_key(), "threads get slots");
            return run(operation);
        }
        Err(_) => {}
    }
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let may = scope(|threads| threads.spawn(|| become_realtime(1, two_cpus().0)).join().expect("no panic"));
    if !may {
        println!("SKIPPED: SCHED_FIFO may not be set here (it takes CAP_SYS_NICE)");
        return;
    }
    for threads in kinds {
        let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
        // Its summary line would be counted along with ours.
        command.args(["--exact", test]).env(VARIABLE, threads).stdout(Stdio::null());
        let mut child = command.spawn().expect("this very program");
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if begin.elapsed() > LIMIT {
                child.kill().expect("a child");
                child.wait().expect("a child");
                panic!("{test}, threads with {threads}: still not at its end");
            }
            sleep(Duration::from_millis(10));
        };
        assert!(status.success(), "{test}, threads with {threads}: {status} (SIGXCPU: one ran on and never slept)");
    }
}

fn soon() -> Duration {
    Duration::from_micros(30)
}

#[test]
fn mutex() {
    static LOCK: Mutex<()> = Mutex::new(());
    alone("mutex", |random| {
        let guard = if random.below(4) == 0 { LOCK.try_lock_for(soon()) } else { Some(LOCK.lock()) };
        if guard.is_some() {
            section(random);
        }
    });
}

/// Tests the queue of the mutex's spinners in isolation: a thread that leaves it waits for one that has joined but has
/// not linked itself yet.
#[test]
fn queue_of_spinners() {
    static QUEUE: Osq<Native> = Osq::new();
    // The race is rare: one run in five caught a waiter that only yielded.
    alone_by(&["slots"; 4], "queue_of_spinners", |random| {
        let me = Native::me().expect("a slot");
        let until = Native::now() + random.below(2) * random.below(40_000);
        if QUEUE.lock(me, Some(until)).is_ok() {
            section(random);
            QUEUE.unlock(me);
        }
    });
}

#[test]
fn rwsem() {
    static LOCK: RwSem<()> = RwSem::new(());
    alone("rwsem", |random| match random.below(8) {
        0..3 => {
            let _guard = LOCK.read();
            section(random);
        }
        3..5 => {
            let _guard = LOCK.write();
            section(random);
        }
        5 => {
            let _guard = LOCK.try_write_for(soon());
            section(random);
        }
        6 => {
            let guard = LOCK.upgradable_read();
            section(random);
            let _guard = turnwise::RwSemUpgradableGuard::upgrade(guard);
            section(random);
        }
        _ => {
            let _guard = LOCK.try_read_for(soon());
            section(random);
        }
    });
}

#[test]
fn condition_variable() {
    static LOCK: Mutex<u64> = Mutex::new(0);
    static CHANGED: Condvar = Condvar::new();
    alone("condition_variable", |random| {
        let mut guard = LOCK.lock();
        *guard += 1;
        section(random);
        match random.below(4) {
            0 => CHANGED.notify_one(),
            1 => CHANGED.notify_all(),
            2 => _ = CHANGED.wait_for(&mut guard, soon()),
            _ => {
                drop(guard);
                CHANGED.notify_all();
            }
        }
    });
}

#[test]
fn lockref() {
    static LOCK: LockRef = LockRef::new(1);
    alone("lockref", |random| match random.below(4) {
        0 => {
            LOCK.get();
            section(random);
            LOCK.put();
        }
        1 => {
            if let Some(_guard) = LOCK.try_lock_for(soon()) {
                section(random);
            }
        }
        _ => {
            let _guard = LOCK.lock();
            section(random);
        }
    });
}

/// Contends for permits that are fewer than the threads that want them.
fn with_permits<const FAIR: bool>(semaphore: &Semaphore<FAIR>, random: &mut Random) {
    let many = 1 + random.below(2) as u32;
    let permits =
        if random.below(4) == 0 { semaphore.try_acquire_for(many, soon()) } else { Some(semaphore.acquire_many(many)) };
    if permits.is_some() {
        section(random);
    }
}

#[test]
fn semaphore() {
    static LOCK: Semaphore = Semaphore::new(2);
    alone("semaphore", |random| with_permits(&LOCK, random));
}

#[test]
fn fair_semaphore() {
    static LOCK: FairSemaphore = FairSemaphore::new_fair(2);
    alone("fair_semaphore", |random| with_permits(&LOCK, random));
}

#[test]
fn reentrant_mutex() {
    static LOCK: ReentrantMutex<()> = ReentrantMutex::new(());
    alone("reentrant_mutex", |random| {
        let guard = if random.below(4) == 0 { LOCK.try_lock_for(soon()) } else { Some(LOCK.lock()) };
        if guard.is_some() {
            let _again = LOCK.lock();
            section(random);
        }
    });
}

#[test]
fn seqrwlock() {
    static LOCK: SeqRwLock<[u64; 8]> = SeqRwLock::new([0; 8]);
    alone("seqrwlock", |random| match random.below(4) {
        0 => {
            let mut value = LOCK.write();
            value[0] += 1;
            section(random);
            value[7] += 1;
        }
        1 => {
            let _guard = LOCK.blocking_read();
            section(random);
        }
        _ => {
            let value = LOCK.read();
            assert_eq!(value[0], value[7]);
            section(random);
        }
    });
}
