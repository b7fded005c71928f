//! What was tried, lock by lock: the lines of the table that `cargo xtask models` prints at its end.

use crate::lock::Lock;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fmt, fs, io};

/// A folder in the environment where each test leaves its line.
pub const FOLDER: &str = "TURNWISE_MODEL_TABLE";

/// One line: all models of a lock on one engine.
#[derive(Clone, Debug)]
pub struct Row {
    /// The lock.
    pub lock: Lock,
    /// What runs them.
    pub engine: &'static str,
    /// How many models there are.
    pub models: usize,
    /// How many executions or states were tried.
    pub tried: u64,
    /// What these are.
    pub unit: &'static str,
    /// How long that took.
    pub elapsed: Duration,
    /// The rare lines entered ([`crate::lines`]).
    pub lines: BTreeSet<&'static str>,
}

impl Row {
    /// Creates a line without models yet.
    pub fn new(lock: Lock, engine: &'static str, unit: &'static str) -> Self {
        Row { lock, engine, models: 0, tried: 0, unit, elapsed: Duration::ZERO, lines: BTreeSet::new() }
    }

    /// Adds a model's run.
    pub fn add(&mut self, tried: u64, elapsed: Duration) {
        self.models += 1;
        self.tried += tried;
        self.elapsed += elapsed;
    }

    /// Prints the line, and leaves it in [`FOLDER`], if that is set.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn tell(&self) -> io::Result<()> {
        println!("{self}");
        let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return Ok(()) };
        fs::write(folder.join(format!("{:?}.{}", self.lock, self.engine)), format!("{self}\n"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { lock, engine, models, tried, unit, elapsed, lines } = self;
        let ms = elapsed.as_millis();
        write!(f, "{:<14} {engine:<8} {models:>3} models {tried:>9} {unit:<10} {ms:>6} ms", format!("{lock:?}"))?;
        let lines: Vec<_> = lines.iter().copied().collect();
        if lines.is_empty() { Ok(()) } else { write!(f, "  {}", lines.join(", ")) }
    }
}
