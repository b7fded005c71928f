//! Threads sent from CPU to CPU while they contend.

use super::Injector;
use crate::board::Board;
use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) struct Affinity {
    rng: SmallRng,
    cpus: Vec<usize>,
    injected: u64,
}

impl Affinity {
    pub(crate) fn new(rng: SmallRng) -> Result<Self> {
        let set = sched_getaffinity(Pid::from_raw(0)).context("cannot ask which CPUs there are")?;
        let cpus = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu) == Ok(true)).collect();
        Ok(Affinity { rng, cpus, injected: 0 })
    }

    /// Returns the number of CPUs that this process may use.
    pub(crate) fn cpus(&self) -> usize {
        self.cpus.len()
    }
}

impl Injector for Affinity {
    fn step(&mut self, board: &Board) -> Result<()> {
        let mut mask = CpuSet::new();
        let any = self.rng.random_range(0..self.cpus.len());
        for (number, cpu) in self.cpus.iter().enumerate() {
            if number == any || self.rng.random() {
                mask.set(*cpu).context("a CPU of this process")?;
            }
        }
        for line in board.line.iter().take(8) {
            let tid = line.tid.load(Relaxed);
            // A thread may have ended meanwhile.
            if tid != 0 && self.rng.random() && sched_setaffinity(Pid::from_raw(tid as i32), &mask).is_ok() {
                self.injected += 1;
            }
        }
        Ok(())
    }

    fn injected(&self) -> u64 {
        self.injected
    }
}
