//! Bad input gets a message that states what to do, and exit status 2.

use crate::common::{executable, expect, expect_complaint, scratch, shown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a small program with these flags; `None` if the compiler cannot.
fn compiled(directory: &Path, flags: &[&str]) -> Option<PathBuf> {
    let source = directory.join("small.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let program = directory.join("small");
    let built = Command::new("cc").args(flags).arg("-o").arg(&program).arg(&source).output().ok()?;
    built.status.success().then_some(program)
}

/// Returns a copy of a system program with one run of bytes replaced.
fn patched(directory: &Path, at: impl Fn(&[u8]) -> usize, patch: &[u8]) -> PathBuf {
    let mut content = std::fs::read("/bin/true").unwrap();
    let place = at(&content);
    content[place..place + patch.len()].copy_from_slice(patch);
    executable(directory, "patched", &content)
}

#[test]
fn commands_that_do_not_exist_or_may_not_run() {
    let directory = scratch();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "x").unwrap();
    for subcommand in ["run", "compare", "profile", "check"] {
        expect_complaint(2, &[subcommand, "--", "no-such-command"], &["no such command", "PATH"]);
        expect_complaint(2, &[subcommand, "--", "./no-such-command"], &["no such command: ./no-such-command"]);
        expect_complaint(2, &[subcommand, "--", "/etc"], &["is a directory"]);
        expect_complaint(2, &[subcommand, "--", shown(&plain)], &["not executable", "chmod +x"]);
        expect_complaint(2, &[subcommand, "--", ""], &["the program's name is empty"]);
    }
}

#[test]
fn policies_are_listed_and_the_nearest_suggested() {
    for subcommand in ["run", "compare"] {
        expect_complaint(
            2,
            &[subcommand, "--lock", "adaptve", "true"],
            &["similar value exists: 'adaptive'", "ticket"],
        );
    }
    expect_complaint(2, &["compare", "--lock", "queued,queued", "true"], &["queued twice"]);
    expect_complaint(2, &["compare", "--lock", "queued", "--lock", "queued", "true"], &["queued twice"]);
    expect_complaint(2, &["compare", "--lock", "mcs,queued", "true"], &["queued twice"]);
    expect_complaint(2, &["compare", "--lock", "libc", "true"], &["second policy"]);
}

#[test]
fn static_programs() {
    let directory = scratch();
    let program = compiled(directory.path(), &["-static"]).expect("the compiler links statically");
    for subcommand in ["run", "compare"] {
        expect_complaint(2, &[subcommand, shown(&program)], &["statically linked", "-static"]);
    }
    // On the C library's locks there is no reason to refuse.
    expect(0, &["run", "--lock", "libc", shown(&program)]);
    let script = executable(directory.path(), "script", format!("#!{}\n", shown(&program)).as_bytes());
    expect_complaint(2, &["run", shown(&script)], &["is a script for", "statically linked"]);
    if let Some(pie) = compiled(directory.path(), &["-static-pie"]) {
        expect_complaint(2, &["run", shown(&pie)], &["statically linked"]);
    }
}

#[test]
fn programs_of_another_world() {
    let directory = scratch();
    let machine = patched(directory.path(), |_| 18, &0xf3_u16.to_le_bytes()); // RISC-V
    expect_complaint(2, &["run", shown(&machine)], &["another architecture"]);
    let loader = |content: &[u8]| content.windows(4).position(|part| part == b"/lib").unwrap();
    let musl = patched(directory.path(), loader, b"/lib/ld-musl-x86.so.1\0");
    expect_complaint(2, &["run", shown(&musl)], &["built for musl", "glibc"]);
    let damaged = executable(directory.path(), "damaged", b"\x7fELF\x02\x01\x01\0\0");
    expect_complaint(2, &["run", shown(&damaged)], &["damaged"]);
}

#[test]
fn scripts_that_lead_nowhere() {
    let directory = scratch();
    let lost = executable(directory.path(), "lost", b"#!/no/such/interpreter\n");
    expect_complaint(2, &["run", shown(&lost)], &["#! line", "no such command: /no/such/interpreter"]);
    let circle = directory.path().join("circle");
    executable(directory.path(), "circle", format!("#!{}\n", shown(&circle)).as_bytes());
    expect_complaint(2, &["run", shown(&circle)], &["circle"]);
}

#[test]
fn programs_with_privileges() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let directory = scratch();
    let program = directory.path().join("privileged");
    std::fs::copy("/bin/true", &program).unwrap();
    if chown(&program, Some(12_345), Some(12_345)).is_err() {
        return eprintln!("skipped: only root can make a program of another user");
    }
    let mode = |mode| std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o4755);
    expect_complaint(2, &["run", shown(&program)], &["set-uid (to user 12345)", "ignores LD_PRELOAD"]);
    mode(0o2755);
    expect_complaint(2, &["compare", shown(&program)], &["set-gid (to group 12345)"]);
    mode(0o755);
    expect(0, &["run", shown(&program)]);
}

#[test]
fn numbers_and_patterns() {
    expect_complaint(2, &["compare", "--runs", "1", "true"], &["at least 2"]);
    expect_complaint(2, &["compare", "--runs", "many", "true"], &["--runs", "expected a whole number, 2 or more"]);
    expect_complaint(2, &["compare", "--runs", "-1", "true"], &["'-1' for '--runs <N>'", "2 or more"]);
    expect_complaint(2, &["compare", "--max-runs", "7", "true"], &["after 8 runs; for fewer, use --runs"]);
    expect_complaint(2, &["compare", "--runs", "7", "--max-runs", "9", "true"], &["cannot be used with"]);
    expect_complaint(2, &["compare", "--runs", "7", "--max-time", "9", "true"], &["cannot be used with"]);
    expect_complaint(2, &["compare", "--max-time", "0", "true"], &["above zero"]);
    expect_complaint(2, &["compare", "--margin", "0", "true"], &["above 0 and up to 100"]);
    expect_complaint(2, &["compare", "--json", "--", "true"], &["value is required for '--json <FILE>'"]);
    expect_complaint(2, &["compare", "--timeout", "0", "true"], &["above zero"]);
    expect_complaint(2, &["compare", "--timeout", "soon", "true"], &["expected a time above zero", "soon"]);
    expect_complaint(2, &["compare", "--metric", "(", "true"], &["is not a valid regular expression"]);
    expect_complaint(2, &["compare", "--metric", "ops", "true"], &["no group", "([0-9.]+)"]);
    expect_complaint(2, &["compare", "--metric", "a(.)", "--metric", "a(.)", "true"], &["two metrics"]);
    expect_complaint(2, &["compare", "--lower-is-better", "true"], &["about --metric"]);
    expect_complaint(2, &["compare", "--lower-is-better", "--higher-is-better", "true"], &["cannot be used with"]);
    expect_complaint(2, &["compare", "--json=/no/such/directory/x.json", "true"], &["cannot write --json"]);
    expect_complaint(2, &["compare", "--json=/tmp", "true"], &["is a directory"]);
    expect_complaint(2, &["compar"], &["similar subcommand exists: 'compare'"]);
}

#[test]
fn help_names_every_policy_and_has_examples() {
    for subcommand in ["run", "compare"] {
        let (help, _) = expect(0, &[subcommand, "--help"]);
        for part in ["libc", "adaptive", "queued", "ttas", "ticket", "Examples:", "@sample"] {
            assert!(help.contains(part), "no {part} in the help of {subcommand}");
        }
    }
    let (list, _) = expect(0, &["list"]);
    for part in ["adaptive", "(default)", "wall_s", "CPUs", "kernel", "glibc", "owner-runs test", "turnwise-lab list"] {
        assert!(list.contains(part), "no {part} in the list");
    }
}

#[test]
fn files_without_an_end_and_pipes_without_a_writer_are_refused_at_once() {
    let directory = scratch();
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
    for file in [shown(&pipe), "/dev/zero", "/dev/urandom", shown(directory.path())] {
        for command in [
            &["profile", "--from", file][..],
            &["profile", "--recording", file, "--", "true"],
            &["profile", "--policy", file, "--", "true"],
            &["run", "--policy", file, "--", "true"],
            &["policy", "check", file],
        ] {
            // A wait would last forever: the harness ends it.
            expect_complaint(2, command, &[file, "it is not a regular file; name one"]);
        }
    }
}

#[test]
fn a_complaint_is_no_command_to_a_terminal() {
    let hostile = "no\u{1b}[31m\nsuch\u{202e}";
    for command in [
        &["run", "--", hostile][..],
        &["run", "--policy", hostile, "--", "true"],
        &["run", "--lock", hostile, "--", "true"],
        &["profile", "--from", hostile],
        &["policy", "check", hostile],
        &["why", hostile],
        &["status", hostile],
        &["tune", hostile],
        &[hostile],
    ] {
        let (_, reported) = expect(2, command);
        assert!(
            !reported.contains(['\u{1b}', '\u{202e}']) && !reported.contains("\nsuch"),
            "{command:?}: {reported:?}"
        );
    }
}
