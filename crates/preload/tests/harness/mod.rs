//! Builds C programs and runs them under the preload library.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use turnwise_live::{Kind, Snapshot};
use turnwise_preload_abi::{environment, libraries};

/// The values that [`environment::LOCK`] may have.
pub(crate) const POLICIES: [&str; 4] = ["adaptive", "queued", "ttas", "ticket"];

/// Longer than any program takes; a hang ends as exit status 124 or 137.
const LIMIT_S: &str = "300";

/// Returns the shared object that cargo built for this test: next to the test's own executable, or one folder up.
pub(crate) fn library() -> PathBuf {
    let name = format!("{}.so", libraries::PRELOAD);
    let test = std::env::current_exe().expect("the test's own path");
    let folders: Vec<&Path> = test.ancestors().skip(1).take(2).collect();
    folders.iter().map(|folder| folder.join(&name)).find(|path| path.is_file()).unwrap_or_else(|| {
        panic!("no {name} in {folders:?}: build it with `cargo build -p turnwise-preload` in the same profile")
    })
}

/// Returns the name of a toolchain program for the processor under test: if that is not this machine's, `CROSS_COMPILE`
/// is its prefix, as for the makefiles of Linux.
pub(crate) fn tool(name: &str) -> String {
    std::env::var("CROSS_COMPILE").unwrap_or_default() + name
}

/// A translation unit, by its path from `tests/c`, and what to link it with.
pub(crate) struct Build {
    source: String,
    linked: Vec<PathBuf>,
    flags: &'static [&'static str],
}

impl Build {
    pub(crate) fn new(source: &str) -> Self {
        Build { source: source.to_owned(), linked: Vec::new(), flags: &[] }
    }

    /// Compiles it with further flags.
    pub(crate) fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    /// Links a shared object, which the program finds where it was built.
    pub(crate) fn link(mut self, object: &Path) -> Self {
        self.linked.push(object.to_owned());
        self
    }

    pub(crate) fn program(self) -> Program {
        let stem = Path::new(&self.source).file_stem().expect("a file");
        let path = output_path(&stem.display().to_string());
        self.compile(&path, &[]);
        Program { path, variables: Vec::new() }
    }

    pub(crate) fn shared(self, name: &str) -> PathBuf {
        let path = output_path(&format!("lib{name}.so"));
        self.compile(&path, &["-shared", "-fPIC"]);
        path
    }

    fn compile(&self, path: &Path, flags: &[&str]) {
        let compiler = tool(if self.source.ends_with(".cpp") { "g++" } else { "gcc" });
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
        let mut command = Command::new(&compiler);
        command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]).args(self.flags).args(flags);
        command.arg("-I").arg(&folder).arg("-o").arg(path).arg(folder.join(&self.source));
        command.args(&self.linked).arg("-ldl");
        let output = command.output().unwrap_or_else(|e| panic!("cannot run {compiler}: {e}; these tests need it"));
        assert!(output.status.success(), "{compiler} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Leaves joins out of a look at a program that makes no futex call: those are our locks', which are not counted as
/// such.
pub(crate) fn without_joins(mut snapshot: Snapshot) -> Snapshot {
    snapshot.locks.retain(|lock| lock.kind != Kind::Join);
    assert!(snapshot.locks.iter().all(|lock| lock.kind.is_ours()), "{:?}", snapshot.locks);
    snapshot
}

/// Returns a path for this test run only, in its own folder.
pub(crate) fn output_path(name: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the program");
    folder.join(name)
}

/// A program that was built; removed when dropped.
pub(crate) struct Program {
    path: PathBuf,
    variables: Vec<String>,
}

impl Program {
    /// Adds this to its environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push(format!("{name}={value}"));
        self
    }

    /// Returns the program's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a command to which variables and the program are added: stopped if it hangs, on the C library's locks.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", LIMIT_S, "env", "-u", "LD_PRELOAD", "-u", environment::LOCK]);
        command.args(&self.variables);
        command
    }

    /// Runs it on the C library's locks.
    pub(crate) fn run_on_libc(&self) {
        self.answers_on_libc();
    }

    /// Runs it on the C library's locks with a list of preloaded libraries.
    pub(crate) fn run_on_libc_with(&self, preloaded: &str) {
        check("the C library", self.command().arg(format!("LD_PRELOAD={preloaded}")).arg(&self.path).output());
    }

    /// Runs it on the C library's locks; returns what it wrote to stdout.
    pub(crate) fn answers_on_libc(&self) -> String {
        check("the C library", self.command().arg(&self.path).output()).output
    }

    /// Runs it on ours; returns what it wrote to stderr.
    pub(crate) fn run(&self, policy: &str) -> String {
        self.run_with(policy, library().to_str().expect("a path in UTF-8"))
    }

    /// Runs it on ours; returns what it wrote to stdout.
    pub(crate) fn answers(&self, policy: &str) -> String {
        self.run_preloaded(policy, library().to_str().expect("a path in UTF-8")).output
    }

    /// Runs it with arguments, on the C library's locks or on ours.
    pub(crate) fn run_with_arguments(&self, policy: Option<&str>, arguments: &[&str]) {
        let mut command = self.command();
        if let Some(policy) = policy {
            command.arg(format!("{}={policy}", environment::LOCK));
            command.arg(format!("LD_PRELOAD={}", library().display()));
        }
        let on = format!("{policy:?} {arguments:?}");
        check(&on, command.arg(&self.path).args(arguments).output());
    }

    /// Runs it with a list of preloaded libraries.
    pub(crate) fn run_with(&self, policy: &str, preloaded: &str) -> String {
        self.run_preloaded(policy, preloaded).error
    }

    fn run_preloaded(&self, policy: &str, preloaded: &str) -> Written {
        let mut command = self.command();
        command.args([format!("{}={policy}", environment::LOCK), format!("{}=1", environment::VERBOSE)]);
        // Last, so that `timeout` and `env` run without it.
        command.arg(format!("LD_PRELOAD={preloaded}")).arg(&self.path);
        let written = check(policy, command.output());
        let introduction = format!("lock policy {policy}, on-cpu layer");
        assert!(written.error.contains(&introduction), "the library was not loaded:\n{}", written.error);
        written
    }
}

/// The output of a program to stdout and to stderr.
struct Written {
    output: String,
    error: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(self.path.parent().expect("output_path made a folder"));
        }
    }
}

fn check(on: &str, ended: std::io::Result<Output>) -> Written {
    let ended = ended.expect("timeout of coreutils");
    let [output, error] = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(ended.status.success(), "on {on}: {}\n{error}", ended.status);
    output.lines().filter(|line| line.starts_with("SKIPPED")).for_each(|line| println!("on {on}: {line}"));
    Written { output, error }
}
