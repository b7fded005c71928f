//! The code shared by the tests of both programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use turnwise_preload_abi::environment::LOCK;

/// Returns the program under test, with its own cache directory and nothing preloaded.
pub(crate) fn turnwise(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(arguments).env_remove("LD_PRELOAD").env_remove(LOCK).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Returns its output; a hang fails the test.
pub(crate) fn output(command: &mut Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("turnwise starts");
    let pid = i32::try_from(child.id()).expect("a process number");
    let waiter = std::thread::spawn(move || child.wait_with_output());
    let start = Instant::now();
    while !waiter.is_finished() {
        if start.elapsed() > Duration::from_secs(120) {
            signal(pid, "KILL");
            panic!("turnwise hangs: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    waiter.join().expect("the waiter ends").expect("turnwise can be waited for")
}

/// Sends a signal with the tool available on every system.
pub(crate) fn signal(pid: i32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill runs");
    assert!(sent.success(), "kill -s {name} {pid} failed");
}

/// Runs it, expects this exit status, and returns stdout and stderr.
#[track_caller]
pub(crate) fn expect(status: i32, arguments: &[&str]) -> (String, String) {
    expect_of(status, &mut turnwise(arguments))
}

/// Does the work of [`expect`] for a prepared command.
#[track_caller]
pub(crate) fn expect_of(status: i32, command: &mut Command) -> (String, String) {
    let output = output(command);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{command:?}\n{stdout}\n{stderr}");
    (stdout, stderr)
}

/// Expects failure with this status and a message with all of these parts.
#[track_caller]
pub(crate) fn expect_complaint(status: i32, arguments: &[&str], parts: &[&str]) {
    let (_, stderr) = expect(status, arguments);
    for part in parts {
        assert!(stderr.contains(part), "no {part:?} in:\n{stderr}");
    }
}

/// Returns bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Creates a directory that is removed with the value.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("turnwise-cli").tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

/// Compiles a program of this folder into another.
pub(crate) fn compiled(folder: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli").join(name).with_extension("c");
    let program = folder.join(source.file_stem().unwrap());
    let headers = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../recorder/tests/c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-pthread", headers, "-o"]).arg(&program).arg(&source);
    assert!(compiler.status().unwrap().success());
    program
}

/// Writes an executable file.
pub(crate) fn executable(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join(name);
    std::fs::write(&path, content).expect("the file can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode can be set");
    path
}

/// Returns a path as an argument.
pub(crate) fn shown(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
