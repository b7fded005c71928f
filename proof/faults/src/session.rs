//! What all faults need: the programs' places, chance, time, and the victims.

use crate::board::Shared;
use crate::inject::rlimit::Somebody;
use crate::inject::{Injector, Nothing};
use crate::run::{Limits, Tally, watch};
use anyhow::{Context, Result, ensure};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;
use turnwise_preload_abi::{environment, libraries};

/// `victims/pthreads.c` under the preload library is `pthreads`; with `victims/clock.c`, whose wall clock is stepped,
/// `stepped`; `victims/processes.c` is `processes`; and this program, on Turnwise's own types:
const OWN: &str = "own";

/// The lists of victims.
static LISTS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    toml::from_str(include_str!("victims.toml")).unwrap_or_else(|error| panic!("victims.toml: {error}"))
});

/// Threads or processes that fight over a lock, as `victims.toml` describes them.
#[derive(Clone, Copy)]
pub(crate) struct Victim {
    program: &'static str,
    policy: &'static str,
    lock: &'static str,
    pub(crate) threads: usize,
    /// Not in the short form.
    pub(crate) wide: bool,
    /// Its waiters spin, and make no futex calls.
    pub(crate) spins: bool,
}

impl Victim {
    pub(crate) fn new(line: &'static str) -> Self {
        let mut words = line.split(' ');
        let [program, policy, lock] = [(); 3].map(|()| words.next().unwrap_or_else(|| panic!("a victim: {line}")));
        let mut victim = Victim { program, policy, lock, threads: 4, wide: false, spins: false };
        for word in words {
            match word {
                "long" => victim.wide = true,
                "spins" => victim.spins = true,
                number => victim.threads = number.parse().unwrap_or_else(|_| panic!("a victim: {line}")),
            }
        }
        victim
    }

    fn name(&self) -> String {
        if self.program == OWN { self.lock.to_owned() } else { format!("{} ({})", self.lock, self.policy) }
    }
}

/// Returns a list of victims.
pub(crate) fn victims(list: &str) -> Vec<Victim> {
    LISTS[list].iter().copied().map(Victim::new).collect()
}

/// The sources of threads that fight over one of POSIX's locks.
const PTHREADS: &[&str] = &["pthreads.c", "deeds.c", "filters.c", "kinds.c"];

pub(crate) struct Session {
    rng: SmallRng,
    /// C victims and the preload library, in a place that any user may read.
    scratch: TempDir,
    /// Where cargo put the programs.
    built: PathBuf,
    pub(crate) wide: bool,
    /// For each fault.
    pub(crate) length: Duration,
}

impl Session {
    pub(crate) fn new(seed: u64, built: &Path, wide: bool, length: Duration) -> Result<Self> {
        let scratch = TempDir::with_prefix("turnwise-faults-").context("cannot make a folder")?;
        let library = format!("{}.so", libraries::PRELOAD);
        let from = built.join(&library);
        fs::copy(&from, scratch.path().join(&library))
            .with_context(|| format!("no {}: start this with `cargo xtask faults`, which builds it", from.display()))?;
        let session = Session { rng: SmallRng::seed_from_u64(seed), scratch, built: built.to_owned(), wide, length };
        session.compile("pthreads", PTHREADS)?;
        if cfg!(target_arch = "x86_64") {
            // Its definitions take the C library's place for the preload library, too.
            session.compile("stepped", &[PTHREADS, &["clock.c", "-Wl,--export-dynamic"]].concat())?;
        }
        session.compile("processes", &["processes.c"])?;
        session.compile("short", &["short.c"])?;
        Ok(session)
    }

    fn compile(&self, name: &str, sources: &[&str]) -> Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("victims");
        let mut compiler = Command::new("gcc");
        compiler.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(self.path(name));
        compiler.current_dir(folder).args(sources);
        let output = compiler.output().context("cannot run gcc, which compiles the victims")?;
        ensure!(output.status.success(), "gcc cannot compile {name}:\n{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Returns a path in the session's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Returns a random-number generator for an injector.
    pub(crate) fn rng(&mut self) -> SmallRng {
        SmallRng::seed_from_u64(self.rng.next_u64())
    }

    /// Returns a user who has no processes and may read what is here.
    pub(crate) fn somebody(&self) -> Result<Somebody> {
        let (user, home) = (700_000 + std::process::id() % 100_000, self.path("home"));
        fs::create_dir_all(&home).context("cannot make a folder for another user")?;
        chown(&home, Some(user), Some(user)).context("cannot give a folder to another user")?;
        fs::set_permissions(self.scratch.path(), Permissions::from_mode(0o755)).context("cannot open a folder")?;
        Ok(Somebody { user, home })
    }

    /// Returns one of our programs.
    pub(crate) fn tool(&self, name: &str) -> Result<PathBuf> {
        let path = self.built.join(name);
        ensure!(path.is_file(), "no {}: start this with `cargo xtask faults`, which builds it", path.display());
        Ok(path)
    }

    /// Returns a profile, made when it is first asked for.
    pub(crate) fn ready(&self) -> Result<PathBuf> {
        let ready = self.path("ready.json");
        if !ready.exists() {
            let mut command = Command::new(self.tool("turnwise")?);
            command.args(["profile", "--json"]).arg(&ready).arg("--").arg(self.path("short"));
            let output = command.output().context("cannot run turnwise")?;
            ensure!(output.status.success(), "turnwise profile: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(ready)
    }

    /// Returns the command that starts a victim.
    pub(crate) fn command(&self, victim: &Victim, deed: &str, board: &Shared) -> Result<Command> {
        let (descriptor, threads) = (board.descriptor().to_string(), victim.threads.to_string());
        if victim.program == OWN {
            let mut command = Command::new(std::env::current_exe().context("where am I?")?);
            command.args(["victim", &descriptor, victim.lock, &threads]);
            return Ok(command);
        }
        let mut command = Command::new(self.path(victim.program));
        command.args([&descriptor, victim.lock, deed, &threads]);
        command.env("LD_PRELOAD", self.path(&format!("{}.so", libraries::PRELOAD)));
        command.env(environment::LOCK, victim.policy).env("XDG_RUNTIME_DIR", self.scratch.path());
        // Also where system calls are filtered, as some injectors do. Where the program's own filter watches for calls
        // that it would not make, a view is not wanted.
        if deed.starts_with("deny:") {
            command.env_remove("TURNWISE_LIVE");
        } else {
            command.env("TURNWISE_LIVE", "1");
        }
        Ok(command)
    }

    /// Runs one victim under one injector.
    pub(crate) fn one(&self, victim: &Victim, deed: &str, with: &mut dyn Injector, limits: Limits) -> Result<Tally> {
        let board = Shared::new()?;
        let command = self.command(victim, deed, &board)?;
        let mut tally = watch(&board, command, with, limits)?.into_tally();
        let named = |text: String| format!("{}: {text}", victim.name());
        tally.trouble = tally.trouble.into_iter().map(named).collect();
        if tally.tries == 0 && tally.hangs == 0 && tally.lost == 0 {
            tally.trouble.push(named("no fault was injected, so the run shows nothing".to_owned()));
        }
        Ok(tally)
    }

    /// Runs each victim of a list, which does this deed to itself.
    pub(crate) fn itself(&mut self, list: &str, deed: &str) -> Result<Tally> {
        self.each(&victims(list), deed, |_| Ok(Nothing))
    }

    /// Runs each victim under an injector of its own.
    pub(crate) fn each<I: Injector>(
        &mut self,
        victims: &[Victim],
        deed: &str,
        mut make: impl FnMut(SmallRng) -> Result<I>,
    ) -> Result<Tally> {
        let chosen: Vec<_> = victims.iter().filter(|victim| self.wide || !victim.wide).collect();
        let length = self.length / chosen.len().max(1) as u32;
        let limits = Limits::of(length);
        let mut sum = Tally::default();
        for victim in chosen {
            let mut injector = make(self.rng())?;
            sum.add(self.one(victim, deed, &mut injector, limits)?);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_victim_is_a_program_that_is_made() {
        for victim in LISTS.values().flatten().copied().map(Victim::new) {
            let programs = [OWN, "pthreads", "stepped", "processes"];
            assert!(programs.contains(&victim.program) && victim.threads > 0, "{}", victim.name());
        }
    }
}
