//! `cargo xtask fuzz`: the targets of `cargo test`, driven by libFuzzer, for any length of time (`proof/fuzz`).

use crate::command::{all_known, git, host, lines};
use crate::root::cargo;
use crate::test::{self, BUILD, Job};
use anyhow::{Context, Result};

/// The variable that `proof/fuzz/src/lib.rs` reads.
const SECONDS: &str = "TURNWISE_FUZZ_SECONDS";
const KEEP: &str = "TURNWISE_FUZZ_KEEP";
/// How tests that have targets are built, apart from the others.
const FUZZED: [&str; 5] = ["--quiet", "--target-dir", "target/fuzz-build", "--features", "turnwise-fuzz/libfuzzer"];
/// Where targets are: the package, its folder, and which of its tests have them. The first has few dependencies, the
/// last nearly all of them.
const HOMES: [(&str, &str, &[&str]); 4] = [
    ("turnwise-fuzz", "proof/fuzz", &["--test", "fuzz"]),
    ("turnwise-futex-trace", "crates/futex-trace", &["--lib"]),
    ("turnwise-cli", "crates/cli", &["--bin", "turnwise"]),
    ("turnwise-lab", "lab/cli", &["--bin", "turnwise-lab"]),
];
/// libFuzzer sees by these which code an input reaches. The stable compiler has them, too.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// Feed hostile input to all parsers of outside data, for a long time; crashing inputs are left below target/fuzz
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// List the targets
    #[arg(long)]
    list: bool,
    /// Put the smallest inputs with the same coverage into proof/fuzz/corpus
    #[arg(long)]
    keep: bool,
    /// Targets (all, if none is named)
    targets: Vec<String>,
}

/// Builds the requested targets and runs them; returns `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let named = names()?;
    if args.list {
        named.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(true);
    }
    all_known(&args.targets, named.iter().map(|(name, _)| &**name), "target")?;
    let is_chosen = |name: &String| args.targets.is_empty() || args.targets.contains(name);
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    // One after the other: those built first run without waiting for the rest.
    for home in 0..HOMES.len() {
        let chosen: Vec<_> = named.iter().filter(|(name, of)| *of == home && is_chosen(name)).collect();
        if chosen.is_empty() {
            continue;
        }
        let job = build(home)?;
        for (name, _) in chosen {
            println!("\n==> {name}");
            let (ok, seen) = fuzz(name, &job, args)?;
            rows.push(format!("| {name} | {} | {}", seen.row(), if ok { "0 |" } else { "1 |" }));
            failed.extend((!ok).then_some(name.as_str()));
        }
    }
    println!("\n| target | executions | code reached at first | at the end | crashes |\n|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    if !failed.is_empty() {
        let failed = failed.join(", ");
        println!("\nFailed: {failed}. Their inputs lie in target/fuzz: mend what they show, and keep them");
    }
    Ok(failed.is_empty())
}

/// Returns the targets, by name, and the place of each one's home in [`HOMES`].
fn names() -> Result<Vec<(String, usize)>> {
    let mut names = Vec::new();
    for (place, (_, folder, _)) in HOMES.iter().enumerate() {
        let found = git(&["grep", "--untracked", "-hoE", r"^ *fn fuzz_[a-z_]+\(\)", "--", &format!(":/{folder}")])?;
        let found = found.lines().filter_map(|line| line.trim().strip_prefix("fn fuzz_")?.strip_suffix("()"));
        names.extend(found.map(|name| (name.replace('_', "-"), place)));
    }
    names.sort();
    Ok(names)
}

/// What libFuzzer reports of a run: coverage is counted in edges of the code's graph.
#[derive(Default)]
struct Seen {
    executions: Option<u64>,
    first: Option<u64>,
    last: Option<u64>,
}

impl Seen {
    /// Parses a line such as `#2048 pulse  cov: 712 ft: 1843 …`.
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(executions) = words.first().and_then(|word| word.strip_prefix('#')?.parse().ok()) else { return };
        let reached = words.iter().skip_while(|word| **word != "cov:").nth(1).and_then(|word| word.parse().ok());
        self.executions = Some(executions);
        self.last = reached.or(self.last);
        if words.get(1) == Some(&"INITED") {
            self.first = reached;
        }
    }

    fn row(&self) -> String {
        let shown = |number: Option<u64>| number.map_or_else(|| "unknown".to_owned(), |number| number.to_string());
        [self.executions, self.first, self.last].map(shown).join(" | ")
    }
}

/// Has libFuzzer run a target, which is a test of the job; returns whether it found nothing, and its report.
fn fuzz(name: &str, job: &Job, args: &Args) -> Result<(bool, Seen)> {
    let mut command = job.command();
    // The path of its module may come before. No target's name is the beginning of another's.
    command.args([&format!("fuzz_{}", name.replace('-', "_")), "--nocapture"]);
    command.env(SECONDS, args.seconds.to_string()).envs(args.keep.then_some((KEEP, "1")));
    let (mut seen, mut is_there) = (Seen::default(), false);
    let status = lines(&mut command, |line| {
        eprintln!("{line}");
        seen.line(&line);
        is_there |= line == "running 1 test";
        Ok(())
    })?;
    Ok((status.success() && is_there, seen))
}

/// Builds the tests of one home that have targets.
fn build(home: usize) -> Result<Job> {
    let (package, _, tests) = HOMES[home];
    println!("building the targets of {package}");
    // With a target, build scripts and derive macros are built without the flags.
    let mut build = cargo(BUILD);
    build.args(FUZZED).args(["--target", &host()?, "-p", package]).args(tests);
    build.env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\x1f"));
    build.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_INCREMENTAL", "0");
    let built = test::build(&mut build)?.and_then(|mut jobs| jobs.pop());
    built.with_context(|| format!("the targets of {package} do not build"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_home_has_targets_and_no_two_have_one_name() {
        let named = names().unwrap();
        for (place, (package, ..)) in HOMES.iter().enumerate() {
            assert!(named.iter().any(|(_, home)| *home == place), "{package} has none");
        }
        assert!(named.windows(2).all(|pair| !pair[1].0.starts_with(&pair[0].0)), "{named:?}");
        assert!(named.contains(&("lab-command".to_owned(), 3)), "{named:?}");
    }

    #[test]
    fn what_libfuzzer_reached_is_reported() {
        let mut seen = Seen::default();
        assert_eq!(seen.row(), "unknown | unknown | unknown");
        for line in [
            "INFO: Seed: 1",
            "#2\tINITED cov: 40 ft: 41 corp: 1/1b exec/s: 0 rss: 30Mb",
            "#2048\tpulse  cov: 52 ft: 90 corp: 9/1b lim: 4 exec/s: 682 rss: 50Mb",
            "#4096\tDONE   cov: 55 ft: 99 corp: 9/1b lim: 4 exec/s: 682 rss: 50Mb",
            "stat::number_of_executed_units: 4096",
        ] {
            seen.line(line);
        }
        assert_eq!(seen.row(), "4096 | 40 | 55");
    }
}
