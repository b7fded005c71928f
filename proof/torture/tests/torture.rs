//! The short form: every lock under every scenario for a moment, every broken lock caught. The long form is the binary.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use turnwise_torture::arena::Limits;
use turnwise_torture::broken::BROKEN;
use turnwise_torture::cell::{Cell, run_all};
use turnwise_torture::locks::LOCKS;
use turnwise_torture::scenarios::SCENARIOS;

const EXE: &str = env!("CARGO_BIN_EXE_turnwise-torture");

/// One session at a time: the machine is small.
static ONE: Mutex<()> = Mutex::new(());

fn as_expected(cells: &[Cell]) {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64);
    println!("seed {seed}");
    let (length, patience) = (Duration::from_secs(10), Duration::from_secs(10));
    let limits = Limits { seed, length, acquisitions: u64::MAX, patience };
    // The last lines are what a log that is cut short keeps.
    let mut wrong = String::new();
    let worst = run_all(Path::new(EXE), cells, limits, |line| {
        println!("{line}");
        if line.contains("FAILED: ") || line.contains("\nagain: ") {
            wrong = format!("{wrong}\n{line}");
        }
        Ok(())
    });
    assert_eq!(worst.expect("the binary runs"), 0, "{wrong}");
}

#[test]
fn every_lock_survives() {
    as_expected(&Cell::of_locks());
}

#[test]
fn every_broken_lock_is_caught() {
    as_expected(&Cell::of_broken());
}

#[test]
fn every_scenario_catches_a_broken_lock() {
    for scenario in SCENARIOS {
        let caught = BROKEN.iter().flat_map(|broken| broken.caught_by).any(|(name, _)| *name == scenario.name);
        assert!(caught, "no broken lock shows that {} can fail", scenario.name);
    }
}

#[test]
fn cells_have_seeds_of_their_own_that_follow_the_session() {
    let cells = Cell::of_locks();
    let mut seeds: Vec<u64> = cells.iter().map(|cell| cell.seed(1)).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), cells.len());
    assert_ne!(cells[0].seed(1), cells[0].seed(2));
}

#[test]
fn what_does_not_suit_a_lock_is_left_out() {
    let names = |lock| {
        let cells = Cell::of_locks().into_iter().filter(move |cell| cell.lock.name == lock);
        cells.map(|cell| cell.scenario.name).collect::<Vec<_>>()
    };
    let cells = Cell::of_locks();
    assert!(SCENARIOS.iter().all(|s| cells.iter().any(|cell| cell.scenario.name == s.name)), "one suits no lock");
    assert!(names("mutex").contains(&"storm") && !names("mutex").contains(&"torn-reads"));
    assert!(!names("mutex").contains(&"shared") && !names("rwsem").contains(&"storm"));
    assert!(!names("mcs").contains(&"timed") && names("mcs").contains(&"destroy"));
}

#[test]
fn every_lock_has_a_name_of_its_own() {
    let mut names: Vec<_> = LOCKS.iter().chain(BROKEN.iter().map(|b| &b.lock)).map(|lock| lock.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

fn run(flags: &[&str]) -> (Option<i32>, String) {
    let out = Command::new(EXE).args(flags).output().expect("the binary runs");
    (out.status.code(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

#[test]
fn a_hang_says_who_waits_and_exits_3() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let flags = ["--here", "--lock", "lost-wake-up", "--scenario", "sleepy", "--seconds", "60", "--patience", "3"];
    let (code, output) = run(&flags);
    assert_eq!(code, Some(3), "{output}");
    assert!(output.contains("Acquires") && output.contains("lock 0: 0x"), "{output}");
}

/// Without the watchdog's allowance, one try in two fails: a thread that makes progress before its poll hides it.
#[test]
fn a_process_that_was_stopped_does_not_hang() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let flags = ["--here", "--lock", "mutex", "--scenario", "sleepy", "--seconds", "9", "--patience", "5"];
    let child = Command::new(EXE).args(flags).stdout(Stdio::piped()).spawn().expect("the binary runs");
    let signal = |signal| {
        // SAFETY: the child is not waited for yet, so the number is still its own.
        assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
    };
    std::thread::sleep(Duration::from_secs(1));
    signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(7));
    signal(libc::SIGCONT);
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn bad_flags_say_what_there_is() {
    let (code, output) = run(&["--lock", "mutexx"]);
    assert_eq!(code, Some(2));
    assert!(output.contains("mutexx") && output.contains("ttas"), "{output}");
    let (code, output) = run(&["--here"]);
    assert_eq!(code, Some(2));
    assert!(output.contains("--here takes one"), "{output}");
    assert_eq!(run(&["--seconds", "-1"]).0, Some(2));
}

#[test]
fn a_run_is_repeatable_by_its_seed_and_lists_what_there_is() {
    let (code, output) = run(&["--list"]);
    assert_eq!(code, Some(0));
    assert!(SCENARIOS.iter().all(|scenario| output.contains(scenario.name)), "{output}");
    let (code, output) = run(&["--here", "--lock", "ttas", "--scenario", "try", "--seed", "7", "--seconds", "0.05"]);
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("seed 7"), "{output}");
}

#[test]
fn a_full_disk_is_complained_of_and_a_closed_pipe_is_not() {
    let list = |out: Stdio| {
        let run = Command::new(EXE).arg("--list").stdout(out).stderr(Stdio::piped()).output().expect("it runs");
        (run.status.code(), String::from_utf8_lossy(&run.stderr).into_owned())
    };
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let (code, complaint) = list(full.into());
    assert_eq!(code, Some(2), "{complaint}");
    assert!(complaint.contains("cannot write to standard output: No space left"), "{complaint}");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    assert_eq!(list(writer.into()), (Some(0), String::new()));
}
