//! `turnwise status`, on programs that run with the library and without it.

use crate::common::{executable, expect_complaint, expect_of, output, scratch, shown, text, turnwise};
use crate::top::{LONG, Running};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time for which programs sleep at most.
const SLEEP: &str = "600";

/// A program that ends with the value.
struct Plain(Child);

impl Plain {
    fn start(command: &mut Command) -> Plain {
        Plain(command.arg(SLEEP).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until the answer about a process has all these parts: it may not have begun yet. The status must be this one.
#[track_caller]
fn status(command: impl Fn(&[&str]) -> Command, pid: &str, code: i32, parts: &[&str]) -> Value {
    let begun = Instant::now();
    loop {
        let answer = output(&mut command(&["status", pid]));
        // Where lines are wrapped depends on the lengths of names.
        let report = text(&answer.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        if answer.status.code() == Some(code) && parts.iter().all(|part| report.contains(part)) {
            break;
        }
        assert!(begun.elapsed() < LONG, "{parts:?} in:\n{answer:?}\n{report}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (line, _) = expect_of(code, &mut command(&["status", "--json", pid]));
    assert_eq!(line.lines().count(), 1, "{line}");
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&answer["schema"], &answer["turnwise"]), (&1.into(), &env!("CARGO_PKG_VERSION").into()), "{line}");
    answer["processes"][0].clone()
}

#[track_caller]
fn of(running: &Running, parts: &[&str]) -> Value {
    status(|arguments| running.turnwise(arguments), &running.pid(), 0, parts)
}

/// Copies a program that sleeps, so that it has a name of its own.
fn sleeper(folder: &Path, name: &str) -> PathBuf {
    executable(folder, name, &std::fs::read(which("sleep")).unwrap())
}

fn which(name: &str) -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file()).unwrap()
}

#[test]
fn of_a_contended_program_policy_view_and_waits_are_known() {
    let sample = Running::sample();
    sample.contended();
    let name = "sample-cache-";
    let answer = of(&sample, &[name, "has the library", "policy adaptive", ", as this turnwise", " of "]);
    assert_eq!((&answer["loaded"], &answer["same_build"]), (&true.into(), &true.into()));
    assert_eq!((&answer["policy"], &answer["version"]), (&"adaptive".into(), &env!("CARGO_PKG_VERSION").into()));
    assert!(answer["waits"].as_u64().unwrap() > 0 && answer["contended_locks"].as_u64().unwrap() > 0, "{answer}");
    assert!(answer["live_view"].as_str().unwrap().starts_with(shown(sample.folder.path())), "{answer}");
    let (table, _) = expect_of(0, &mut sample.turnwise(&["status"]));
    let line = table.lines().find(|line| line.starts_with(&format!("{} ", sample.pid()))).unwrap_or_default();
    assert!(table.starts_with("PID ") && line.contains("adaptive"), "{table}");
    let (all, _) = expect_of(0, &mut sample.turnwise(&["status", "--all", "--json"]));
    let all: Value = serde_json::from_str(&all).unwrap();
    assert!(all["processes"].as_array().unwrap().iter().any(|one| one["pid"] == answer["pid"]), "{all}");
}

#[test]
fn the_policy_is_known_without_a_live_view() {
    let queued = of(&Running::under("queued", &["sleep", SLEEP]), &["queued", "no thread has waited for a lock yet"]);
    assert_eq!((&queued["policy"], &queued["waits"]), (&"queued".into(), &Value::Null));
    let folder = scratch();
    let file = folder.path().join("p.toml");
    let rule = "[[rule]]\nmodule = \"*\"\nlock = \"ticket\"\n";
    std::fs::write(&file, format!("default = \"ttas\"\n{rule}")).unwrap();
    let ruled = Running::with(&["--policy", shown(&file)], &["sleep", SLEEP]);
    let answer = of(&ruled, &["ttas but for 1 rule"]);
    assert_eq!((&answer["policy"], &answer["rules"]), (&"ttas".into(), &1.into()));
}

#[test]
fn what_is_switched_off_is_said() {
    let start = |variable: &str, value: &str| {
        let folder = scratch();
        let mut command = turnwise(&["run", "--", "sleep", SLEEP]);
        command.env("XDG_RUNTIME_DIR", folder.path()).env(variable, value);
        Running { child: command.spawn().unwrap(), folder }
    };
    of(&start("TURNWISE_LIVE", "0"), &["none: TURNWISE_LIVE=0 turns it off"]);
    let answer = of(&start("GLIBC_TUNABLES", "glibc.pthread.rseq=0"), &["on-CPU layer none: GLIBC_TUNABLES"]);
    assert_eq!(answer["on_cpu_layer"], "none");
}

#[test]
fn a_program_without_the_library_is_told_why() {
    let folder = scratch();
    let program = sleeper(folder.path(), "status-plain");
    let without = |command: &mut Command, parts: &[&str]| {
        let plain = Plain::start(command);
        let answer = status(turnwise, &plain.pid(), 1, parts);
        assert_eq!((&answer["loaded"], &answer["policy"]), (&false.into(), &Value::Null), "{answer}");
    };
    without(&mut Command::new(&program), &["status-plain ", "has it not: it was not started under `turnwise run`"]);
    let gone = "/nowhere/libturnwise_preload-1.so";
    without(Command::new(&program).env("LD_PRELOAD", gone), &["LD_PRELOAD names", gone, "is not there"]);
    without(Command::new(&program).env("TURNWISE_LOCK", "queued"), &["has taken LD_PRELOAD away"]);
    let damaged = folder.path().join("libturnwise_preload-2.so");
    std::fs::write(&damaged, "no library").unwrap();
    without(Command::new(&program).env("LD_PRELOAD", &damaged), &["the loader has not mapped it"]);
}

#[test]
fn a_static_program_and_one_of_privileges_are_told_apart() {
    let folder = scratch();
    let (source, program) = (folder.path().join("still.c"), folder.path().join("still"));
    std::fs::write(&source, "#include <unistd.h>\nint main(void) { return (int)sleep(600); }\n").unwrap();
    let mut compiler = Command::new("cc");
    if compiler.args(["-static", "-o"]).arg(&program).arg(&source).stderr(Stdio::null()).status().unwrap().success() {
        let still = Plain::start(&mut Command::new(&program));
        status(turnwise, &still.pid(), 1, &["statically linked"]);
    } else {
        eprintln!("skipped: the compiler does not link statically");
    }
    let secure = sleeper(folder.path(), "status-secure");
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root || chown(&secure, Some(65534), None).is_err() {
        eprintln!("skipped: only root may set up a set-uid program of another user");
        return;
    }
    std::fs::set_permissions(&secure, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let secure = Plain::start(&mut Command::new(&secure));
    status(turnwise, &secure.pid(), 1, &["gained privileges"]);
}

#[test]
fn of_several_of_a_name_all_are_asked_for() {
    let folder = scratch();
    let program = sleeper(folder.path(), "status-several");
    let with = Running::start(&[shown(&program), SLEEP]);
    of(&with, &["has the library"]);
    status(turnwise, "status-several", 0, &["status-several", "on-CPU layer not known"]);
    let without = Plain::start(&mut Command::new(&program));
    let parts = [": has the library", ": has it not", &without.pid(), &with.pid()];
    status(|arguments| with.turnwise(arguments), "status-several", 1, &parts);
}

#[test]
fn what_cannot_be_looked_at_is_an_error() {
    expect_complaint(2, &["status", "2147483647"], &["no process has the id 2147483647"]);
    expect_complaint(2, &["status", "no-such-program-runs"], &["no program called `no-such-program-runs` runs"]);
    expect_complaint(2, &["status", "--all", "1"], &["cannot be used with"]);
    let mut ended = Command::new("true").spawn().unwrap();
    let (begun, ended_pid) = (Instant::now(), ended.id());
    while std::fs::read(format!("/proc/{ended_pid}/maps")).is_ok_and(|maps| !maps.is_empty()) {
        assert!(begun.elapsed() < LONG, "it does not end");
    }
    let answer = output(&mut turnwise(&["status", &ended_pid.to_string()]));
    ended.wait().unwrap();
    assert_eq!(answer.status.code(), Some(2), "it has ended: {answer:?}");
    for _ in 0..40 {
        let mut ending = Command::new("true").spawn().unwrap();
        let answer = output(&mut turnwise(&["status", &ending.id().to_string()]));
        assert!(matches!(answer.status.code(), Some(1 | 2)), "{answer:?}");
        ending.wait().unwrap();
    }
}
