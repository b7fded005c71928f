//! `top`, `why` and `profile --pid` on a program under `run` whose locks are not pthread's: those of Rust's std.

use crate::common::{expect_of, output, scratch, shown, text};
use crate::top::{LONG, Running};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Threads fight for a mutex, and one waits on a condition variable until the end.
const BUSY: &str = "
use std::sync::{Condvar, Mutex};
use std::thread::{scope, sleep};
use std::time::Duration;
static ACCOUNTS: Mutex<u64> = Mutex::new(0);
static NEVER: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
#[inline(never)]
fn transfer() {
    let mut accounts = ACCOUNTS.lock().unwrap();
    sleep(Duration::from_millis(2));
    *accounts += 1;
}
#[inline(never)]
fn await_work() {
    let guard = NEVER.0.lock().unwrap();
    let _unused = NEVER.1.wait(guard).unwrap();
}
fn main() {
    scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| loop { transfer() });
        }
        scope.spawn(await_work);
    });
}
";

/// Two threads take two mutexes in opposite order; the first one waits for their end.
const DEADLOCK: &str = "
use std::sync::{Barrier, Mutex};
static LEFT: Mutex<u64> = Mutex::new(0);
static RIGHT: Mutex<u64> = Mutex::new(0);
#[inline(never)]
fn take_both(first: &Mutex<u64>, second: &Mutex<u64>, barrier: &Barrier) {
    let _first = first.lock().unwrap();
    barrier.wait();
    let _second = second.lock().unwrap();
}
fn main() {
    let both_have_one: &Barrier = Box::leak(Box::new(Barrier::new(2)));
    let one = std::thread::spawn(|| take_both(&LEFT, &RIGHT, both_have_one));
    let other = std::thread::spawn(|| take_both(&RIGHT, &LEFT, both_have_one));
    one.join().unwrap();
    other.join().unwrap();
}
";

/// A program that posts a semaphore late, for a thread that waits, and one that waits for that one's end.
const SEMAPHORE: &str = "
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static sem_t items;
__attribute__((noinline)) static void *consume(void *unused) { while (sem_wait(&items) == 0) ; return unused; }
static void *produce(void *unused) { for (;;) { usleep(5000); sem_post(&items); } return unused; }
int main(void) {
    pthread_t thread, other;
    sem_init(&items, 0, 0);
    pthread_create(&thread, 0, consume, 0);
    pthread_create(&other, 0, produce, 0);
    pthread_join(thread, 0);
    return 0;
}
";

/// Builds a program in Rust with this source.
fn rust(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (file, program) = (folder.join(format!("{name}.rs")), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("rustc");
    compiler.args(["--edition", "2024", "-O", "-g", "-o"]).arg(&program).arg(&file);
    assert!(compiler.status().expect("rustc runs").success());
    program
}

/// Looks until there is a result.
fn until<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => assert!(begun.elapsed() < LONG, "never {what}: {seen}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the lines of `top --once` of these kinds, once there are all.
fn rows(running: &Running, kinds: &[&str]) -> Vec<Value> {
    until("all kinds", || {
        let arguments = ["top", "--once", "--json", "--interval", "0.3", &running.pid()];
        let printed = text(&output(&mut running.turnwise(&arguments)).stdout);
        let look: Value = serde_json::from_str(&printed).map_err(|error| format!("{error}: {printed}"))?;
        let of_kind = |kind: &&str| look["locks"].as_array()?.iter().find(|lock| lock["kind"] == **kind).cloned();
        kinds.iter().map(of_kind).collect::<Option<Vec<Value>>>().ok_or(printed)
    })
}

#[test]
fn locks_of_rusts_std_are_listed_with_the_code_that_waits() {
    let directory = scratch();
    let running = Running::start(&[shown(&rust(directory.path(), "bank", BUSY))]);
    let rows = rows(&running, &["std::sync::Mutex", "std::sync::Condvar"]);
    let (mutex, condvar) = (&rows[0], &rows[1]);
    assert!(mutex["name"].as_str().unwrap().contains("ACCOUNTS"), "{mutex}");
    assert!(mutex["site"].as_str().unwrap().contains("transfer"), "{mutex}");
    assert!(mutex["wait_ns"].as_u64().unwrap() > 0 && mutex["waits"].as_u64().unwrap() > 0, "{mutex}");
    assert!(mutex["share"].as_f64().unwrap() > 0.99, "threads that await work have no share: {mutex}");
    assert!(condvar["site"].as_str().unwrap().contains("await_work"), "{condvar}");
    assert_eq!(condvar["threads_waiting"], 1, "{condvar}");
    let (table, _) = expect_of(0, &mut running.turnwise(&["top", "--once", "--interval", "0.2", &running.pid()]));
    let (mutex, condvar) = (table.find("sync::Mutex"), table.find("sync::Condvar"));
    assert!(mutex.is_some() && condvar.is_none_or(|condvar| mutex < Some(condvar)), "{table}");
    let (why, _) = expect_of(0, &mut running.turnwise(&["why", &running.pid()]));
    assert!(why.contains("(std::sync::Condvar 0x") && why.contains("at bank::await_work"), "{why}");
    let file = directory.path().join("profile.json");
    expect_of(0, &mut running.turnwise(&["profile", "--pid", &running.pid(), "--for", "1s", "--json", shown(&file)]));
    let profile: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let kinds = |list: &str| -> Vec<String> {
        profile[list].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds("locks"), ["rust-mutex"], "{profile}");
    assert!(kinds("awaited").contains(&"rust-condvar".to_owned()), "{profile}");
}

#[test]
fn a_deadlock_of_rusts_mutexes_is_one_where_all_threads_wait() {
    let directory = scratch();
    let stuck = Running::start(&[shown(&rust(directory.path(), "stuck", DEADLOCK))]);
    let why = until("a deadlock", || {
        let answer = output(&mut stuck.turnwise(&["why", &stuck.pid()]));
        let said = text(&answer.stdout);
        if answer.status.code() == Some(3) { Ok(said) } else { Err(said + &text(&answer.stderr)) }
    });
    for part in ["DEADLOCK: all threads wait", "LEFT (std::sync::Mutex 0x", "RIGHT (std::sync::Mutex 0x", "take_both"] {
        assert!(why.contains(part), "{part:?} in:\n{why}");
    }
}

#[test]
fn semaphores_and_joins_are_listed() {
    let directory = scratch();
    let running = Running::start(&[shown(&crate::top::compiled(directory.path(), "queue", SEMAPHORE))]);
    let rows = rows(&running, &["sem_t", "join"]);
    assert_eq!((&rows[0]["name"], &rows[0]["share"]), (&"items".into(), &0.0.into()), "{}", rows[0]);
    for (row, function) in rows.iter().zip(["consume", "main"]) {
        assert!(row["site"].as_str().unwrap().starts_with(&format!("{function} (queue.c:")), "{row}");
    }
    until("the join", || {
        let (why, _) = expect_of(0, &mut running.turnwise(&["why", &running.pid()]));
        if why.contains("to end\n") && why.contains("at main (queue.c:") { Ok(()) } else { Err(why) }
    });
}
