//! `turnwise why` of processes that run without any of our libraries.

use crate::common::{compiled, executable, expect, expect_complaint, output, scratch, text, turnwise};
use crate::top::LONG;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A program that ends with the value.
struct Outside(Child);

impl Outside {
    fn start(program: &Path, arguments: &[&str]) -> Outside {
        Outside(Command::new(program).args(arguments).stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Returns the report and what is in it as JSON, once it has this status and all these parts.
    #[track_caller]
    fn why(&self, status: i32, parts: &[&str]) -> (String, Value) {
        let report = why(&self.pid(), status, parts);
        let (line, _) = expect(status, &["why", "--json", &self.pid()]);
        (report, serde_json::from_str(&line).unwrap())
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn why(pid: &str, status: i32, parts: &[&str]) -> String {
    let begun = Instant::now();
    loop {
        let answer = output(&mut turnwise(&["why", pid]));
        let report = text(&answer.stdout);
        if answer.status.code() == Some(status) && parts.iter().all(|part| report.contains(part)) {
            return report;
        }
        assert!(begun.elapsed() < LONG, "{parts:?} in:\n{answer:?}\n{report}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the threads that wait, as (wanted, lock, the holder's number).
fn waits(answer: &Value) -> Vec<(&str, &str, Option<u64>)> {
    let waits = answer["processes"][0]["waits"].as_array().unwrap().iter().map(|thread| &thread["waits_for"]);
    waits.map(|wait| (word(wait, "wanted"), word(wait, "lock"), wait["holder_tid"].as_u64())).collect()
}

fn word<'a>(wait: &'a Value, field: &str) -> &'a str {
    wait[field].as_str().unwrap()
}

#[test]
fn a_deadlock_of_any_kind_of_mutex_is_named_with_both_stacks() {
    let directory = scratch();
    let program = compiled(directory.path(), "outside");
    for kind in ["plain", "recursive", "robust"] {
        let stuck = Outside::start(&program, &["circle", kind]);
        let parts = ["DEADLOCK: 2 threads wait for each other", "2 of 3 threads wait for locks"];
        let (report, answer) = stuck.why(3, &parts);
        for part in ["for left (mutex 0x", "for right (mutex 0x", "left_first (outside.c:", "right_first (outside.c:"] {
            assert!(report.contains(part), "{kind}: {part:?} in:\n{report}");
        }
        let stacks = report.matches("start_thread").count() + report.matches("clone").count();
        assert!(stacks >= 2, "{kind}: stacks go to where the threads began:\n{report}");
        assert_eq!((&answer["deadlock"], waits(&answer).len()), (&true.into(), 2), "{kind}");
    }
}

#[test]
fn it_takes_less_than_a_second() {
    let directory = scratch();
    let stuck = Outside::start(&compiled(directory.path(), "outside"), &["circle"]);
    stuck.why(3, &["DEADLOCK"]);
    // On a machine that stalls occasionally, not every time.
    let in_time = |_: i32| {
        let begun = Instant::now();
        expect(3, &["why", &stuck.pid()]);
        println!("{:?}", begun.elapsed());
        begun.elapsed() < Duration::from_secs(1)
    };
    assert!((0..30).any(in_time), "it takes more than a second");
}

#[test]
fn a_deadlock_of_a_stripped_program_is_named_too() {
    let directory = scratch();
    let program = compiled(directory.path(), "outside");
    assert!(Command::new("strip").arg(&program).status().expect("binutils").success());
    let (report, answer) = Outside::start(&program, &["circle"]).why(3, &["DEADLOCK: 2 threads wait for each other"]);
    assert!(report.matches("outside+0x").count() >= 2, "{report}");
    let holders: Vec<_> = waits(&answer).into_iter().map(|(wanted, _, holder)| (wanted, holder.is_some())).collect();
    assert_eq!(holders, [("mutex", true); 2], "{report}");
}

#[test]
fn a_thread_that_joins_one_that_waits_for_its_lock_is_in_a_deadlock() {
    let directory = scratch();
    let stuck = Outside::start(&compiled(directory.path(), "outside"), &["join"]);
    let (report, _) = stuck.why(3, &["DEADLOCK: 2 threads wait for each other"]);
    for part in [" to end\n", "at joins_with_left (outside.c:", "for left (mutex 0x"] {
        assert!(report.contains(part), "{part:?} in:\n{report}");
    }
}

#[test]
fn who_holds_a_lock_for_long_is_named_with_its_stack() {
    let directory = scratch();
    let program = compiled(directory.path(), "outside");
    for kind in ["plain", "recursive", "robust", "inherit"] {
        let slow = Outside::start(&program, &["hold", kind]);
        let (report, answer) = slow.why(0, &["1 thread waits for outside "]);
        for part in ["for left (mutex 0x", "which waits for no lock", "holds_left (outside.c:"] {
            assert!(report.contains(part), "{kind}: {part:?} in:\n{report}");
        }
        assert_eq!(answer["processes"][0]["threads"], 3, "{kind}: {report}");
        assert!(matches!(waits(&answer)[..], [("mutex", "left", Some(_))]), "{kind}: {answer}");
    }
}

#[test]
fn the_writer_that_has_a_lock_is_named_and_readers_are_not_known() {
    let directory = scratch();
    let program = compiled(directory.path(), "outside");
    let parts = ["2 threads wait for outside ", "for table (write 0x", "for table (read 0x", "writes (outside.c:"];
    let (report, answer) = Outside::start(&program, &["writer"]).why(0, &parts);
    let addresses: Vec<_> = answer["processes"][0]["waits"].as_array().unwrap().iter().collect();
    assert_eq!(addresses[0]["waits_for"]["address"], addresses[1]["waits_for"]["address"], "{report}");
    let parts = ["The owner of what these wait for is unknown:", "for table (write 0x"];
    let (_, answer) = Outside::start(&program, &["reader"]).why(0, &parts);
    assert!(matches!(waits(&answer)[..], [("write", "table", None)]), "{answer}");
}

#[test]
fn events_have_no_owner() {
    let directory = scratch();
    let idle = Outside::start(&compiled(directory.path(), "outside"), &["events"]);
    // Whether it is a semaphore only the names of the C library's own functions tell, which may be left out.
    let unknown = "The owner of what these wait for is unknown:";
    let parts = ["0 of 3 threads wait for locks", unknown, "(condition variable 0x", "for empty ("];
    let (report, answer) = idle.why(0, &parts);
    assert!(!report.contains("mutex") && waits(&answer).len() == 2, "{report}");
    assert!(waits(&answer).iter().all(|(.., holder)| holder.is_none()), "{answer}");
}

/// This test waits itself: it is a program on the locks of Rust's standard library.
#[test]
fn of_a_lock_of_rust_no_owner_is_known() {
    static TAKEN: std::sync::Mutex<u64> = std::sync::Mutex::new(0);
    let (end, ended) = channel::<()>();
    let (taken, is_taken) = channel();
    let holder = std::thread::spawn(move || {
        let _guard = TAKEN.lock().unwrap();
        taken.send(()).unwrap();
        let _ = ended.recv();
    });
    is_taken.recv().unwrap();
    let waiter = std::thread::spawn(|| *TAKEN.lock().unwrap());
    let report = why(&std::process::id().to_string(), 0, &["TAKEN", "(std::sync::Mutex 0x"]);
    let owner = report.lines().find(|line| line.contains("has it"));
    drop(end);
    holder.join().unwrap();
    waiter.join().unwrap();
    assert_eq!(owner, None, "{report}");
    assert!(report.contains("The owner of what these wait for is unknown:"), "{report}");
}

#[test]
fn what_is_no_process_of_ones_own_is_refused() {
    expect_complaint(2, &["why", "2147483647"], &["no process has the id 2147483647"]);
    expect_complaint(2, &["why", "no-such-program-runs"], &["turnwise why PID"]);
    let directory = scratch();
    let script = format!("#!/bin/sh\nexec {} why $$\n", env!("CARGO_BIN_EXE_turnwise"));
    let own = executable(directory.path(), "own", script.as_bytes());
    let answer = output(&mut Command::new(own));
    let report = text(&answer.stdout);
    assert!(answer.status.success() && report.contains(" threads wait for locks"), "{answer:?}");
    assert!(report.contains(": 0 of "), "it runs: {report}");
}

#[test]
fn a_process_that_ends_meanwhile_is_not_waited_for() {
    let directory = scratch();
    let program: PathBuf = compiled(directory.path(), "outside");
    for tenths in "0123456789".chars().cycle().take(40) {
        let mut ending = Outside::start(&program, &["circle", "ends", &tenths.to_string()]);
        let answer = output(&mut turnwise(&["why", &ending.pid()]));
        let reported = text(&answer.stderr);
        let is_gone =
            ["ended meanwhile", "no memory of its own", "has ended"].iter().any(|part| reported.contains(part));
        assert!(answer.status.code() == Some(2) && is_gone, "{answer:?}");
        ending.0.wait().unwrap();
    }
}

/// 32-bit programs have other calls and other locks.
const NARROW: &str = "
__asm__(\".globl _start\\n_start: mov $29, %eax\\nint $0x80\\njmp _start\\n\");
";

#[test]
fn a_32_bit_program_is_refused() {
    let directory = scratch();
    let (source, program) = (directory.path().join("narrow.c"), directory.path().join("narrow"));
    std::fs::write(&source, NARROW).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-m32", "-nostdlib", "-static", "-o"]).arg(&program).arg(&source).stderr(Stdio::null());
    let is_built = cfg!(target_arch = "x86_64") && compiler.status().unwrap().success();
    let Some(child) = is_built.then(|| Command::new(&program).spawn().ok()).flatten() else {
        eprintln!("skipped: no 32-bit programs here");
        return;
    };
    let narrow = Outside(child);
    expect_complaint(2, &["why", &narrow.pid()], &["is a 32-bit program", "gdb -p"]);
}
