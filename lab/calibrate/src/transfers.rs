//! The cost of moving cache lines between CPUs.
//!
//! One thread brings many lines into the state in question and hands over; another one touches them one after the
//! other. So the hand-over is not part of the figure. The same thread touches the same lines again, now its own, and
//! the difference is the cost of the lines; loop, clock and fence cancel out.

use super::clock::timed;
use super::figure::{At, Figure};
use super::grid::Grid;
use super::lines::{Lines, Touch};
use super::sysfs::Cpu;
use super::team::{Broken, Team, on, together};
use anyhow::Result;
use std::hint::black_box;
use turnwise_sim::spec::Class;

/// Lines of one round: half of a first-level cache, so that none is evicted before it is requested.
const LINES: u32 = 128;

/// The thread that touches the lines of a round; others bring them into a state.
const TOUCHER: usize = 0;
const OWNER: usize = 1;
const SHARER: usize = 2;

/// The figure that shows whether reads take modified lines as a whole; not a number of the machine file.
pub(super) const AFTER_A_READ: &str = "coherence.rmw_after_read";

/// What is done in a turn.
#[derive(Clone, Copy)]
enum Act {
    Modify,
    Read,
    /// Loses its own copies by reading something else.
    Lose,
    Time,
}

/// The owner reads again: CPUs hand a modified line on as a whole to its first reader, so that one cache has it.
const SHARED_BY_TWO: &[(usize, Act)] =
    &[(OWNER, Act::Modify), (TOUCHER, Act::Read), (OWNER, Act::Read), (TOUCHER, Act::Time)];
const SHARED_AND_LOST: &[(usize, Act)] =
    &[(OWNER, Act::Modify), (TOUCHER, Act::Read), (OWNER, Act::Read), (TOUCHER, Act::Lose), (TOUCHER, Act::Time)];
const SHARED_BY_OTHERS: &[(usize, Act)] =
    &[(OWNER, Act::Modify), (SHARER, Act::Read), (OWNER, Act::Read), (TOUCHER, Act::Time)];

/// The thread that reads another's modification changes it.
const READ_AND_CHANGED: &[(usize, Act)] = &[(OWNER, Act::Modify), (TOUCHER, Act::Read), (TOUCHER, Act::Time)];

/// One table of the machine file.
pub(super) struct Kind {
    pub(super) key: &'static str,
    touch: Touch,
    shared: bool,
}

/// Locked operations on lines that the other CPU has just written: what a lock's word does most.
pub(super) const RMW_MODIFIED: Kind = Kind { key: "coherence.rmw_modified", touch: Touch::Rmw, shared: false };

/// Every table of transfers, in the order of the file.
pub(super) const KINDS: [Kind; 6] = [
    Kind { key: "coherence.load_modified", touch: Touch::Load, shared: false },
    Kind { key: "coherence.load_shared", touch: Touch::Load, shared: true },
    Kind { key: "coherence.store_modified", touch: Touch::Store, shared: false },
    Kind { key: "coherence.store_shared", touch: Touch::Store, shared: true },
    RMW_MODIFIED,
    Kind { key: "coherence.rmw_shared", touch: Touch::Rmw, shared: true },
];

impl Kind {
    /// Returns the turns of a round: which thread does what.
    fn script(&self, third: bool, same_core: bool) -> &'static [(usize, Act)] {
        match (self.shared, self.touch, third) {
            (false, ..) => &[(OWNER, Act::Modify), (TOUCHER, Act::Time)],
            (true, _, true) => SHARED_BY_OTHERS,
            // Losing them would lose the other thread's as well: it has the same caches.
            (true, Touch::Load, false) if !same_core => SHARED_AND_LOST,
            (true, _, false) => SHARED_BY_TWO,
        }
    }

    fn how(&self, third: bool, same_core: bool) -> &'static str {
        match (self.shared, self.touch, third) {
            (false, Touch::Load, _) => "chain of loads over 128 lines that the other CPU has just written",
            (false, Touch::Store, _) => "stores, each waited for, to lines that the other CPU has just written",
            (false, Touch::Rmw, _) => "chain of locked adds to lines that the other CPU has just written",
            (true, Touch::Load, true) => "chain of loads over 128 lines that two other CPUs have just read",
            (true, Touch::Store, true) => "stores, each waited for, to lines that two other CPUs have just read",
            (true, Touch::Rmw, true) => "chain of locked adds to lines that two other CPUs have just read",
            (true, Touch::Load, false) if same_core => "chain of loads over 128 lines that both threads have read",
            (true, Touch::Load, false) => "chain of loads over lines that the other CPU shared and this one has lost",
            (true, Touch::Store, false) => "stores, each waited for, to lines that both CPUs have read",
            (true, Touch::Rmw, false) => "chain of locked adds to lines that both CPUs have read",
        }
    }
}

/// What all transfers have in common.
pub(super) struct Transfers<'a> {
    /// The CPUs to measure on.
    pub(super) grid: &'a Grid,
    /// Bytes of a line.
    pub(super) line_bytes: u32,
    /// Bytes to read to evict the content of the CPU's own caches.
    pub(super) lose_bytes: u64,
    /// Rounds of each pair.
    pub(super) rounds: u32,
    /// The cost of each touch where the line is present: load, store, read-modify-write.
    pub(super) hits: [f64; 3],
}

impl Transfers<'_> {
    /// Returns one number: `kind` at `class`, over `pairs` at that distance.
    pub(super) fn figure(&self, kind: &Kind, class: Class, pairs: &[(Cpu, Cpu)]) -> Result<Figure> {
        let same_core = class == Class::SAME_CORE;
        let (mut samples, mut thirds) = (Vec::new(), 0);
        for &(a, b) in pairs {
            let third = if kind.shared { self.grid.third(a, b) } else { None };
            thirds += usize::from(third.is_some());
            samples.extend(self.pair(kind, a, b, third, same_core)?);
        }
        let hit = self.hits[kind.touch as usize];
        let costs: Vec<f64> = samples.iter().map(|extra| (extra + hit).max(hit)).collect();
        let mut how = kind.how(thirds > 0, same_core).to_owned();
        if thirds > 0 && thirds < pairs.len() {
            how += "; one other where there is no third";
        }
        Ok(Figure::measured(kind.key, At::Class(class), &costs, &how, hit))
    }

    /// Returns the cost of changing a line that this CPU has just read from the one that had modified it, at the
    /// nearest distance. The price of a hit: the read has taken it as a whole.
    pub(super) fn after_a_read(&self, class: Class, pairs: &[(Cpu, Cpu)]) -> Result<Figure> {
        /// Longer than any transfer: not as a whole.
        const GUESS_NS: f64 = 10_000.0;
        let mut samples = Vec::new();
        for &(a, b) in pairs {
            samples.extend(self.rounds(a, b, None, Touch::Rmw, READ_AND_CHANGED)?);
        }
        let hit = self.hits[Touch::Rmw as usize];
        let costs: Vec<f64> = samples.iter().map(|extra| (extra + hit).max(hit)).collect();
        let how = "chain of locked adds to lines that this CPU has just read from another that had written them";
        Ok(Figure::measured(AFTER_A_READ, At::Class(class), &costs, how, GUESS_NS))
    }

    /// Returns the cost of a line beyond a hit, once for each round.
    pub(super) fn pair(&self, kind: &Kind, a: Cpu, b: Cpu, third: Option<Cpu>, same_core: bool) -> Result<Vec<f64>> {
        self.rounds(a, b, third, kind.touch, kind.script(third.is_some(), same_core))
    }

    fn rounds(&self, a: Cpu, b: Cpu, third: Option<Cpu>, touch: Touch, script: &[(usize, Act)]) -> Result<Vec<f64>> {
        // At the owner's node, like its working data.
        let lines = on(b.cpu, || Lines::new(LINES, self.line_bytes))?;
        let cpus: Vec<u32> = [Some(a), Some(b), third].into_iter().flatten().map(|cpu| cpu.cpu).collect();
        let member = |place: usize, team: &Team| self.play(place, team, &lines, touch, script);
        Ok(together(&cpus, member)?.swap_remove(TOUCHER))
    }

    fn play(
        &self,
        place: usize,
        team: &Team,
        lines: &Lines,
        touch: Touch,
        script: &[(usize, Act)],
    ) -> Result<Vec<f64>, Broken> {
        let ballast = Ballast::new(if place == TOUCHER { self.lose_bytes } else { 0 });
        let mut samples = Vec::new();
        let turns = (0..self.rounds).flat_map(|_| script).zip(0..);
        for (&(_, act), number) in turns.filter(|((who, _), _)| *who == place) {
            team.wait(number)?;
            match act {
                Act::Modify => lines.modify(),
                Act::Read => lines.read(),
                Act::Lose => ballast.read(),
                Act::Time => samples.push(beyond_hit(lines, touch)),
            }
            team.pass(number);
        }
        // The first rounds meet cold code, cold tables of pages, and CPUs that have just woken up.
        samples.drain(..samples.len().min(2));
        Ok(samples)
    }
}

/// Returns the cost of a line beyond the same touch of a line that is present.
fn beyond_hit(lines: &Lines, touch: Touch) -> f64 {
    let miss = timed(|| lines.touch(touch));
    // The least of three: an interruption here would make the difference too small, even negative.
    let hit = (0..3).map(|_| timed(|| lines.touch(touch))).fold(f64::INFINITY, f64::min);
    (miss - hit) / lines.count() as f64
}

/// Data to fill caches with.
struct Ballast(Vec<u64>);

impl Ballast {
    fn new(bytes: u64) -> Ballast {
        // Not zeros: the kernel maps one and the same page of zeros for all readers.
        Ballast(vec![1; bytes as usize / size_of::<u64>()])
    }

    fn read(&self) {
        const STEP: usize = 64 / size_of::<u64>();
        black_box(self.0.iter().step_by(STEP).fold(0_u64, |sum, word| sum.wrapping_add(*word)));
    }
}

/// Returns how long reads of a shared line delay each other: 1 to `most` CPUs read the same lines in the same order at
/// once, and what the slowest takes longer for each further reader is the figure.
pub(super) fn read_occupancy(shared: &Transfers<'_>, most: usize) -> Result<Figure> {
    const KEY: &str = "coherence.read_occupancy";
    /// Others reached from 10 to 30 ns (docs/calibrate.md).
    const GUESS_NS: f64 = 15.0;
    let readers = readers(shared.grid, most);
    if readers.len() < 3 {
        let how = "a guess, needs two readers beside the owner, on three cores of one node";
        return Ok(Figure::guess(KEY, At::All, GUESS_NS, how));
    }
    let alone = crowd(shared, &readers[..2])?;
    let all = crowd(shared, &readers)?;
    let more = (readers.len() - 2) as f64;
    let samples: Vec<f64> = alone.iter().zip(&all).map(|(alone, all)| ((all - alone) / more).max(0.0)).collect();
    let how = format!("1 and {} CPUs of a node read the same written lines at once", readers.len() - 1);
    Ok(Figure::measured(KEY, At::All, &samples, &how, GUESS_NS))
}

/// Returns CPUs of one node, each on a core of its own: an owner and readers.
fn readers(grid: &Grid, most: usize) -> Vec<u32> {
    let mut chosen: Vec<Cpu> = Vec::new();
    for &cpu in grid.cpus.iter().filter(|cpu| cpu.node == grid.cpus[0].node) {
        if chosen.len() <= most && !chosen.iter().any(|other| other.core == cpu.core) {
            chosen.push(cpu);
        }
    }
    chosen.iter().map(|cpu| cpu.cpu).collect()
}

/// Makes the first CPU modify and the others read at once; returns the slowest's time per line, for each round.
fn crowd(shared: &Transfers<'_>, cpus: &[u32]) -> Result<Vec<f64>> {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let lines = on(cpus[0], || Lines::new(LINES, shared.line_bytes))?;
    let done = AtomicU32::new(0);
    let others = cpus.len() as u32 - 1;
    let member = |place: usize, team: &Team| {
        let mut samples = Vec::new();
        for round in 0..shared.rounds {
            if place == 0 {
                team.until(|| done.load(SeqCst) == round * others)?;
                lines.modify();
                team.pass(round);
            } else {
                team.wait(round + 1)?;
                samples.push(timed(|| lines.touch(Touch::Load)) / f64::from(LINES));
                done.fetch_add(1, SeqCst);
            }
        }
        Ok(samples)
    };
    let each = together(cpus, member)?;
    let slowest = |round: usize| each[1..].iter().map(|samples| samples[round]).fold(0.0, f64::max);
    Ok((0..shared.rounds as usize).map(slowest).collect())
}

#[cfg(test)]
mod tests {
    use super::super::sysfs::Tree;
    use super::*;
    use std::path::Path;
    use turnwise_present::cpus::allowed;

    /// Three threads can run through their turns on fewer CPUs; only the figures would make no sense.
    #[test]
    fn every_kind_runs_to_its_end_with_a_third_thread_and_without() {
        let grid = Grid::of(&Tree::read(Path::new("/sys"), &allowed().unwrap()).unwrap()).unwrap();
        let (a, b) = (grid.cpus[0], *grid.cpus.last().unwrap());
        let transfers = Transfers { grid: &grid, line_bytes: 64, lose_bytes: 1 << 16, rounds: 5, hits: [1.0; 3] };
        for kind in &KINDS {
            for third in [None, Some(a)] {
                let samples = transfers.pair(kind, a, b, third, false).unwrap();
                assert_eq!(samples.len(), 3, "the first two rounds do not count");
                assert!(samples.iter().all(|ns| ns.is_finite()), "{samples:?}");
            }
        }
        let crowd = crowd(&transfers, &[a.cpu, b.cpu, a.cpu, b.cpu]).unwrap();
        assert!(crowd.len() == 5 && crowd.iter().all(|ns| *ns > 0.0), "{crowd:?}");
    }

    #[test]
    fn without_a_third_core_the_occupancy_is_a_marked_guess() {
        let mut grid = Grid::of(&Tree::read(Path::new("/sys"), &allowed().unwrap()).unwrap()).unwrap();
        grid.cpus.truncate(2);
        let transfers = Transfers { grid: &grid, line_bytes: 64, lose_bytes: 0, rounds: 5, hits: [1.0; 3] };
        let figure = read_occupancy(&transfers, 8).unwrap();
        assert!(figure.provisional && figure.spread.is_none(), "{figure:?}");
    }
}
