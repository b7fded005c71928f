//! Programs whose waits are known, actually traced. They are skipped, with the reason, only if the kernel forbids it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use turnwise_futex_trace::Tracer;
use turnwise_profile::model::{Ending, Lock, LockKind, Method, Profile, Program, Site};

/// The minimum length of each wait of the program.
const EACH_NS: u64 = 10_000_000;
const STEP: Duration = Duration::from_millis(10);

fn compiled(directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/c/{name}.c"));
    let program = directory.join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]).args(flags);
    assert!(compiler.arg("-o").arg(&program).arg(source).status().unwrap().success());
    program
}

/// Returns the tracer, or `None` if this machine forbids it.
fn allowed(tracer: anyhow::Result<Tracer>) -> Option<Tracer> {
    match tracer {
        Ok(tracer) => Some(tracer),
        Err(error) => {
            let shown = format!("{error:#}");
            let remedies = ["as root", "mount -t tracefs", "no perf_event_open"];
            assert!(remedies.iter().any(|remedy| shown.contains(remedy)), "{shown}");
            eprintln!("skipped: {shown}");
            None
        }
    }
}

fn run(ending: Ending) -> Program {
    Program { command: vec!["waits".to_owned()], ending, cpus: 2, ..Program::default() }
}

/// Kills the process on drop, whatever happens.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follow(mut tracer: Tracer, mut is_over: impl FnMut() -> bool) -> turnwise_futex_trace::Trace {
    let start = Instant::now();
    while !is_over() {
        assert!(start.elapsed() < Duration::from_secs(60), "the program hangs");
        tracer.step(STEP);
    }
    tracer.finish()
}

fn lock<'a>(profile: &'a Profile, name: &str) -> (u32, &'a Lock) {
    let locks = profile.locks.iter().map(|lock| lock.name.as_str()).collect::<Vec<_>>();
    let place = locks.iter().position(|known| *known == name);
    let place = place.unwrap_or_else(|| panic!("no {name} among {locks:?}; {:?}", profile.recording.remarks));
    (place as u32, &profile.locks[place])
}

fn functions(profile: &Profile, site: &Site) -> Vec<String> {
    site.frames.iter().map(|frame| profile.frames[*frame as usize].function.clone()).collect()
}

/// Returns the number of waits at a lock that were woken, all from `await_change` and by `open_slowly`.
fn woken_waits(profile: &Profile, number: u32) -> usize {
    let at = |site: u32| &profile.sites[site as usize];
    let woken: Vec<_> = profile.episodes.iter().filter(|wait| at(wait.site).lock == number && wait.acquired).collect();
    for wait in &woken {
        assert!(wait.acquired_ns - wait.began_ns >= EACH_NS, "{wait:?}");
        assert!(functions(profile, at(wait.site)).contains(&"await_change".to_owned()));
        let (_, waker) = wait.holder.expect("its waker is known");
        assert!(functions(profile, at(waker)).contains(&"open_slowly".to_owned()));
        let stack = &profile.stacks[wait.stack.unwrap() as usize];
        let named: Vec<&str> = stack.iter().map(|frame| profile.frames[*frame as usize].function.as_str()).collect();
        assert!(named.contains(&"wait_often"), "the stack goes on to the caller: {named:?}");
    }
    woken.len()
}

fn known_waits_are_found(flags: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), "waits", flags);
    let Some(tracer) = allowed(Tracer::of_children()) else { return };
    let mut child = Guard(Command::new(&program).spawn().unwrap());
    let trace = follow(tracer, || child.0.try_wait().unwrap().is_some());
    let profile = trace.profile(run(Ending::Exited(3)));
    assert_eq!((profile.program.pid, profile.recording.method), (child.0.id(), Method::FutexTrace));
    let (number, gate) = lock(&profile, "gate");
    assert_eq!(gate.kind, LockKind::Futex);
    assert_eq!(woken_waits(&profile, number), 8, "{:?}", profile.recording.remarks);
    // The ninth lasts to the end.
    assert_eq!((gate.usage.wait.count, gate.usage.failed, gate.usage.acquisitions), (9, 0, 0));
    assert!(gate.usage.wait.sum_ns >= 8 * EACH_NS && gate.usage.wait.quantile(0.5) >= EACH_NS);
    let over_time: u64 = gate.over_time.iter().map(|step| step.wait_ns).sum();
    assert_eq!(over_time, gate.usage.wait.sum_ns);
    assert_eq!(profile.threads.len(), 2, "{:?}", profile.threads);
    let waiter = profile.threads.iter().find(|thread| thread.tid != profile.program.pid).unwrap();
    assert_eq!(waiter.usage.wait.count, 9);
    assert!(profile.frames.iter().any(|frame| frame.file.as_ref().is_some_and(|file| file.ends_with("waits.c"))));
    assert_eq!(profile.recording.records_lost, 0);
}

#[test]
fn of_a_dynamic_program() {
    known_waits_are_found(&[]);
}

#[test]
fn of_a_static_program() {
    known_waits_are_found(&["-static"]);
}

#[test]
fn of_threads_from_before_and_after_the_attaching() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), "waits", &[]);
    let mut start = Command::new(&program);
    start.arg("attach").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = Guard(start.spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let Some(tracer) = allowed(Tracer::attach(child.0.id())) else { return };
    let mut input = child.0.stdin.take().unwrap();
    input.write_all(b"go\n").unwrap();
    let is_done = AtomicBool::new(false);
    let trace = std::thread::scope(|scope| {
        scope.spawn(|| {
            let line = lines.next();
            // ORDERING done: it publishes only itself.
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(line.unwrap().unwrap(), "done");
        });
        follow(tracer, || is_done.load(Ordering::Relaxed))
    });
    let profile = trace.profile(run(Ending::Running));
    let (gate, _) = lock(&profile, "gate");
    // The first wait had begun before: it counts from the time of attaching.
    assert_eq!(woken_waits(&profile, gate), 5, "{:?}", profile.recording.remarks);
    let shown = |part: &str| profile.recording.remarks.iter().any(|remark| remark.contains(part));
    assert!(shown("1 wait had begun before the trace"), "{:?}", profile.recording.remarks);
    let (late, _) = lock(&profile, "late");
    assert_eq!(woken_waits(&profile, late), 5, "{:?}", profile.recording.remarks);
    assert_eq!(profile.threads.len(), 3, "{:?}", profile.threads);
    assert!(profile.threads.iter().all(|thread| thread.name == "waits"), "{:?}", profile.threads);
}

/// Starts `stuck`, and waits until `threads` of its threads sleep in a futex call; others have ended.
fn stuck(program: &Path, words: &[&str], threads: usize) -> Guard {
    let child = Guard(Command::new(program).args(words).spawn().unwrap());
    let begun = Instant::now();
    let futex = format!("{} 0x", libc::SYS_futex);
    let tasks = format!("/proc/{}/task", child.0.id());
    let asleep = || {
        let calls = std::fs::read_dir(&tasks).unwrap().flatten().map(|task| task.path().join("syscall"));
        calls.filter(|call| std::fs::read_to_string(call).is_ok_and(|call| call.starts_with(&futex))).count()
    };
    while asleep() != threads {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come to rest");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Checks that a deadlock is found; all threads sleep before the trace begins and after its end.
fn deadlock_is_found(flags: &[&str], words: &[&str], threads: usize) {
    let directory = tempfile::tempdir().unwrap();
    let child = stuck(&compiled(directory.path(), "stuck", flags), words, threads);
    let Some(tracer) = allowed(Tracer::attach(child.0.id())) else { return };
    let begun = Instant::now();
    let profile = follow(tracer, || begun.elapsed() > 2 * STEP).profile(run(Ending::Running));
    let remarks = &profile.recording.remarks;
    for (name, function) in [("first_lock", "take_first"), ("second_lock", "take_second")] {
        let (number, lock) = lock(&profile, name);
        assert_eq!((lock.usage.wait.count, lock.usage.wait.sum_ns), (1, profile.program.duration_ns), "{remarks:?}");
        let site = profile.sites.iter().find(|site| site.lock == number).unwrap();
        assert!(functions(&profile, site).contains(&function.to_owned()), "{:?}", functions(&profile, site));
    }
    let deadlock = &remarks[0];
    assert!(deadlock.contains(&format!("{threads} threads still waited at the end")), "{deadlock}");
    assert!(deadlock.contains("as in a deadlock") && deadlock.matches(", held by stuck ").count() == 2, "{deadlock}");
    let joins = remarks.iter().filter(|remark| remark.contains("joins")).count();
    let locks: Vec<&str> = profile.locks.iter().map(|lock| lock.name.as_str()).collect();
    if words.is_empty() {
        // The condition variable's word is somewhere in it; the join is not a lock.
        assert!(locks.len() == 3 && locks.iter().any(|name| name.starts_with("idle+")), "{locks:?}");
        assert!(deadlock.contains(" to end") && joins == 1, "{remarks:?}");
    } else {
        assert!(locks.len() == 2 && joins == 0, "{locks:?} {remarks:?}");
    }
}

#[test]
fn threads_that_sleep_all_the_time_are_in_the_profile_with_the_deadlock() {
    deadlock_is_found(&[], &[], 4);
}

#[test]
fn threads_of_a_static_program_that_sleep_all_the_time_are_in_the_profile() {
    deadlock_is_found(&["-static"], &[], 4);
}

#[test]
fn a_process_whose_first_thread_has_ended_is_traced_all_the_same() {
    deadlock_is_found(&[], &["leaves"], 2);
}

#[test]
fn waits_for_a_thread_to_end_are_distinguished() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), "stuck", &[]);
    let Some(tracer) = allowed(Tracer::of_children()) else { return };
    let mut child = Guard(Command::new(&program).arg("joins").spawn().unwrap());
    let profile = follow(tracer, || child.0.try_wait().unwrap().is_some()).profile(run(Ending::Exited(0)));
    assert!(profile.locks.is_empty() && profile.episodes.is_empty(), "{:?}", profile.locks);
    assert!(profile.threads.iter().all(|thread| thread.usage.wait.count == 0), "{:?}", profile.threads);
    let remarks = &profile.recording.remarks;
    assert!(remarks.iter().any(|remark| remark.starts_with("1 wait for threads to end (joins)")), "{remarks:?}");
}

#[test]
fn what_cannot_be_attached_to_is_named() {
    let complaint = |pid| format!("{:#}", Tracer::attach(pid).map(|_| ()).unwrap_err());
    assert!(complaint(u32::MAX).contains("no process has the id 4294967295"), "{}", complaint(u32::MAX));
    let mut ended = Command::new("true").spawn().unwrap();
    let begun = Instant::now();
    let stat = format!("/proc/{}/stat", ended.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(complaint(ended.id()).contains("no memory of its own"), "{}", complaint(ended.id()));
    ended.wait().unwrap();
    let thread = std::thread::spawn(|| {
        // The thread's number is its directory's name.
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        let tid = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
        format!("{:#}", Tracer::attach(tid).map(|_| ()).unwrap_err())
    });
    assert!(thread.join().unwrap().contains("is a thread of process"));
}
