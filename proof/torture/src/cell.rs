//! One lock under one scenario, in this process or in a child.

use crate::arena::{Arena, Limits, STOPPED};
use crate::broken::{BROKEN, BrokenRecord};
use crate::locks::LOCKS;
use crate::ops::LockRecord;
use crate::scenarios::{Plan, SCENARIOS, ScenarioRecord};
use crate::verdict::Verdict;
use anyhow::{Context, Result};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// One lock under one scenario.
pub struct Cell {
    /// The lock.
    pub lock: &'static LockRecord,
    /// The scenario.
    pub scenario: &'static ScenarioRecord,
    /// The verdict that it must get.
    pub expected: Verdict,
    plan: Plan,
}

impl Cell {
    /// Returns one lock under one scenario, unless the lock lacks what the scenario needs.
    fn new(lock: &'static LockRecord, scenario: &'static ScenarioRecord, expected: Verdict) -> Option<Cell> {
        Some(Cell { lock, scenario, expected, plan: (scenario.plan)(lock)? })
    }

    /// Returns every lock under every scenario that suits it.
    pub fn of_locks() -> Vec<Cell> {
        let cells = |lock| SCENARIOS.iter().filter_map(move |scenario| Cell::new(lock, scenario, Verdict::Passed));
        LOCKS.iter().flat_map(cells).collect()
    }

    /// Returns every lock that is broken on purpose under the scenario that catches it.
    pub fn of_broken() -> Vec<Cell> {
        let cells = |broken: &'static BrokenRecord| {
            broken.caught_by.iter().map(|&(name, expected)| {
                let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name);
                let cell = scenario.and_then(|scenario| Cell::new(&broken.lock, scenario, expected));
                cell.unwrap_or_else(|| panic!("no scenario {name} that suits {}", broken.lock.name))
            })
        };
        BROKEN.iter().copied().flat_map(cells).collect()
    }

    /// Returns the seed of this cell in a session of seed `seed`.
    pub fn seed(&self, seed: u64) -> u64 {
        let names = self.lock.name.bytes().chain([b'/']).chain(self.scenario.name.bytes());
        names.fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) // FNV-1a
    }

    /// Runs in this process, which ends with the verdict.
    pub fn run_here(&self, limits: Limits) -> ! {
        println!("{} under {}, seed {}", self.lock.name, self.scenario.name, limits.seed);
        let arena: &'static Arena = Box::leak(Box::new(Arena::new(Limits { seed: self.seed(limits.seed), ..limits })));
        std::thread::spawn(|| arena.watch());
        (self.plan)(arena);
        arena.finish();
        println!("{} acquisitions", arena.total());
        Verdict::Passed.exit()
    }

    /// Runs in a child, which is `exe` (this crate's binary).
    fn run_in_child(&self, exe: &Path, limits: Limits) -> std::io::Result<Ended> {
        let started = Instant::now();
        let mut command = Command::new(exe);
        command.args(self.arguments(limits).split(' '));
        // The child's watchdog ends a hang; this is for a watchdog that hangs.
        let (status, output) = run(&mut command, limits.length + limits.patience * 2 + BEFORE_AND_AFTER)?;
        let verdict = match status.signal() {
            Some(libc::SIGKILL) => Verdict::Hang,
            _ => Verdict::of(status, &output),
        };
        Ok(Ended { verdict, status, output, took: started.elapsed() })
    }
}

/// Runs the cells one after the other, each in a child, which is `exe` (this crate's binary), with a line for each; all
/// sound locks together have the limits' time. Returns the worst exit status: 0 if all ended as expected.
///
/// # Errors
/// A child cannot be started or waited for, or a line cannot be written.
pub fn run_all(exe: &Path, cells: &[Cell], limits: Limits, mut say: impl FnMut(&str) -> Result<()>) -> Result<i32> {
    let sound = cells.iter().filter(|cell| cell.expected == Verdict::Passed).count();
    let length = limits.length / sound.max(1) as u32;
    let mut worst = 0;
    for cell in cells {
        let limits = match cell.expected {
            Verdict::Passed => Limits { length, ..limits },
            // A broken lock ends its run as soon as it is caught.
            Verdict::Hang => Limits { patience: HANG_SHOWS, ..broken(limits) },
            _ => broken(limits),
        };
        let ended = cell.run_in_child(exe, limits).with_context(|| format!("cannot run {}", exe.display()))?;
        say(&cell.line(&ended))?;
        ended.output.lines().filter(|line| line.starts_with("| ")).try_for_each(&mut say)?;
        if !cell.is_as_expected(&ended) {
            worst = worst.max(ended.verdict.status()).max(1);
            let again = cell.arguments(limits);
            say(&format!("{}\nagain: turnwise-torture {again}", ended.output.trim_end()))?;
        }
    }
    Ok(worst)
}

/// Returns the limits with the time in which a broken lock must be caught, on top of that of the others, and the
/// acquisitions. On a quiet machine all take about a second at most; next to other programs two threads seldom run at
/// once, as some flaws need.
fn broken(limits: Limits) -> Limits {
    Limits { length: Duration::from_secs(30), acquisitions: 100_000, ..limits }
}

/// The time that a child has in addition to its run, to start and end what it needs: the 4096 threads of `all-slots`
/// take 0.7 s of a CPU, and took 66 s with a 69th of one, behind a busy program.
const BEFORE_AND_AFTER: Duration = Duration::from_secs(120);
/// A lock that must hang gets no more patience than this.
const HANG_SHOWS: Duration = Duration::from_millis(700);

impl Cell {
    fn is_as_expected(&self, ended: &Ended) -> bool {
        ended.verdict == self.expected || ended.verdict == Verdict::Skipped
    }

    fn line(&self, ended: &Ended) -> String {
        let verdict = match (self.is_as_expected(ended), self.expected) {
            (true, Verdict::Passed) => format!("{:?}", ended.verdict),
            (true, _) => format!("caught: {:?}", ended.verdict),
            (false, expected) => format!("FAILED: {:?} ({}), expected {expected:?}", ended.verdict, ended.status),
        };
        let status = ended.status.to_string();
        let said = ended.output.lines().rev().nth(1);
        let what = if ended.verdict == Verdict::Crash { &status } else { said.unwrap_or_default() };
        let (lock, scenario) = (self.lock.name, self.scenario.name);
        format!("{lock:<20} {scenario:<15} {:>5} ms  {verdict}: {what}", ended.took.as_millis())
    }

    /// Returns the command line's words for one run in its process.
    fn arguments(&self, limits: Limits) -> String {
        let (lock, scenario) = (self.lock.name, self.scenario.name);
        let Limits { seed, acquisitions, .. } = limits;
        let [length, patience] = [limits.length, limits.patience].map(|time| time.as_secs_f64());
        let limits = format!("--seconds {length} --acquisitions {acquisitions} --patience {patience}");
        format!("--here --lock {lock} --scenario {scenario} --seed {seed} {limits}")
    }
}

/// How a child ended.
struct Ended {
    verdict: Verdict,
    status: ExitStatus,
    output: String,
    took: Duration,
}

/// Runs a child, and returns its output; kills it after `limit`, not counting time for which this process was stopped.
fn run(command: &mut Command, limit: Duration) -> std::io::Result<(ExitStatus, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (errors, stdout) = (child.stderr.take(), child.stdout.take());
    let errors = std::thread::spawn(move || read_all(errors));
    let stdout = std::thread::spawn(move || read_all(stdout));
    let mut waited = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if waited > limit {
            child.kill()?;
        }
        let looked = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        waited += looked.elapsed().min(STOPPED);
    };
    Ok((status, errors.join().unwrap_or_default() + &stdout.join().unwrap_or_default()))
}

fn read_all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // A broken pipe cuts the output short; the status still gives the verdict.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_does_not_end_is_killed() {
        let (status, _) = run(Command::new("sleep").arg("60"), Duration::from_millis(20)).expect("sleep");
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }
}
