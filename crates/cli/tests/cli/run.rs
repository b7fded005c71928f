//! `turnwise run` becomes the program.

use crate::common::{compiled, executable, expect, expect_of, output, scratch, shown, signal, text, turnwise};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;

const PRELOADED: &str = "echo $LD_PRELOAD $TURNWISE_LOCK";

#[test]
fn a_home_that_is_not_there_is_not_made() {
    let directory = scratch();
    let (home, runtime) = (directory.path().join("home"), directory.path().join("runtime"));
    let mut command = turnwise(&["run", "--", "true"]);
    command.env_remove("XDG_CACHE_HOME").env("HOME", &home).env("XDG_RUNTIME_DIR", &runtime);
    expect_of(0, command.env("TMPDIR", directory.path()));
    assert!(!home.exists() && !runtime.exists());
    std::fs::create_dir(&home).unwrap();
    expect_of(0, &mut command);
    assert!(home.join(".cache/turnwise").is_dir());
}

#[test]
fn the_exit_status_is_the_programs() {
    for status in [0, 1, 2, 7, 255] {
        expect(status, &["run", "--", "sh", "-c", &format!("exit {status}")]);
    }
}

#[test]
fn a_killed_program_looks_killed() {
    let killed = output(&mut turnwise(&["run", "--", "sh", "-c", "kill -9 $$"]));
    assert_eq!(killed.status.signal(), Some(9));
}

#[test]
fn it_is_the_same_process_and_takes_its_signals() {
    let mut command = turnwise(&["run", "--", "sh", "-c", "echo $$; exec sleep 60"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line.trim(), child.id().to_string());
    signal(i32::try_from(child.id()).unwrap(), "TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn arguments_input_and_name_arrive() {
    let (stdout, _) = expect(0, &["run", "--", "sh", "-c", "echo \"$0|$1|$2\"", "a b", "--lock", ""]);
    assert_eq!(stdout, "a b|--lock|\n");
    let (stdout, _) = expect(0, &["run", "printf", "%s", "--version"]);
    assert_eq!(stdout, "--version");
}

/// At any of our instructions, which must let the unwinder pass, and leave no state that others wait for.
#[test]
fn threads_may_end_in_the_middle_of_a_lock_call() {
    let folder = scratch();
    let program = compiled(folder.path(), "left");
    for way in ["cancel", "exit"] {
        let run = [vec!["run"], vec!["run", "--lock", "ttas"], vec!["run", "--lock", "queued"]];
        let profile = [vec!["profile"], vec!["profile", "--lock", "adaptive"], vec!["profile", "--waits"]];
        for mut arguments in run.into_iter().chain(profile) {
            arguments.extend(["--", shown(&program), way]);
            let (stdout, _) = expect_of(0, turnwise(&arguments).current_dir(folder.path()));
            assert!(stdout.contains("60 got the lock\n"), "{arguments:?}: {stdout}");
        }
    }
}

/// A call that the program's locks would not make themselves would end it.
#[test]
fn a_program_that_filters_its_system_calls_may_be_recorded() {
    let folder = scratch();
    let program = compiled(folder.path(), "../../../preload/tests/c/sandboxed");
    for mode in [&["profile"][..], &["profile", "--lock", "adaptive"], &["profile", "--waits"]] {
        for when in ["before", "after"] {
            for (kind, how) in [("mutex", "syscall"), ("rwlock", "prctl"), ("cond", "syscall"), ("spin", "prctl")] {
                let program = ["--", shown(&program), when, kind, how, "kill"];
                let (stdout, stderr) = expect_of(0, turnwise(mode).args(program).current_dir(folder.path()));
                let said = stdout.contains("filter of system calls");
                assert!(when == "after" || mode.contains(&"--waits") || said, "{mode:?} {kind}: {stdout}{stderr}");
            }
        }
    }
}

/// The first wait of a process makes its view, for which other threads wait.
#[test]
fn a_thread_may_end_in_the_first_wait_of_its_process() {
    let folder = scratch();
    let program = compiled(folder.path(), "left");
    for lock in ["adaptive", "ttas", "queued"] {
        let (stdout, _) = expect(0, &["run", "--lock", lock, "--", shown(&program), "first"]);
        assert_eq!(stdout, "60 first waits\n", "{lock}");
    }
}

/// What the first wait does for its process, such as closing a file, is no cancellation point either.
#[test]
fn a_cancellation_that_was_requested_before_ends_no_lock_call() {
    let folder = scratch();
    let program = compiled(folder.path(), "left");
    let run = ["adaptive", "ttas", "queued"].map(|lock| vec!["run", "--lock", lock]);
    for mut arguments in run.into_iter().chain([vec!["profile"], vec!["profile", "--lock", "adaptive"]]) {
        arguments.extend(["--", shown(&program), "pending"]);
        let (stdout, _) = expect_of(0, turnwise(&arguments).current_dir(folder.path()));
        assert!(stdout.contains("1 got the lock\n"), "{arguments:?}: {stdout}");
    }
}

#[test]
fn a_wait_that_the_kernel_refuses_ends_as_with_the_c_library() {
    let folder = scratch();
    let program = compiled(folder.path(), "odd");
    let ends =
        [output(&mut std::process::Command::new(&program)), output(&mut turnwise(&["run", "--", shown(&program)]))];
    for end in ends {
        assert_eq!(end.status.signal(), Some(6));
        assert_eq!(text(&end.stderr), "The futex facility returned an unexpected error code.\n");
    }
}

#[test]
fn the_list_says_whether_owners_that_do_not_run_are_seen() {
    let list = |settings| expect_of(0, turnwise(&["list"]).env("GLIBC_TUNABLES", settings)).0;
    assert!(list("glibc.pthread.rseq=0").contains("owner-runs test       none: "));
    let seen = list("");
    assert!(seen.contains("owner-runs test       rseq: ") || seen.contains("owner-runs test       none: "), "{seen}");
}

#[test]
fn every_policy_reaches_the_program() {
    for policy in ["adaptive", "queued", "ttas", "ticket"] {
        let (stdout, _) = expect(0, &["run", "--lock", policy, "--", "sh", "-c", PRELOADED]);
        let (library, setting) = stdout.trim().rsplit_once(' ').unwrap();
        assert_eq!(setting, policy);
        let file = std::fs::metadata(library).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o700);
        let directory = std::fs::metadata(std::path::Path::new(library).parent().unwrap()).unwrap();
        assert_eq!((directory.mode() & 0o777, directory.uid()), (0o700, file.uid()));
    }
    let (stdout, _) = expect(0, &["run", "--lock", "libc", "--", "sh", "-c", PRELOADED]);
    assert_eq!(stdout.trim(), "");
}

#[test]
fn an_old_name_of_a_policy_works() {
    let (stdout, _) = expect(0, &["run", "--lock", "mcs", "--", "sh", "-c", PRELOADED]);
    assert!(stdout.trim().ends_with(" queued"), "{stdout}");
}

/// Programs that wait on condition variables, of the preload library's tests: they end with status 7, and with an
/// argument they have a race.
const SANITIZED: [(&str, &str); 2] = [("cc", "sanitized.c"), ("c++", "sanitized.cpp")];

/// Builds a program with a sanitizer; `None`: such programs do not work here.
fn sanitized(directory: &std::path::Path, sanitizer: &str, (compiler, source): (&str, &str)) -> Option<PathBuf> {
    let program = directory.join(format!("{source}-{sanitizer}"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../preload/tests/c/").to_owned() + source;
    let mut compiler = std::process::Command::new(compiler);
    compiler.arg(format!("-fsanitize={sanitizer}")).args(["-g", "-O1", "-pthread", &source, "-o"]).arg(&program);
    let is_built = output(&mut compiler).status.success();
    let works = is_built && output(&mut std::process::Command::new(&program)).status.code() == Some(7);
    if !works {
        eprintln!("SKIPPED: programs with -fsanitize={sanitizer} do not work here");
    }
    works.then_some(program)
}

#[test]
fn programs_with_a_sanitizer_run_and_get_reports_of_their_own_races_only() {
    let directory = scratch();
    for (sanitizer, finds_races) in [("address", false), ("thread", true)] {
        for source in SANITIZED {
            let Some(program) = sanitized(directory.path(), sanitizer, source) else { continue };
            for how in [&["run", "--lock", "adaptive"][..], &["profile"], &["profile", "--lock", "adaptive"]] {
                let (_, complaint) = expect(7, &[how, &["--", shown(&program)]].concat());
                assert!(!complaint.contains("Sanitizer"), "{how:?}: {complaint}");
            }
            if finds_races {
                // The sanitizer's own exit status for a program with findings.
                let (_, complaint) = expect(66, &["run", "--", shown(&program), "race"]);
                assert!(complaint.contains("data race") && complaint.contains("races"), "{complaint}");
            }
        }
    }
}

#[test]
fn other_preloaded_libraries_stay_behind_ours() {
    let other = "libc.so.6";
    let (stdout, _) = expect_of(0, turnwise(&["run", "--", "sh", "-c", PRELOADED]).env("LD_PRELOAD", other));
    let (first, second) = stdout.split_whitespace().next().unwrap().split_once(':').unwrap();
    assert!(first.contains("libturnwise_preload"), "{stdout}");
    assert_eq!(second, other);
}

#[test]
fn within_another_run_it_starts_afresh() {
    let inner = format!("exec {} run --lock ticket -- sh -c '{PRELOADED}'", env!("CARGO_BIN_EXE_turnwise"));
    let (stdout, _) = expect(0, &["run", "--", "sh", "-c", &inner]);
    assert_eq!(stdout.matches("libturnwise_preload").count(), 1, "{stdout}");
    assert!(stdout.trim().ends_with(" ticket"), "{stdout}");
    let inner = format!("exec {} run --lock libc -- sh -c '{PRELOADED}'", env!("CARGO_BIN_EXE_turnwise"));
    let (stdout, _) = expect(0, &["run", "--", "sh", "-c", &inner]);
    assert_eq!(stdout.trim(), "");
}

#[test]
fn scripts_run_with_and_without_interpreter_line() {
    let directory = scratch();
    let with = executable(directory.path(), "with", b"#!/usr/bin/env -S sh -e\necho with\n");
    let without = executable(directory.path(), "without", b"echo without\n");
    assert_eq!(expect(0, &["run", shown(&with)]).0, "with\n");
    assert_eq!(expect(0, &["run", shown(&without)]).0, "without\n");
}

#[test]
fn the_library_is_written_once() {
    let library = || expect(0, &["run", "--", "sh", "-c", PRELOADED]).0.split(' ').next().unwrap().to_owned();
    let (first, second) = (library(), library());
    assert_eq!(first, second);
}

#[test]
fn unsafe_directories_are_passed_over() {
    let (cache, temporary) = (scratch(), scratch());
    let open = cache.path().join("turnwise");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = turnwise(&["run", "--", "sh", "-c", PRELOADED]);
    command.env("XDG_CACHE_HOME", cache.path()).env("TMPDIR", temporary.path()).env_remove("XDG_RUNTIME_DIR");
    let (stdout, _) = expect_of(0, &mut command);
    assert!(stdout.starts_with(shown(temporary.path())), "{stdout}");
    std::fs::set_permissions(
        temporary.path().read_dir().unwrap().next().unwrap().unwrap().path(),
        std::fs::Permissions::from_mode(0o777),
    )
    .unwrap();
    let (_, stderr) = expect_of(2, &mut command);
    assert!(stderr.contains("no private directory") && stderr.contains("chmod 700"), "{stderr}");
}

#[test]
fn without_a_command_the_sample_runs() {
    let (stdout, _) = expect(0, &["run", "--", "@sample", "-s", "0.05", "-t", "3"]);
    assert!(stdout.contains("threads: 3\n") && stdout.contains("ops_per_second: "), "{stdout}");
    let usage = output(&mut turnwise(&["run", "--", "@sample", "-t", "0"]));
    assert_eq!(usage.status.code(), Some(2));
    assert!(text(&usage.stderr).contains("-t takes a number"));
}
