//! Resource limits on the tool itself (`ulimit`): it does its work, or reports which limit prevents that and what to
//! do. It never panics, hangs or is killed by a signal, and neither is the program that it runs.

use crate::common::{output, scratch, shown, text, turnwise};
use crate::top::{Running, compiled};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

/// A program that itself needs few resources.
const PROGRAM: &str = "
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    pthread_mutex_lock(&lock);
    puts(\"answer 42\");
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    return 0;
}";

const MIB: u64 = 1 << 20;

/// The limited resource, its letter for `ulimit`, and the limits: from what the loader needs to what nearly suffices.
const LIMITS: &[(libc::__rlimit_resource_t, &str, &[u64])] = &[
    (libc::RLIMIT_NOFILE, "-n", &[4, 5, 6, 8, 10, 12]),
    (libc::RLIMIT_NPROC, "-u", &[1, 2]),
    (libc::RLIMIT_AS, "-v", &[40 * MIB, 64 * MIB, 100 * MIB, 200 * MIB]),
    (libc::RLIMIT_DATA, "-d", &[4 * MIB, 16 * MIB]),
    (libc::RLIMIT_FSIZE, "-f", &[0, 4096, MIB]),
    (libc::RLIMIT_MEMLOCK, "-l", &[0, 4096]),
    (libc::RLIMIT_STACK, "-s", &[MIB / 16, MIB / 4]),
];

/// `PROGRAM` is the program, `OUT` a file that does not exist yet, `PID` a program that runs under `turnwise run`.
const COMMANDS: &[&str] = &[
    "run -- PROGRAM",
    "profile -- PROGRAM",
    "profile --json OUT -- PROGRAM",
    "compare --runs 2 --warmup 0 -- PROGRAM",
    "top --once PID",
    "why PID",
    "tune PID",
];

/// A user without other processes, if this is root: root has no limit on processes.
const SOMEBODY: u32 = 734_512;

#[test]
fn each_limit_is_met_with_a_sentence() {
    let (folder, running) = (scratch(), Running::sample());
    running.contended();
    let program = compiled(folder.path(), "needs_little", PROGRAM);
    let is_root = rustix::process::geteuid().is_root();
    for &(resource, letter, values) in LIMITS {
        // Root has no such limit.
        let user = (resource == libc::RLIMIT_NPROC && is_root).then_some(SOMEBODY);
        if user.is_some_and(|user| !may_run(user, &program)) {
            println!("SKIPPED: ulimit {letter}: another user may not run what is in this folder");
            continue;
        }
        for (&value, words) in values.iter().flat_map(|value| COMMANDS.iter().map(move |words| (value, words))) {
            // Other users' views are not shown.
            if user.is_some() && words.contains("PID") {
                continue;
            }
            let own = tempfile::Builder::new().tempdir_in(&folder).unwrap();
            let out = own.path().join("out");
            let fill = |word: &str| match word {
                "PROGRAM" => shown(&program).to_owned(),
                "OUT" => shown(&out).to_owned(),
                "PID" => running.pid(),
                word => word.to_owned(),
            };
            let words: Vec<_> = words.split(' ').map(fill).collect();
            let mut command = turnwise(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let runtime = if user.is_some() { own.path() } else { running.folder.path() };
            command.env("XDG_RUNTIME_DIR", runtime).env("XDG_CACHE_HOME", folder.path().join("cache"));
            if let Some(user) = user {
                chown(own.path(), Some(user), Some(user)).unwrap();
                command.env("XDG_CACHE_HOME", own.path()).uid(user).gid(user);
            }
            limited(&mut command, resource, value);
            judge(&output(&mut command), letter, &format!("ulimit {letter}, {value}: {words:?}"));
        }
    }
}

/// Makes the command run with this limit, and with few variables: they are on its stack.
fn limited(command: &mut Command, resource: libc::__rlimit_resource_t, value: u64) {
    let kept = ["PATH", "TMPDIR"].map(|name| (name, std::env::var_os(name)));
    let set: Vec<_> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    command.env_clear().envs(set).envs(kept.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
        // SAFETY: reads the numbers.
        let refused = unsafe { libc::setrlimit(resource, &limit) } != 0;
        if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: one system call, which neither allocates nor locks.
    unsafe { command.pre_exec(limit) };
}

/// Returns whether this user may run the tool and the program.
fn may_run(user: u32, program: &Path) -> bool {
    let runs = |path: &Path| Command::new(path).arg("--version").uid(user).gid(user).output();
    [Path::new(crate::PROGRAM), program].iter().all(|path| runs(path).is_ok_and(|output| output.status.success()))
}

#[track_caller]
fn judge(output: &Output, letter: &str, what: &str) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let said = format!("{what}: {}\n{stdout}\n{stderr}", output.status);
    let crashed = ["panicked", "memory allocation of", "overflowed", "SIGXFSZ", "killed by signal"];
    assert!(!crashed.iter().any(|word| stderr.contains(word)), "{said}");
    match output.status.code() {
        // The output about a profiled or compared program is checked by other tests.
        Some(0) => assert!(!what.contains("\"run\"") || stdout.contains("answer 42"), "{said}"),
        Some(2) => assert!(stderr.contains("ulimit") && stderr.contains(letter), "{said}"),
        _ => panic!("{said}"),
    }
}
