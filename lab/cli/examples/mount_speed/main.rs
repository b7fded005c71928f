//! The speed of `turnwise-lab mount`, compared with a minimal pass-through file system on the kernel's tmpfs.
//!
//! ```sh
//! cargo build --release -p turnwise-lab --example mount_speed --bin turnwise-lab
//! target/release/examples/mount_speed --rounds 21
//! ```
//!
//! Both are served by processes of their own, with the same number of threads, and let the kernel cache their answers
//! equally long. Rounds alternate between them; each round makes one ratio of operations per second for each operation.
//!
//! With `--neutral linux-3.10 linux-3.10-dcache` it compares two sets of locks instead, by the papers' neutral tests.

mod load;
mod neutral;
mod passthrough;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use fuser::{Config, MountOption, Session, SessionACL};
use load::OPERATIONS;
use passthrough::Passthrough;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Operations per second through `turnwise-lab mount`, as a ratio to a minimal pass-through FUSE file system.
#[derive(Parser)]
struct Args {
    /// Rounds; each does every operation on every file on both
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Files of a round
    #[arg(long, default_value_t = 1000)]
    files: usize,
    /// How long the kernel may answer from its own caches
    #[arg(long, default_value = "0s")]
    kernel_cache: humantime::Duration,
    /// Threads of each server
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The locks of ours
    #[arg(long, default_value = "today")]
    locks: String,
    /// Compare these two sets of locks by `find -size 0b` and `git diff` instead
    #[arg(long, num_args = 2, value_name = "SET")]
    neutral: Option<Vec<String>>,
    /// Serve the baseline: this directory, at that one
    #[arg(long, num_args = 2, hide = true)]
    serve: Option<Vec<PathBuf>>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    match (&args.serve, &args.neutral) {
        (Some(places), _) => serve(&places[0], &places[1], &args),
        (_, Some(locks)) => compare_locks(&args, locks),
        _ => compare(&args),
    }
}

fn serve(below: &Path, at: &Path, args: &Args) -> Result<()> {
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("passthrough".to_owned()), MountOption::DefaultPermissions];
    config.acl = SessionACL::All;
    config.n_threads = Some(args.threads);
    config.clone_fd = args.threads > 1;
    let session = Session::new(Passthrough::new(below, *args.kernel_cache)?, at, &config)?;
    println!("ready");
    Ok(session.run()?)
}

/// A server that ends with the value, and its mount with it.
struct Served {
    child: Child,
    at: PathBuf,
}

impl Served {
    fn start(mut command: Command, at: &Path) -> Result<Served> {
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("it is piped")?).read_line(&mut line)?;
        let served = Served { child, at: at.to_owned() };
        ensure!(!line.is_empty(), "{command:?} does not get ready");
        Ok(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = Command::new("umount").arg(&self.at).status();
        _ = self.child.wait();
    }
}

fn compare(args: &Args) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let below = tempfile::tempdir_in("/dev/shm").context("the baseline lies on the kernel's tmpfs")?;
    let (ours, baseline) = (scratch.path().join("ours"), scratch.path().join("baseline"));
    std::fs::create_dir(&ours)?;
    std::fs::create_dir(&baseline)?;
    let (cache, threads) = (args.kernel_cache.to_string(), args.threads.to_string());
    let _ours = Served::start(turnwise(args, &args.locks, &ours)?, &ours)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--kernel-cache", &cache, "--threads", &threads, "--serve"]).args([below.path(), &baseline]);
    let _baseline = Served::start(command, &baseline)?;
    println!(
        "{} rounds of {} files, {threads} threads each, kernel cache {cache}, locks {}",
        args.rounds, args.files, args.locks
    );
    report(args, &ours, &baseline)
}

/// Returns the command that mounts ours: the program that was built with this one.
fn turnwise(args: &Args, locks: &str, at: &Path) -> Result<Command> {
    let own = std::env::current_exe()?;
    let mut command = Command::new(own.ancestors().nth(2).context("in examples/")?.join("turnwise-lab"));
    let (cache, threads) = (args.kernel_cache.to_string(), args.threads.to_string());
    command.args(["mount", "--kernel-cache", &cache, "--threads", &threads, "--locks", locks]).arg(at);
    Ok(command)
}

fn compare_locks(args: &Args, locks: &[String]) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut served = Vec::new();
    for set in locks {
        let at = scratch.path().join(format!("{}-{set}", served.len()));
        std::fs::create_dir(&at)?;
        served.push(Served::start(turnwise(args, set, &at)?, &at)?);
        neutral::populate(&at, args.files)?;
    }
    let cache = args.kernel_cache;
    println!("{} rounds, {} files, kernel cache {cache}: {} / {}", args.rounds, args.files, locks[0], locks[1]);
    println!("{:<14} {:>10} {:>10} {:>8} {:>16}", "", "first ms", "second ms", "speed", "quartiles");
    for (name, command) in neutral::COMMANDS {
        let mut rounds = Vec::new();
        for round in 0..=args.rounds {
            let mut seconds = [0.0; 2];
            for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                seconds[side] = neutral::seconds(command, &served[side].at)?;
            }
            rounds.push(seconds);
        }
        // The first round of each warms up.
        let rounds = &rounds[1..];
        let [first, second] = [0, 1].map(|side| quartiles(rounds.iter().map(|seconds| seconds[side] * 1e3))[1]);
        let [low, middle, high] = quartiles(rounds.iter().map(|seconds| seconds[0] / seconds[1]));
        println!("{name:<14} {first:>10.1} {second:>10.1} {middle:>8.3} {:>16}", format!("{low:.3} to {high:.3}"));
    }
    Ok(())
}

fn report(args: &Args, ours: &Path, baseline: &Path) -> Result<()> {
    let mut rates = [const { Vec::new() }; OPERATIONS.len()];
    // The first round of each warms up.
    for round in 0..=args.rounds {
        let mut seconds = [[0.0; OPERATIONS.len()]; 2];
        // The two alternate in going first.
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            seconds[side] = load::round([ours, baseline][side], args.files)?;
        }
        for (operation, rates) in rates.iter_mut().enumerate().filter(|_| round > 0) {
            rates.push(seconds.map(|side| args.files as f64 / side[operation]));
        }
    }
    println!("{:<8} {:>12} {:>12} {:>8} {:>16}", "", "ours/s", "baseline/s", "ratio", "quartiles");
    for (operation, rates) in OPERATIONS.iter().zip(&rates) {
        let [ours, baseline] = [0, 1].map(|side| quartiles(rates.iter().map(|rate| rate[side]))[1]);
        let [low, middle, high] = quartiles(rates.iter().map(|rate| rate[0] / rate[1]));
        println!("{operation:<8} {ours:>12.0} {baseline:>12.0} {middle:>8.2} {:>16}", format!("{low:.2} to {high:.2}"));
    }
    Ok(())
}

fn quartiles(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}
