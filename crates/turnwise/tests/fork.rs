//! Locks in a forked child for which threads waited that do not exist in the child.
#![cfg(all(target_os = "linux", feature = "native", not(any(miri, turnwise_portable))))]

use std::ptr::{from_ref, null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;
use turnwise::osq::Osq;
use turnwise::platform::{Deadline, Native, Platform};
use turnwise::rwsem::Prefer;
use turnwise::{FairSemaphore, RawLock, RawMutex, RawRwLock, RawRwSem, RawTimedLock, RawTimedRwLock, Semaphore};

/// Returns the ways to fork. Not by the bare system call under ThreadSanitizer (to which `cargo xtask check tsan`
/// passes options), whose runtime has its own locks that a child might find held for ever, nor where a child's pages
/// are not wiped, so that only a handler counts (old kernels; qemu's user mode, which accepts `MADV_WIPEONFORK`).
fn ways() -> &'static [fn() -> libc::pid_t] {
    const WAYS: [fn() -> libc::pid_t; 2] = [by_library, by_system_call];
    if is_under_tsan() || !is_wiped_in_a_child() { &WAYS[..1] } else { &WAYS }
}

fn is_under_tsan() -> bool {
    std::env::var_os("TSAN_OPTIONS").is_some()
}

/// Returns whether a child finds zeros in a page that was to be wiped, tried once.
fn is_wiped_in_a_child() -> bool {
    static IS_WIPED: OnceLock<bool> = OnceLock::new();
    *IS_WIPED.get_or_init(|| {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping of the kernel's choice, never unmapped.
        let page = unsafe { libc::mmap(null_mut(), size_of::<AtomicU32>(), access, kind, -1, 0) };
        assert_ne!(page, libc::MAP_FAILED, "no memory");
        // SAFETY: the mapping is ours, and zero bytes are a number.
        let (advised, word) = unsafe {
            (libc::madvise(page, size_of::<AtomicU32>(), libc::MADV_WIPEONFORK) == 0, &*page.cast::<AtomicU32>())
        };
        word.store(1, Relaxed);
        let is_wiped = advised && child(by_library, || word.load(Relaxed) == 0);
        if !is_wiped {
            println!("SKIPPED: children by the bare system call, since no page is wiped in a child here");
        }
        is_wiped
    })
}

fn by_library() -> libc::pid_t {
    // SAFETY: the children of these tests use locks and atomics, and leave by `_exit`.
    unsafe { libc::fork() }
}

/// Forks without the handlers of `pthread_atfork`, as `_Fork` does.
fn by_system_call() -> libc::pid_t {
    // On s390x the stack comes first.
    let (first, second) = if cfg!(target_arch = "s390x") { (0, libc::SIGCHLD) } else { (libc::SIGCHLD, 0) };
    let (first, second) = (libc::c_long::from(first), libc::c_long::from(second));
    // SAFETY: the children of these tests use locks and atomics, and leave by `_exit`; the arguments mean a `fork`.
    unsafe { libc::syscall(libc::SYS_clone, first, second, null::<u8>(), null::<u8>(), 0_usize) as libc::pid_t }
}

/// Returns how a child ended.
fn end_of(pid: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: `status` is writable.
    while unsafe { libc::waitpid(pid, &mut status, 0) } < 0 {
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "no child {pid}: {error}");
    }
    status
}

/// Returns whether `what` holds in a child. One that hangs is ended by an alarm.
fn child(fork: fn() -> libc::pid_t, what: impl FnOnce() -> bool) -> bool {
    let pid = fork();
    assert!(pid >= 0, "no child");
    if pid == 0 {
        // SAFETY: ends the process, even if `what` hangs or panics: the exit status shows which.
        unsafe {
            libc::alarm(60);
            libc::_exit(std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).map_or(3, |yes| i32::from(!yes)));
        }
    }
    end_of(pid) == 0
}

#[test]
fn every_child_is_of_another_generation_and_stays_so() {
    let own = Native::generation();
    let next = |own: u32| (0..3).all(|_| Native::generation() == own + 1);
    let ways = ways(); // queried here: a child must not allocate
    for &fork in ways {
        assert!(child(fork, || next(own)));
    }
    // From a child that has no other thread: in a child of the bare system call, a lock of the C library that another
    // thread held stays held, and `fork` would wait for it.
    assert!(child(by_library, || {
        let again = |fork| child(fork, || next(own + 1) && ways.iter().all(|&again| child(again, || next(own + 2))));
        next(own) && ways.iter().all(|&fork| again(fork)) && next(own)
    }));
    assert_eq!(Native::generation(), own);
}

#[test]
fn nobody_waits_in_a_queue_for_threads_of_the_parent() {
    static QUEUE: Osq<Native> = Osq::new();
    let (sender, receiver) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let first = std::thread::spawn(move || {
        let me = Native::me().expect("a slot is free");
        QUEUE.lock(me, None).expect("the queue was empty");
        sender.send(()).expect("the test listens");
        ended.recv().expect_err("the test says no more");
        QUEUE.unlock(me);
    });
    receiver.recv().expect("the thread tells");
    let me = Native::me().expect("a slot is free");
    assert!(QUEUE.lock(me, Some(0)).is_err(), "two are first");
    let used = || {
        let first = QUEUE.lock(me, Some(0)).is_ok();
        if first {
            QUEUE.unlock(me);
        }
        first && QUEUE.is_empty()
    };
    assert!(ways().iter().all(|&fork| child(fork, || used() && used())));
    drop(end);
    first.join().expect("it does not panic");
    assert!(used());
}

/// Sets flags in the word with which a lock begins, as a thread of this process does.
fn flag<L>(lock: &L, flags: u32, generation_at: u32) {
    // SAFETY: the word comes first in a `repr(C)` lock.
    let word = unsafe { &*from_ref(lock).cast::<AtomicU32>() };
    word.fetch_or(flags | Native::generation() << generation_at, Relaxed);
}

/// Puts a lock at a fresh address: a hand-off may have lapsed for a thread kept from an earlier lock there.
fn new_place<L>(lock: L) -> &'static L {
    Box::leak(Box::new(lock))
}

/// Returns the deadline of a wait: soon here, but late in a child, where the wait should end before it.
fn soon() -> Deadline {
    static HERE: OnceLock<u32> = OnceLock::new();
    let id = std::process::id();
    let is_here = *HERE.get_or_init(|| id) == id;
    Deadline::after::<Native>(Duration::from_millis(if is_here { 10 } else { 60_000 }))
}

#[test]
fn a_mutex_handed_off_to_a_thread_of_the_parent_is_free() {
    const WAITERS: u32 = 1 << 30;
    for pending in [1 << 31 | WAITERS, 1 << 29, 1 << 29 | WAITERS] {
        let lock = new_place(RawMutex::new());
        flag(lock, pending, 16);
        assert!(lock.is_locked() && !lock.try_lock() && !lock.lock_until(soon()));
        for &fork in ways() {
            assert!(child(fork, || !lock.is_locked() && lock.try_lock()));
            assert!(child(fork, || lock.lock_until(soon())));
        }
    }
}

#[test]
fn a_mutex_whose_owner_forks_leaves_no_request_of_others() {
    let lock = RawMutex::new();
    lock.lock();
    flag(&lock, 1 << 31 | 1 << 30, 16);
    let released = || {
        // SAFETY: the forking thread has the lock.
        unsafe { lock.unlock() };
        !lock.is_locked() && lock.try_lock()
    };
    assert!(ways().iter().all(|&fork| child(fork, released)));
    assert!(!released(), "the hand-off waiter is here");
}

/// Checks that all `tries` succeed in a child, and none of them here.
fn all_void(flags: u32, tries: &[fn(&RawRwSem) -> bool]) {
    for attempt in tries {
        let lock = new_place(RawRwSem::new());
        flag(lock, flags, 21);
        assert!(!attempt(lock));
        assert!(ways().iter().all(|&fork| child(fork, || attempt(lock))));
    }
}

#[test]
fn a_readers_writer_lock_handed_off_to_threads_of_the_parent_is_free() {
    const READERS: u32 = 1 << 30;
    const HANDOFF: u32 = 1 << 29;
    const WRITERS: u32 = 1 << 31;
    let readers: [fn(&RawRwSem) -> bool; 3] =
        [RawRwSem::try_read, |lock| lock.read_until(soon()), |lock| lock.read_with(Prefer::Writers, Some(soon()))];
    let others: [fn(&RawRwSem) -> bool; 4] = [
        RawRwSem::try_lock,
        |lock| lock.lock_until(soon()),
        RawRwSem::try_upgradable_read,
        |lock| lock.upgradable_read_until(soon()),
    ];
    for flags in [HANDOFF | READERS, HANDOFF | WRITERS, HANDOFF | READERS | WRITERS] {
        all_void(flags, &readers);
        all_void(flags, &others);
    }
    all_void(WRITERS | READERS, &readers[..1]);
}

/// Checks that permits can be acquired in a child past a queue of threads of the parent, but not here.
fn line_is_gone<const FAIR: bool>(semaphore: Semaphore<FAIR>) {
    const WAITERS: u32 = 1 << 31;
    const FIRST: u32 = 1 << 30;
    const HANDOFF: u32 = 1 << 28;
    flag(&semaphore, WAITERS | FIRST | HANDOFF, 24);
    let tries = || semaphore.try_acquire().is_some();
    let waits = || semaphore.try_acquire_until(2, soon()).is_some();
    assert!(!tries() && !waits());
    for &fork in ways() {
        assert!(child(fork, tries) && child(fork, waits));
    }
}

#[test]
fn a_semaphore_has_no_line_of_threads_of_the_parent() {
    line_is_gone(Semaphore::new(2));
    line_is_gone(FairSemaphore::new_fair(2));
}

/// Returns whether a thread of this process sleeps now.
fn is_asleep(tid: libc::pid_t) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).expect("Linux tells of each thread");
    stat.rsplit(") ").next().expect("its name is in brackets").starts_with('S')
}

/// Lets a thread sleep for a mutex with a hand-off pending to another, and its handler, with `flags`, fork. Returns how
/// the child ended: with the mutex, or by its alarm; `None` if the hand-off lapsed before the handler ran.
fn wait_in_a_child_of_a_handler(flags: libc::c_int, wait: fn(&RawMutex)) -> Option<libc::c_int> {
    const PENDING: u32 = 1 << 30 | 1 << 31;
    static CHILD: AtomicI32 = AtomicI32::new(0);
    static WAITS: AtomicBool = AtomicBool::new(false);
    extern "C" fn forks(_: libc::c_int) {
        if !WAITS.load(Relaxed) {
            return CHILD.store(libc::pid_t::MAX, Relaxed);
        }
        let fork = ways().last().expect("there is a way");
        let pid = fork();
        if pid == 0 {
            // SAFETY: ends the child if it waits for ever.
            unsafe { libc::alarm(2) };
        }
        CHILD.store(if pid == 0 { 0 } else { pid }, Relaxed);
    }
    ways(); // initialised now, not in the handler
    CHILD.store(-1, Relaxed);
    // SAFETY: all bytes zero are an empty mask and no flags; the handler makes system calls and stores.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = forks as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut()), 0);
    }
    let lock = RawMutex::new();
    flag(&lock, PENDING, 16);
    // SAFETY: queries the caller's ids.
    let (pid, tid) = unsafe { (libc::getpid(), libc::gettid()) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !WAITS.load(Relaxed) || !is_asleep(tid) {
                std::thread::yield_now();
            }
            // SAFETY: the thread outlives this one.
            assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, libc::SIGUSR2) }, 0);
            while CHILD.load(Relaxed) < 0 {
                std::thread::yield_now();
            }
        });
        WAITS.store(true, Relaxed);
        wait(&lock);
        WAITS.store(false, Relaxed);
        if CHILD.load(Relaxed) == 0 {
            // SAFETY: ends the child, which is the only one that finds 0.
            unsafe { libc::_exit(0) };
        }
    });
    let child = CHILD.load(Relaxed);
    (child != libc::pid_t::MAX).then(|| end_of(child))
}

/// A sleeper checks again in a child that its signal handler forked: the word has not changed though the hand-off is
/// void, but the sleep has an end, since a hand-off may lapse, and so the kernel does not restart it.
#[test]
fn a_child_of_a_signal_handler_looks_again() {
    if is_under_tsan() {
        println!("SKIPPED: a child by the bare system call may hang in ThreadSanitizer's runtime");
        return;
    }
    let in_time = |lock: &RawMutex| assert!(lock.lock_until(Deadline::after::<Native>(Duration::from_secs(60))));
    let forever = RawMutex::lock as fn(&RawMutex);
    for (flags, wait) in [(0, forever), (libc::SA_RESTART, in_time), (libc::SA_RESTART, forever)] {
        let status = (0..50).find_map(|_| wait_in_a_child_of_a_handler(flags, wait)).expect("one was in time");
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "it has the mutex: {status:#x}");
    }
}
