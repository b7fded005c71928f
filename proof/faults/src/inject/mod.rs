//! Faults from outside of the victim.

pub(crate) mod affinity;
pub(crate) mod bursts;
pub(crate) mod rlimit;
pub(crate) mod tracer;

use crate::board::Board;
use anyhow::Result;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::process::Command;

/// Does something to a victim while it runs, and counts on the board how often. The driver calls it from one thread, as
/// ptrace requires.
pub(crate) trait Injector {
    /// Called before the victim starts.
    fn prepare(&mut self, _: &mut Command) {}
    /// Called when the victim runs.
    fn started(&mut self, _: Pid, _: &Board) {}
    /// Takes its next step, and soon returns.
    fn step(&mut self, _: &Board) -> Result<()> {
        Ok(())
    }
    /// Handles a thread of the victim that changed its state.
    fn changed(&mut self, _: WaitStatus, _: &Board) -> Result<()> {
        Ok(())
    }
    /// Lets everything run; no fault comes after this.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
    /// Returns whether all of the victim stands still because of this.
    fn stands_still(&self) -> bool {
        false
    }
}

/// The victim does it to itself, and counts.
pub(crate) struct Nothing;

/// The fault is in the lock: one try.
pub(crate) struct InTheLock;

impl Injector for Nothing {}

impl Injector for InTheLock {
    fn started(&mut self, _: Pid, board: &Board) {
        board.tried();
    }
}
