//! The whole process stopped and continued, as by a suspended machine or a hypervisor with other work.

use super::Injector;
use crate::board::Board;
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::time::{Duration, Instant};

pub(crate) struct Bursts {
    rng: SmallRng,
    pid: Pid,
    stopped: bool,
    next: Instant,
    longest: Duration,
    injected: u64,
}

impl Bursts {
    /// Stops for up to `longest`.
    pub(crate) fn new(rng: SmallRng, longest: Duration) -> Self {
        Bursts { rng, pid: Pid::from_raw(0), stopped: false, next: Instant::now(), longest, injected: 0 }
    }

    fn send(&mut self, stopped: bool) -> Result<()> {
        let signal = if stopped { Signal::SIGSTOP } else { Signal::SIGCONT };
        kill(self.pid, signal).with_context(|| format!("cannot send {signal} to the victim"))?;
        self.injected += u64::from(stopped && !self.stopped);
        self.stopped = stopped;
        Ok(())
    }
}

impl Injector for Bursts {
    fn started(&mut self, pid: Pid) {
        self.pid = pid;
        self.next = Instant::now() + Duration::from_millis(20);
    }

    fn step(&mut self, _: &Board) -> Result<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.send(!self.stopped)?;
        // Mostly short ones, so that many come.
        let longest = if self.rng.random_ratio(1, 8) { self.longest } else { self.longest / 20 };
        self.next = Instant::now() + longest.mul_f64(self.rng.random());
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if self.stopped { self.send(false) } else { Ok(()) }
    }

    fn injected(&self) -> u64 {
        self.injected
    }

    fn stands_still(&self) -> bool {
        self.stopped
    }
}
