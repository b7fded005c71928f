//! Processes that keep CPUs busy during measurements, and end with their starter, however that ends.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::hint::black_box;
use std::process::{Child, Command, Stdio};

/// Arguments of the command that is such a process.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The process that it ends with
    parent: u32,
}

/// Some of them.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    /// Starts them. The kernel ends them with the calling thread, so this is for the main thread.
    pub(crate) fn start(number: u32) -> Result<Busy> {
        let itself = std::env::current_exe().context("cannot find xtask itself")?;
        let mut busy = Busy(Vec::new());
        for _ in 0..number {
            let mut command = Command::new(&itself);
            command.args(["busy", &std::process::id().to_string()]).stdin(Stdio::null());
            busy.0.push(command.spawn().context("cannot start a busy process")?);
        }
        Ok(busy)
    }

    /// Checks that all are running: if one could not begin, the figures would be those of a quiet machine.
    pub(crate) fn check(&mut self) -> Result<()> {
        for child in &mut self.0 {
            if let Some(status) = child.try_wait().context("cannot ask for a busy process")? {
                bail!("a busy process ended ({status}): what was measured until now is not what was asked for");
            }
        }
        Ok(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself; then both calls report it.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Computes until the parent ends.
pub(crate) fn run(args: &Args) -> Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot ask for an end with the parent")?;
    // It may already have ended.
    let parent = getppid().map(Pid::as_raw_nonzero).map(|pid| pid.get().unsigned_abs());
    if parent != Some(args.parent) {
        bail!("this is started by `cargo xtask perf --beside` and `cargo xtask programs --beside-busy` only");
    }
    let mut number = 1_u64;
    loop {
        number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
