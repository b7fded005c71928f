//! A program with other rights than its user's: the user sets its environment, and must gain nothing by that.

mod harness;

use harness::{Build, library, tool};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};
use turnwise_preload_abi::environment;
use turnwise_preload_abi::libraries::SHARED;

const SOMEBODY: u32 = 65_000;

/// Copies the library where all users may read it, and gives a program linked with it to another user; `None`: this
/// user namespace has no other user.
fn set_uid_program(folder: &Path) -> Option<std::path::PathBuf> {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("ours");
    fs::copy(library(), folder.join(SHARED)).expect("a library");
    let source = folder.join("secure.c");
    // It prints whose rights it has, and takes a lock.
    let text = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n\
                static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
                int main(void) { pthread_mutex_lock(&lock); printf(\"%d\\n\", geteuid());\n\
                return pthread_mutex_unlock(&lock); }\n";
    fs::write(&source, text).expect("room");
    let program = folder.join("secure");
    let mut build = Command::new(tool("gcc"));
    build.arg(&source).arg("-o").arg(&program).arg("-Wl,--no-as-needed").arg("-L").arg(folder);
    build.arg(format!("-l:{SHARED}")).arg(format!("-Wl,-rpath,{}", folder.display()));
    assert!(build.status().expect("gcc").success());
    chown(&program, Some(SOMEBODY), None).ok()?;
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).expect("ours");
    Some(program)
}

fn run(program: &Path, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.env_remove("LD_PRELOAD").envs(variables.iter().copied()).output().expect("it starts")
}

#[test]
fn a_set_uid_program_takes_nothing_from_the_environment() {
    // The effect of the same variables otherwise.
    let shown = Build::new("kinds.c").program().run("adaptive");
    assert!(shown.contains("turnwise: version"), "{shown}");
    if !is_root() {
        return println!("SKIPPED: needs root, to make a program of another user");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = set_uid_program(folder.path()) else {
        return println!("SKIPPED: there is no other user in this namespace");
    };
    let page = folder.path().join("page");
    fs::write(&page, [0; 4096]).expect("room");
    fs::set_permissions(&page, Permissions::from_mode(0o666)).expect("ours");
    let page = page.to_str().expect("a path in UTF-8");
    let hostile = [
        (environment::VERBOSE, "1"),
        (environment::LOCK, "nonsense"),
        (environment::POLICY_TABLE, "/etc/passwd"),
        (environment::RUN_PROBE, page),
        (environment::LIVE, "1"),
    ];
    if String::from_utf8_lossy(&run(&program, &[]).stdout).trim() == "0" {
        return println!("SKIPPED: set-user-ID has no effect in the folder for temporary files, or for this process");
    }
    // The loader removes some from such a process, and moves the rest.
    let unsafe_ones = [("LD_LIBRARY_PATH", "/tmp"), ("TMPDIR", "/tmp"), ("LD_AUDIT", "/tmp/x.so")];
    let ended = run(&program, &[&unsafe_ones[..], &hostile].concat());
    let said = String::from_utf8_lossy(&ended.stdout);
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.trim() == SOMEBODY.to_string(), "{}: {said}{complaint}", ended.status);
    assert!(complaint.is_empty(), "it was obeyed: {complaint}");
    assert!(fs::read(page).expect("it is there").iter().all(|byte| *byte == 0), "the page was written");
}

fn is_root() -> bool {
    let own = fs::metadata("/proc/self").expect("proc");
    std::os::unix::fs::MetadataExt::uid(&own) == 0
}
