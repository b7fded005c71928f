//! Threads sent from CPU to CPU while they contend.

use super::Injector;
use crate::board::Board;
use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::sync::atomic::Ordering::Relaxed;
use turnwise_present::cpus;

pub(crate) struct Affinity {
    rng: SmallRng,
    /// Those that this process may use.
    pub(crate) cpus: Vec<u32>,
}

impl Affinity {
    pub(crate) fn new(rng: SmallRng) -> Result<Self> {
        Ok(Affinity { rng, cpus: cpus::allowed()? })
    }
}

impl Injector for Affinity {
    fn step(&mut self, board: &Board) -> Result<()> {
        let mut mask = CpuSet::new();
        let any = self.rng.random_range(0..self.cpus.len());
        for (number, cpu) in self.cpus.iter().enumerate() {
            if number == any || self.rng.random() {
                mask.set(*cpu as usize).context("a CPU of this process")?;
            }
        }
        for line in board.line.iter().take(8) {
            let tid = line.tid.load(Relaxed);
            // A thread may have ended meanwhile.
            if tid != 0 && self.rng.random() && sched_setaffinity(Pid::from_raw(tid as i32), &mask).is_ok() {
                board.tried();
            }
        }
        Ok(())
    }
}
