//! `cargo xtask fuzz`: the targets of `cargo test`, driven by libFuzzer, for as long as one likes (`proof/fuzz`).

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What `proof/fuzz/src/lib.rs` reads.
const SECONDS: &str = "TURNWISE_FUZZ_SECONDS";
const KEEP: &str = "TURNWISE_FUZZ_KEEP";
/// How cargo builds the tests that have targets.
const BUILD: &str = "test --quiet --no-run --message-format=json --target-dir target/fuzz-build \
     --features turnwise-fuzz/libfuzzer \
     -p turnwise-fuzz -p turnwise-futex-trace -p turnwise-cli -p turnwise-lab \
     --lib --bin turnwise --bin turnwise-lab --test fuzz";
/// libFuzzer sees by these which code an input reaches. They are of the stable compiler, too.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// Feed hostile input to all that reads from outside, for long; what crashes it is left below target/fuzz
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// List the targets
    #[arg(long)]
    list: bool,
    /// Put the smallest inputs that reach all that was reached into proof/fuzz/corpus
    #[arg(long)]
    keep: bool,
    /// Targets (all, if none is named)
    targets: Vec<String>,
}

/// A target: the test that has it.
struct Target {
    name: String,
    test: String,
    executable: PathBuf,
    folder: PathBuf,
}

/// Builds the targets and runs those asked for; `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let all = targets()?;
    if args.list {
        all.iter().for_each(|target| println!("{}", target.name));
        return Ok(true);
    }
    if let Some(unknown) = args.targets.iter().find(|name| all.iter().all(|target| target.name != **name)) {
        bail!("no target is called `{unknown}`; `cargo xtask fuzz --list` lists them");
    }
    let is_chosen = |target: &&Target| args.targets.is_empty() || args.targets.contains(&target.name);
    let mut failed = Vec::new();
    for target in all.iter().filter(is_chosen) {
        println!("\n==> {}", target.name);
        let mut command = Command::new(&target.executable);
        command.args(["--exact", &target.test, "--nocapture"]).current_dir(&target.folder);
        command.env("CARGO_MANIFEST_DIR", &target.folder).env(SECONDS, args.seconds.to_string());
        command.envs(args.keep.then_some((KEEP, "1")));
        if !command.status().with_context(|| format!("cannot run {}", target.executable.display()))?.success() {
            failed.push(target.name.as_str());
        }
    }
    if !failed.is_empty() {
        println!(
            "\nFailed: {}. Their inputs lie in target/fuzz: mend what they show, and keep them",
            failed.join(", ")
        );
    }
    Ok(failed.is_empty())
}

/// Builds all tests that have targets, and asks them.
fn targets() -> Result<Vec<Target>> {
    let host = host()?;
    let mut build = Command::new("cargo");
    // With a target, build scripts and derive macros are built without the flags.
    build.args(BUILD.split_whitespace()).args(["--target", &host]).stdout(Stdio::piped());
    build.env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\x1f"));
    build.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_INCREMENTAL", "0");
    let built = build.spawn().context("cannot run cargo")?.wait_with_output()?;
    ensure!(built.status.success(), "the targets do not build");
    let mut found = Vec::new();
    for line in String::from_utf8(built.stdout)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        let (Some(executable), Some(manifest)) = (message["executable"].as_str(), message["manifest_path"].as_str())
        else {
            continue;
        };
        let (executable, manifest) = (PathBuf::from(executable), PathBuf::from(manifest));
        let folder = manifest.parent().context("a manifest lies in a folder")?.to_path_buf();
        let listed = Command::new(&executable).args(["--list", "--format", "terse"]).current_dir(&folder).output()?;
        let tests = String::from_utf8_lossy(&listed.stdout).into_owned();
        for test in tests.lines().filter_map(|line| line.strip_suffix(": test")) {
            let Some(name) = test.rsplit("::").next().and_then(|name| name.strip_prefix("fuzz_")) else { continue };
            let (executable, folder) = (executable.clone(), folder.clone());
            found.push(Target { name: name.replace('_', "-"), test: test.to_owned(), executable, folder });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The machine that the compiler is for.
fn host() -> Result<String> {
    let told = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let told = String::from_utf8(told.stdout)?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say which machine it is for")
}
