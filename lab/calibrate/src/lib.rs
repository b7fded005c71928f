//! `turnwise-lab calibrate`: measures this machine, and describes it to the simulator.
//!
//! | file | what |
//! |---|---|
//! | `sysfs.rs`, `grid.rs` | which CPUs there are; the regular machine that stands for them |
//! | `clock.rs`, `figure.rs` | time; a number with its spread |
//! | `team.rs`, `lines.rs` | threads on CPUs of their own that take turns; cache lines in a chain |
//! | `cpu.rs`, `transfers.rs` | instructions and memory; lines between CPUs |
//! | `nearest.rs` | the present cost of a line, for other measurements |
//! | `system.rs`, `wake.rs`, `scheduler.rs` | system calls, switches, wake-ups, idleness, time slices |
//! | `file.rs` | the machine file |
//!
//! `docs/calibrate.md` states how each number is found, and what it leaves out.

mod clock;
mod cpu;
mod figure;
mod file;
mod grid;
mod lines;
mod nearest;
mod scheduler;
mod sysfs;
mod system;
mod team;
#[cfg(test)]
mod tests;
mod transfers;
mod wake;

pub use figure::{At, Figure, Summary, Unit, class};
pub use file::here_path;
pub use grid::Grid;
pub use nearest::Nearest;
pub use sysfs::Cpu;

use anyhow::{Result, bail};
use scheduler::Settings;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use sysfs::Tree;
use transfers::{KINDS, Transfers};
use turnwise_present::cpus::allowed;
use turnwise_present::machine::{self, Machine};
use turnwise_present::others;
use turnwise_sim::spec::Class;

/// The format of [`Calibration`] as JSON. Raised when a field changes its meaning or is removed.
pub const FORMAT: &str = "turnwise-calibrate/1";

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// [`FORMAT`].
    pub format: &'static str,
    /// The command line.
    pub command: String,
    /// The commit of the program, if known.
    pub commit: Option<String>,
    /// The machine.
    pub machine: Machine,
    /// Fewer repetitions than usual.
    pub quick: bool,
    /// How long it took.
    pub seconds: f64,
    /// The CPUs, and the grid that stands for them.
    pub grid: Grid,
    /// Bytes of a cache line, if the kernel reports it.
    pub line_bytes: Option<u32>,
    /// The kernel's driver for idle CPUs, if it has one.
    pub idle_driver: Option<String>,
    /// The numbers.
    pub figures: Vec<Figure>,
    /// Notes on them.
    pub notes: Vec<String>,
}

impl Calibration {
    /// Assembles the measurements; how they were made is added later.
    #[must_use]
    pub fn of(machine: Machine, grid: Grid, line_bytes: Option<u32>, figures: Vec<Figure>) -> Calibration {
        Calibration {
            format: FORMAT,
            command: std::env::args().collect::<Vec<_>>().join(" "),
            commit: None,
            machine,
            quick: false,
            seconds: 0.0,
            grid,
            line_bytes,
            idle_driver: None,
            figures,
            notes: Vec::new(),
        }
    }
}

/// Called at each step with its name, its place, and the number of steps.
pub type Watch<'a> = &'a mut dyn FnMut(&str, usize, usize);

/// Measures this machine; `quick`: with fewer repetitions, for a first impression.
///
/// # Errors
/// The architecture has no way to measure; the kernel does not report which CPUs may be used; threads cannot be started
/// or pinned; there are more nodes than the simulator supports.
pub fn measure(quick: bool, watch: Watch<'_>) -> Result<Calibration> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        bail!("calibrate measures x86-64 and arm64, not {}: write a machine file by hand", std::env::consts::ARCH);
    }
    let begin = Instant::now();
    let (machine, commit) = (Machine::here(), machine::commit());
    let root = Path::new("/sys");
    let tree = Tree::read(root, &allowed()?)?;
    let grid = Grid::of(&tree)?;
    let mut notes = grid.notes.clone();
    notes.extend(warnings(&machine, grid.cpus.len()));
    let others = others::Watch::begin();
    let work = Work { quick, grid: &grid, tree: &tree, line_bytes: tree.line_bytes.unwrap_or(64) };
    let figures = work.figures(root, machine.kernel.as_deref().unwrap_or_default(), watch)?;
    notes.extend(others.and_then(|others| others.end()).into_iter().flat_map(|others| others.notes()));
    let seconds = begin.elapsed().as_secs_f64();
    let idle_driver = sysfs::idle_driver(root);
    let found = Calibration::of(machine, grid, tree.line_bytes, figures);
    Ok(Calibration { commit, quick, seconds, idle_driver, notes, ..found })
}

/// Returns what makes figures doubtful.
fn warnings(machine: &Machine, cpus: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if cfg!(debug_assertions) {
        notes.push("built without optimisation: costs of instructions that hit come out too high".to_owned());
    }
    if machine.cpus < cpus {
        notes.push(format!("a quota of about {} CPUs is in force: expect wide spreads", machine.cpus));
    }
    notes
}

/// All measurements, in order.
struct Work<'a> {
    quick: bool,
    grid: &'a Grid,
    tree: &'a Tree,
    line_bytes: u32,
}

impl Work<'_> {
    fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    fn figures(&self, root: &Path, release: &str, watch: Watch<'_>) -> Result<Vec<Figure>> {
        let pairs = self.grid.pairs(self.pick(3, 1));
        let all = 6 + pairs.len() * KINDS.len() + self.grid.memory_pairs().len();
        let mut done = 0;
        let mut step = |name: &str| {
            watch(name, done, all);
            done += 1;
        };
        step("instructions");
        clock::prepare();
        let first = self.grid.cpus[0];
        let batches = self.pick(200, 50);
        let mut figures = team::on(first.cpu, || cpu::instructions(batches))?;
        step("threads of a core");
        figures.extend(cpu::smt(self.grid, batches)?);
        self.lines(&mut figures, &mut step)?;
        step("system calls");
        figures.extend(team::on(first.cpu, || system::calls(batches))?);
        step("sleeping and waking");
        let sleeping = system::Sleeping {
            grid: self.grid,
            quick: self.quick,
            syscall_ns: value(&figures, "system.syscall", At::All),
            clock_ns: value(&figures, "cpu.clock", At::All),
            known: &figures,
        };
        let found = sleeping.figures()?;
        figures.extend(found);
        step("time slices");
        let slices = scheduler::slices(first.cpu, self.pick(1_000_000_000, 300_000_000))?;
        let cpus = sysfs::online(root).unwrap_or(self.grid.cpus.len() as u32);
        figures.extend(Settings::read(root, release, cpus).figures(&slices));
        Ok(figures)
    }

    /// Transfers and memory.
    fn lines(&self, figures: &mut Vec<Figure>, step: &mut dyn FnMut(&str)) -> Result<()> {
        /// Used where the size of the CPU's own caches is unknown.
        const LOSE_BYTES: u64 = 8 << 20;
        const MOST_BYTES: u64 = 64 << 20;
        let hits = ["cpu.load_hit", "cpu.store_hit", "cpu.rmw_hit"].map(|key| value(figures, key, At::All));
        let transfers = Transfers {
            grid: self.grid,
            line_bytes: self.line_bytes,
            lose_bytes: self.tree.own_cache_bytes.map_or(LOSE_BYTES, |bytes| (4 * bytes).min(MOST_BYTES)),
            rounds: self.pick(202, 27),
            hits,
        };
        let pairs = self.grid.pairs(self.pick(3, 1));
        for kind in &KINDS {
            for (&class, pairs) in &pairs {
                step(&format!("lines, {}", figure::class(class)));
                figures.push(transfers.figure(kind, class, pairs)?);
            }
        }
        if let Some((&class, pairs)) = pairs.iter().find(|(class, _)| **class > Class::SAME_CORE) {
            step("changes after a read");
            figures.push(transfers.after_a_read(class, pairs)?);
        }
        step("readers at once");
        figures.push(transfers::read_occupancy(&transfers, self.pick(8, 4))?);
        for (class, (from, at)) in self.grid.memory_pairs() {
            step(&format!("memory, {}", figure::class(class)));
            figures.push(cpu::memory(class, from, at, self.pick(15, 5), self.line_bytes)?);
        }
        Ok(())
    }
}

/// Returns a number; zero if there is none.
fn value(figures: &[Figure], key: &str, at: At) -> f64 {
    figures.iter().find(|figure| figure.key == key && figure.at == at).map_or(0.0, |figure| figure.value)
}

impl Calibration {
    /// Returns the numbers of a key, nearest first.
    fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Figure> {
        self.figures.iter().filter(move |figure| figure.key == key)
    }
}
