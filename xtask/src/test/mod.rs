//! `cargo xtask test`: builds the tests, and runs their binaries side by side, the longest first.
//!
//! `cargo test` runs one binary after another, and most of the workspace's wait (for sleeps, for other programs) or
//! have one long test: two CPUs are half idle.

use crate::root::{cargo, read};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// Run the tests: of all that users hold, of the models and checks of every lock, and a short torture
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also those of the laboratory, the fault table, the fuzz targets and xtask: what CI runs
    #[arg(long)]
    workspace: bool,
    /// Parts of tests' names (all tests, if none is given)
    #[arg(value_name = "TEST")]
    named: Vec<String>,
}

/// The packages outside `crates` whose tests show whether the locks are right.
const PROOF: [&str; 3] = ["turnwise-lineage", "turnwise-model", "turnwise-torture"];

/// The longest, by package and target: begun first, so that none is left alone at the end.
const FIRST: [(&str, &str); 8] = [
    ("turnwise-model", "mutants"),
    ("turnwise-model", "explicit_mutants"),
    ("turnwise-torture", "torture"),
    ("turnwise-model", "models"),
    ("turnwise-cli", "cli"),
    ("turnwise-model", "explicit"),
    ("turnwise-preload", "programs"),
    ("turnwise-preload", "conformance"),
];

/// How cargo builds tests, and says where they are.
pub(crate) const BUILD: &str = "test --no-run --message-format=json-render-diagnostics";
/// The interval of reports on what still runs.
const SILENCE: Duration = Duration::from_secs(60);

/// Builds and runs what is requested; returns `true` if all tests passed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let start = Instant::now();
    let packages = packages(args.workspace)?;
    let Some(mut jobs) = build(cargo(BUILD).args(&packages))? else { return Ok(false) };
    let built = start.elapsed();
    jobs.sort_by_key(|job| FIRST.iter().position(|&first| first == (&job.package, &job.target)).unwrap_or(FIRST.len()));
    jobs.push(documentation(&packages)?);
    let (mut sum, mut failed) = (Tests::default(), Vec::new());
    side_by_side(jobs, &args.named, |job, output, took| {
        let tests = Tests::of(&output.stdout);
        sum.passed += tests.passed;
        sum.failed += tests.failed;
        let (name, seconds) = (job.name(), took.as_secs_f64());
        if output.status.success() {
            println!("ok      {:>5} tests {seconds:>6.1} s  {name}", tests.passed);
            return;
        }
        println!("FAILED  {:>5} tests {seconds:>6.1} s  {name}: {}", tests.failed, output.status);
        failed.push((job, output));
    })?;
    for (job, output) in &failed {
        println!("\n==> {} failed ({}):", job.name(), output.status);
        show(output);
    }
    println!("\nbuilt in {} s, run in {} s", built.as_secs(), (start.elapsed() - built).as_secs());
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("test result: {verdict}. {} passed; {} failed", sum.passed, sum.failed);
    Ok(failed.is_empty())
}

/// Returns cargo's arguments for the packages whose tests are requested.
fn packages(workspace: bool) -> Result<Vec<String>> {
    if workspace {
        return Ok(vec!["--workspace".to_owned()]);
    }
    let product = std::fs::read_dir("crates").context("cannot list crates")?.map(|folder| {
        let manifest = read(folder.context("cannot list crates")?.path().join("Cargo.toml"))?;
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        name.map(str::to_owned).context("a manifest names no package")
    });
    let packages = product.chain(PROOF.map(|name| Ok(name.to_owned())));
    packages.map(|package| Ok(format!("--package={}", package?))).collect()
}

/// A program that runs tests.
#[derive(Clone)]
pub(crate) struct Job {
    package: String,
    target: String,
    folder: PathBuf,
    /// Program and arguments.
    line: Vec<String>,
}

impl Job {
    fn name(&self) -> String {
        format!("{} {}", self.package, self.target)
    }

    /// Returns it as Cargo would start it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.line[0]);
        command.args(&self.line[1..]).current_dir(&self.folder).stdin(Stdio::null());
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("CARGO_PKG_NAME", &self.package);
        command
    }

    fn run(&self, named: &[String]) -> Result<Output> {
        self.command().args(named).output().with_context(|| format!("cannot start {}", self.line[0]))
    }
}

/// Builds tests, by a `cargo test` with [`BUILD`]; `None`: they do not compile.
pub(crate) fn build(command: &mut Command) -> Result<Option<Vec<Job>>> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut jobs = Vec::new();
    for line in BufReader::new(child.stdout.take().context("no pipe")?).lines() {
        let message: Value = serde_json::from_str(&line.context("cannot read what cargo prints")?).unwrap_or_default();
        let (program, manifest) = (message["executable"].as_str(), message["manifest_path"].as_str());
        let (Some(program), Some(manifest), true) = (program, manifest, message["profile"]["test"] == true) else {
            continue;
        };
        let folder = Path::new(manifest).parent().context("a manifest lies in a folder")?.to_path_buf();
        let kinds: Vec<_> =
            message["target"]["kind"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let name = if kinds.contains(&"test") { message["target"]["name"].as_str() } else { None };
        let target = name.map_or_else(|| kinds.concat(), str::to_owned);
        let package = package_of(message["package_id"].as_str().unwrap_or_default()).to_owned();
        jobs.push(Job { package, target, folder, line: vec![program.to_owned()] });
    }
    Ok(child.wait().context("cannot wait for cargo")?.success().then_some(jobs))
}

/// Returns the name in cargo's identifier of a package, which leaves it out if it is the folder's.
fn package_of(id: &str) -> &str {
    let (place, name) = id.split_once('#').unwrap_or((id, ""));
    name.split_once('@').map_or_else(|| place.rsplit('/').next().unwrap_or(place), |(name, _)| name)
}

/// Returns the examples in their documentation, which Cargo compiles when it runs them. `cargo test --doc` would
/// rebuild half of what is already built, with other features: so it is the command that built the rest, and a runner
/// skips the other programs.
fn documentation(packages: &[String]) -> Result<Job> {
    let runner = std::path::absolute("xtask/src/test/examples.sh").context("cannot find the current folder")?;
    let runner = format!("target.'cfg(all())'.runner = ['sh', {:?}]", runner.display().to_string());
    let line = ["cargo", "test", "--quiet", "--config", &runner].map(str::to_owned).into_iter();
    let line = line.chain(packages.iter().cloned()).chain(["--".to_owned()]).collect();
    Ok(Job { package: "all".into(), target: "documentation".into(), folder: ".".into(), line })
}

/// Runs the jobs, at most as many at a time as leave each two CPUs (two, if there are fewer than four); `ended` gets
/// each as it ends.
fn side_by_side(jobs: Vec<Job>, named: &[String], mut ended: impl FnMut(Job, Output, Duration)) -> Result<()> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = (cpus / 2).max(2);
    let (waiting, running) = (Mutex::new(VecDeque::from(jobs)), Mutex::new(Vec::new()));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|threads| {
        for _ in 0..workers {
            let (sender, waiting, running) = (sender.clone(), &waiting, &running);
            threads.spawn(move || {
                // Not `while let`: the queue would be locked while the job runs.
                loop {
                    let Some(job) = lock(waiting).pop_front() else { return };
                    lock(running).push(job.name());
                    let start = Instant::now();
                    let output = job.run(named);
                    lock(running).retain(|name| *name != job.name());
                    if sender.send((job, output, start.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(SILENCE) {
                Ok((job, output, took)) => ended(job, output?, took),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    println!("        still running: {}", lock(&running).join(", "))
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    })
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Shows a program's output, except for the sum, which the last line has for all.
fn show(output: &Output) {
    let printed = [output.stdout.as_slice(), &output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    printed.lines().filter(|line| !line.starts_with("test result: ")).for_each(|line| println!("{line}"));
}

/// Tests that the test runners reported.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tests {
    fn of(output: &[u8]) -> Self {
        let mut tests = Tests::default();
        String::from_utf8_lossy(output).lines().for_each(|line| tests.count(line));
        tests
    }

    /// Adds the counts of `test result: ok. 3 passed; 0 failed; …`.
    pub(crate) fn count(&mut self, line: &str) {
        let Some(result) = line.trim().strip_prefix("test result: ") else { return };
        let number = |what: &str| {
            let words: Vec<&str> = result.split([' ', ';']).filter(|w| !w.is_empty()).collect();
            words.windows(2).find(|pair| pair[1] == what).and_then(|pair| pair[0].parse::<u64>().ok()).unwrap_or(0)
        };
        self.passed += number("passed");
        self.failed += number("failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn packages_have_the_name_of_their_folder_or_another() {
        assert_eq!(package_of("path+file:///a/b/cli#turnwise-cli@0.1.0"), "turnwise-cli");
        assert_eq!(package_of("path+file:///a/xtask#0.1.0"), "xtask");
    }

    #[test]
    fn counts_tests() {
        let mut tests = Tests::default();
        tests.count("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.57s");
        tests.count("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        tests.count("99 passed");
        assert_eq!(tests, Tests { passed: 13, failed: 2 });
    }

    fn job(script: &str) -> Job {
        let line = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
        Job { package: "p".into(), target: script.into(), folder: ".".into(), line }
    }

    #[test]
    fn each_program_runs_once_with_the_names_asked_for() {
        let mut seen = Vec::new();
        let jobs = vec![job("echo a \"$@\""), job("exit 3"), job("echo c \"$@\"")];
        side_by_side(jobs, &["name".to_owned()], |_, output, _| {
            seen.push((String::from_utf8(output.stdout).unwrap(), output.status.into_raw() >> 8));
        })
        .unwrap();
        seen.sort();
        assert_eq!(seen, [(String::new(), 3), ("a name\n".to_owned(), 0), ("c name\n".to_owned(), 0)]);
    }

    /// Each of them ends when the other has begun.
    #[test]
    fn two_programs_run_at_the_same_time() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let jobs = vec![job(&format!("cat {}", fifo.display())), job(&format!("echo met > {}", fifo.display()))];
        let mut seen = String::new();
        side_by_side(jobs, &[], |_, output, _| seen += &String::from_utf8_lossy(&output.stdout)).unwrap();
        assert_eq!(seen, "met\n");
    }

    #[test]
    fn a_program_that_cannot_be_started_is_an_error() {
        let mut job = job("true");
        job.line[0] = "/no/such/program".into();
        let error = side_by_side(vec![job], &[], |_, _, _| ()).unwrap_err();
        assert!(error.to_string().contains("/no/such/program"), "{error:#}");
    }
}
