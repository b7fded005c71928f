//! Valgrind's helgrind and drd, which see only the C library's locks.

mod harness;

use harness::{Build, library};
use std::process::{Command, Output};
use turnwise_preload_abi::environment;

/// The exit status that the tool is to use for a program with findings.
const FOUND: i32 = 9;

fn valgrind(tool: &str, program: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "300", "valgrind", "-q", &format!("--tool={tool}"), &format!("--error-exitcode={FOUND}")]);
    command.arg(program).args(arguments).env_remove(environment::LOCK).env("LD_PRELOAD", library());
    command.output().expect("timeout of coreutils")
}

#[test]
fn tools_that_look_for_races_find_those_of_the_program_only() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIPPED: no valgrind here (Debian: valgrind)");
        return;
    }
    let program = Build::new("sanitized.c").program();
    for tool in ["helgrind", "drd"] {
        let clean = valgrind(tool, program.path(), &[]);
        let shown = String::from_utf8_lossy(&clean.stderr);
        assert_eq!(clean.status.code(), Some(7), "{tool}: {shown}");
        assert!(shown.contains(&format!("turnwise: {tool} sees the C library's locks alone")), "{shown}");
        let racing = valgrind(tool, program.path(), &["race"]);
        let shown = String::from_utf8_lossy(&racing.stderr);
        assert_eq!(racing.status.code(), Some(FOUND), "{tool}: {shown}");
        assert!(shown.contains("takes_turns (sanitized.c"), "{tool} does not say where: {shown}");
    }
}

#[test]
fn memcheck_has_nothing_to_say_of_our_locks() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIPPED: no valgrind here (Debian: valgrind)");
        return;
    }
    let program = Build::new("sanitized.c").program();
    let ended = valgrind("memcheck", program.path(), &[]);
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(7), ""));
}
