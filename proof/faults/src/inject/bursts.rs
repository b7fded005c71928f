//! The whole process stopped and continued, as by a suspended machine or a hypervisor with other work.

use super::Injector;
use crate::board::Board;
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::time::{Duration, Instant};

/// The longest stop.
const LONGEST: Duration = Duration::from_millis(200);

pub(crate) struct Bursts {
    rng: SmallRng,
    pid: Pid,
    stopped: bool,
    next: Instant,
}

impl Bursts {
    pub(crate) fn new(rng: SmallRng) -> Self {
        Bursts { rng, pid: Pid::from_raw(0), stopped: false, next: Instant::now() }
    }

    fn send(&mut self, stopped: bool) -> Result<()> {
        let signal = if stopped { Signal::SIGSTOP } else { Signal::SIGCONT };
        kill(self.pid, signal).with_context(|| format!("cannot send {signal} to the victim"))?;
        self.stopped = stopped;
        Ok(())
    }
}

impl Injector for Bursts {
    fn started(&mut self, pid: Pid, _: &Board) {
        self.pid = pid;
        self.next = Instant::now() + Duration::from_millis(20);
    }

    fn step(&mut self, board: &Board) -> Result<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.send(!self.stopped)?;
        if self.stopped {
            board.tried();
        }
        // Mostly short ones, so that many come.
        let longest = if self.rng.random_ratio(1, 8) { LONGEST } else { LONGEST / 20 };
        self.next = Instant::now() + longest.mul_f64(self.rng.random());
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if self.stopped { self.send(false) } else { Ok(()) }
    }

    fn stands_still(&self) -> bool {
        self.stopped
    }
}
