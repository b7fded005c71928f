//! `turnwise-lab mount`, as programs that know nothing of it meet it.
//!
//! Where this machine or this user cannot mount, a test reports it on standard error (`SKIPPED: …`) and checks nothing.

mod crashes;
mod ending;
mod exerciser;
mod limits;
mod neutral;
mod programs;
mod refusals;
mod semantics;
mod suites;

use crate::common::{scratch, signal, text, turnwise};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The most time for anything that takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A mounted file system, and the program that serves it.
struct Mounted {
    child: Child,
    stderr: Option<ChildStderr>,
    directory: PathBuf,
    _scratch: tempfile::TempDir,
}

/// Returns why nothing can be mounted here; `None`: it can.
fn obstacle() -> Option<String> {
    if let Err(error) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse") {
        return Some(format!("/dev/fuse cannot be opened: {error}"));
    }
    let root = rustix::process::geteuid().is_root();
    (!root && which::which("fusermount3").is_err()).then(|| "neither root nor fusermount3".to_owned())
}

/// Returns whether a program is installed; prints it if not.
fn has(program: &str) -> bool {
    let found = which::which(program).is_ok();
    if !found {
        eprintln!("SKIPPED: {program} is not installed");
    }
    found
}

/// Mounts with these further arguments, or reports why the test is skipped.
fn mount(arguments: &[&str]) -> Option<Mounted> {
    mount_in(scratch(), arguments)
}

/// Returns the same below this directory.
fn mount_in(scratch: tempfile::TempDir, arguments: &[&str]) -> Option<Mounted> {
    if let Some(obstacle) = obstacle() {
        eprintln!("SKIPPED: {obstacle}");
        return None;
    }
    let directory = scratch.path().join("mount point");
    std::fs::create_dir(&directory).expect("a directory to mount on");
    let mut command = turnwise(&["mount"]);
    command.args(arguments).arg(&directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("turnwise starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it can be read");
    let mut mounted = Mounted { stderr: child.stderr.take(), child, directory, _scratch: scratch };
    if !line.starts_with("turnwise: mounted on ") {
        let said = mounted.said();
        assert!(said.contains("Operation not permitted"), "it does not get ready: {line:?}\n{said}");
        eprintln!("SKIPPED: this user may not mount: {said}");
        return None;
    }
    Some(mounted)
}

impl Mounted {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process number")
    }

    /// Runs a shell in the mount, which must succeed, and returns its output.
    #[track_caller]
    fn shell(&self, script: &str) -> String {
        let output = self.try_shell(script);
        assert!(output.0.success(), "{script}\n{}", output.1);
        output.1
    }

    fn try_shell(&self, script: &str) -> (ExitStatus, String) {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec 2>&1; set -e\n{script}")]).current_dir(&self.directory);
        command.env("HOME", &self.directory).env("LC_ALL", "C").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
        }
        let output = command.stdin(Stdio::null()).output().expect("there is a shell");
        (output.status, text(&output.stdout))
    }

    /// Returns what the server prints on standard error up to this.
    fn says(&mut self, part: &str) -> String {
        let stderr = self.stderr.as_mut().expect("it is there until the end");
        let (mut said, mut byte) = (Vec::new(), [0]);
        // No more than that: the remainder is for the end.
        while !said.ends_with(part.as_bytes()) {
            stderr.read_exact(&mut byte).expect("it goes on");
            said.push(byte[0]);
        }
        text(&said)
    }

    /// Returns everything that the server prints on standard error from now on, once it is gone.
    fn said(&mut self) -> String {
        let mut said = String::new();
        self.stderr.take().expect("asked once").read_to_string(&mut said).expect("it is text");
        said
    }

    /// Waits for the server's end; returns its exit status and its output.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(2));
        };
        (status.code(), self.said())
    }

    /// Returns whether something is mounted there.
    fn is_mounted(&self) -> bool {
        is_mounted(&self.directory)
    }
}

fn is_mounted(directory: &Path) -> bool {
    let name = directory.to_str().expect("it is text").replace(' ', "\\040");
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("the kernel lists mounts");
    mounts.lines().any(|line| line.split(' ').nth(1) == Some(&name))
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal(self.pid(), "KILL");
            _ = self.child.wait();
        }
        if self.is_mounted() {
            _ = Command::new("umount").arg("-l").arg(&self.directory).status();
        }
    }
}
