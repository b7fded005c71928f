//! Builds C programs, runs them under the recorder, and reads what was recorded.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{LazyLock, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_preload_abi::{environment, libraries};
use turnwise_profile::analysis::analyse;
use turnwise_profile::model::{Lock, Profile, Site};
use turnwise_recording::reader::Recording;
use turnwise_recording::writer::{self, End};
use turnwise_recording::{EXITED, SIGNALLED};

/// A time longer than any program takes, in seconds; a hang ends as exit status 124.
const LIMIT_S: &str = "300";

/// Returns a shared object that cargo built for this test: next to the test's own executable, or one folder up.
pub(crate) fn library(stem: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folders: Vec<&Path> = test.ancestors().skip(1).take(2).collect();
    let found = folders.iter().map(|folder| folder.join(stem).with_extension("so")).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no {stem}.so in {folders:?}: build it with cargo in the same profile"))
}

/// The folder of the programs of the preload library's tests.
const OF_PRELOAD: &str = "../preload/tests/c";

/// Returns a program of `tests/c`, or of the preload library's tests, built once.
pub(crate) fn program(name: &str) -> &'static Path {
    static TRUTH: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "truth", &[]));
    static INSIDE: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "inside", &[]));
    static FIRST_USE: LazyLock<PathBuf> = LazyLock::new(|| built(OF_PRELOAD, "first_use", &[]));
    static SANITIZED: LazyLock<PathBuf> = LazyLock::new(|| built(OF_PRELOAD, "sanitized", &[]));
    static ORDERS: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "orders", &[]));
    static JOURNAL: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "journal", &[]));
    static ODD_FRAMES: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "odd_frames", &[]));
    static LIMITS: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "limits", &[]));
    static REGISTERED: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "registered_frames", &[]));
    static PLUGINS: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "plugins", &["-ldl"]));
    static ASLEEP: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "asleep", &[]));
    static ASLEEP_20: LazyLock<PathBuf> = LazyLock::new(|| built("tests/c", "asleep20.cpp", &["-std=c++20"]));
    static ASLEEP_RS: LazyLock<PathBuf> = LazyLock::new(|| example("asleep"));
    match name {
        "asleep" => &ASLEEP,
        "asleep20" => &ASLEEP_20,
        "asleep.rs" => &ASLEEP_RS,
        "inside" => &INSIDE,
        "odd_frames" => &ODD_FRAMES,
        "limits" => &LIMITS,
        "registered_frames" => &REGISTERED,
        "journal" => &JOURNAL,
        "orders" => &ORDERS,
        "plugins" => &PLUGINS,
        "first_use" => &FIRST_USE,
        "sanitized" => &SANITIZED,
        _ => &TRUTH,
    }
}

/// Returns a program of `examples`, which cargo built for this test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let path = test.ancestors().nth(2).expect("a folder").join("examples").join(name);
    assert!(path.is_file(), "no {}: build it with `cargo build -p turnwise-recorder --examples`", path.display());
    path
}

/// Returns a shared object of `tests/c`.
pub(crate) fn shared_object(name: &str) -> PathBuf {
    built("tests/c", name, &["-shared", "-fPIC"])
}

/// Returns the plug-in of `tests/c`, with this prefix of its names.
pub(crate) fn plugin(name: &str) -> PathBuf {
    built("tests/c", "plugin", &["-shared", "-fPIC", &format!("-DNAME={name}")])
}

/// Returns a shared object of the preload library's tests.
pub(crate) fn shared_object_of_preload(name: &str) -> PathBuf {
    built(OF_PRELOAD, name, &["-shared", "-fPIC"])
}

fn built(folder: &str, name: &str, how: &[&str]) -> PathBuf {
    let moment = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{moment}", std::process::id()));
    let is_cpp = name.ends_with(".cpp");
    let source = if is_cpp { name.to_owned() } else { format!("{name}.c") };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(source);
    let mut command = Command::new(if is_cpp { "g++" } else { "gcc" });
    command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]).args(how);
    command.arg("-o").arg(&path).arg(source);
    let output = command.output().expect("gcc runs; these tests need it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

/// Locked for writing by a program that is to have the CPUs for itself, for reading by all others.
static CPUS: RwLock<()> = RwLock::new(());

/// A recorded run.
pub(crate) struct Run {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) status: ExitStatus,
}

impl Run {
    /// Runs `truth NAME`.
    pub(crate) fn of(name: &str) -> Run {
        Run::program("truth", name, &[], &[])
    }

    /// Runs `truth NAME` while no other test runs a program.
    pub(crate) fn alone(name: &str) -> Run {
        let _all = CPUS.write().unwrap_or_else(PoisonError::into_inner);
        Run::recorded("truth", name, &[], &[])
    }

    /// Runs `truth NAME`, with stretches of its threads' operations in order.
    pub(crate) fn in_order(name: &str) -> Run {
        let _some = CPUS.read().unwrap_or_else(PoisonError::into_inner);
        Run::kept("truth", name, &[], &[], true)
    }

    /// Runs a program with this argument (none if it is empty), more libraries after the recorder, and these variables.
    pub(crate) fn program(program: &str, name: &str, more: &[PathBuf], variables: &[(&str, &str)]) -> Run {
        let _some = CPUS.read().unwrap_or_else(PoisonError::into_inner);
        Run::recorded(program, name, more, variables)
    }

    fn recorded(program: &str, name: &str, more: &[PathBuf], variables: &[(&str, &str)]) -> Run {
        Run::kept(program, name, more, variables, false)
    }

    fn kept(program: &str, name: &str, more: &[PathBuf], variables: &[(&str, &str)], steps: bool) -> Run {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("recording");
        writer::create(&file).expect("a recording");
        if steps {
            writer::keep_steps(&file).expect("the recording is there");
        }
        let libraries: Vec<String> =
            [library(libraries::RECORDER)].iter().chain(more).map(|path| path.display().to_string()).collect();
        let mut command = Command::new("timeout");
        command.args(["-k", "5", LIMIT_S, "env"]).arg(format!("LD_PRELOAD={}", libraries.join(":")));
        command.arg(format!("{}={}", environment::RECORDING, file.display()));
        command.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(self::program(program)).args(Some(name).filter(|name| !name.is_empty()));
        let status = command.status().expect("timeout of coreutils");
        let (ending, value) = match (status.code(), status.signal()) {
            (Some(code), _) => (EXITED, code),
            (_, signal) => (SIGNALLED, signal.unwrap_or(0)),
        };
        writer::finish(&file, &End { ending, value: value as u32, monotonic_ns: now(), machine: "test" })
            .expect("the recording is there");
        Run { directory, status }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("recording")
    }

    /// Returns the recorded profile of a program that ended well.
    #[track_caller]
    pub(crate) fn profile(&self) -> Profile {
        assert!(self.status.success(), "{}", self.status);
        profile(&self.file())
    }

    /// Returns the recordings of other processes.
    pub(crate) fn others(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.directory.path()).expect("the directory");
        files.map(|file| file.expect("a file").path()).filter(|path| *path != self.file()).collect()
    }
}

fn now() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").expect("Linux has it");
    let seconds: f64 = uptime.split(' ').next().and_then(|text| text.parse().ok()).expect("seconds");
    (seconds * 1e9) as u64
}

/// Returns the profile of a recording.
#[track_caller]
pub(crate) fn profile(file: &Path) -> Profile {
    let recording = Recording::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    analyse(&recording).expect("it is sound")
}

/// Returns the lock of this variable.
#[track_caller]
pub(crate) fn lock<'a>(profile: &'a Profile, name: &str) -> &'a Lock {
    let names = || profile.locks.iter().map(|lock| &lock.name).collect::<Vec<_>>();
    profile.locks.iter().find(|lock| lock.name == name).unwrap_or_else(|| panic!("no {name} in {:?}", names()))
}

/// Returns the function in which a site is.
pub(crate) fn function<'a>(profile: &'a Profile, site: &Site) -> &'a str {
    &profile.frames[site.frames[0] as usize].function
}

/// Returns the locks of each cycle, from the one that comes first by name; the cycles sorted.
pub(crate) fn cycles(profile: &Profile) -> Vec<String> {
    let named = profile.cycles.iter().map(|cycle| {
        let mut names: Vec<&str> =
            cycle.steps.iter().map(|step| profile.locks[step.held as usize].name.as_str()).collect();
        let first = (0..names.len()).min_by_key(|place| names[*place]).unwrap_or(0);
        names.rotate_left(first);
        names.join(" ")
    });
    let mut named: Vec<String> = named.collect();
    named.sort_unstable();
    named
}
