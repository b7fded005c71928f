//! How the steps of a job are done.
//!
//! A step is a number of rounds, between which the child computes. What a job does once, such as making the pipe that
//! its messages go through, a scaled-down job does with a probability of one in the scale; the object stays meanwhile.
//!
//! A child process runs on its parent's thread, which would wait for it anyway: what a fork and its wait cost in
//! switches is part of their charge, and not counted.

use super::child::{Child, MESSAGE_BYTES};
use super::jobs::{Channel, Disk, Step};
use super::kernel::ipc::Semaphore;
use super::kernel::{Mm, Socket, charge, costs};
use super::meter::Comm;
use super::programs::{self, MAPPINGS, Part};
use anyhow::{Context, Result, ensure};
use std::iter::repeat_n;
use turnwise_sim::Sim;
use turnwise_simbench::Simulated;
use turnwise_vfs::{File, Host, LockSet, Work};

/// Entries of a directory that are read at a time.
const ENTRIES: u32 = 100;
/// Rounds of a step that touches memory.
const PAGE_ROUNDS: u32 = 100;
/// Steps in which returned memory is requested again.
const BREAKS: u32 = 16;
/// Faults of a child that ends at once, of its parent after the fork, of `ls -l` on 29 files and of a shell that does
/// nothing, forks included: counted by getrusage under Linux 6.18, whose faults bring 16 pages of a file, so that there
/// were rather more.
const CHILD_FAULTS: u32 = 25;
const PARENT_FAULTS: u32 = 3;
const LS_FAULTS: u32 = 132;
const SHELL_FAULTS: u32 = 159;
/// The signal that a process sends to itself.
const SIGNAL: u32 = 10;

impl Step {
    /// Returns how many times the step is done.
    pub(super) fn rounds(self) -> u32 {
        match self {
            Step::CreateClose { times } | Step::Fork { times } | Step::Signals { times } => times,
            Step::Script { times, .. } | Step::Identity { times } => times,
            Step::Links { links } => links,
            Step::Break { rounds } => rounds,
            Step::Pages { .. } => PAGE_ROUNDS,
            Step::Sleep { .. } => 0,
            Step::Entries { entries } => entries / ENTRIES,
            Step::Messages { pairs, .. } => pairs,
            Step::Shared { operations } => operations,
            Step::Disk(_) => 1,
            Step::Sources { creates, .. } => creates,
        }
    }
}

impl<L: LockSet<Sim>> Child<'_, L> {
    /// Does what comes before the first round.
    pub(super) fn begin(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Links { .. } => self.home.ready_to_link()?,
            Step::Messages { channel, .. } => {
                let fresh = self.once();
                self.open_channel(channel, fresh)?;
            }
            Step::Shared { .. } if self.semaphore.is_none() => {
                Simulated::charge(Work::Call);
                let made = Semaphore::new(&self.site.kernel.ipc, self.task.pid);
                self.semaphore = Some(made.context("another process has a semaphore with this process's number")?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Performs one round of `step`.
    pub(super) fn round(&mut self, step: Step, round: u32) -> Result<()> {
        match step {
            Step::CreateClose { .. } => self.home.create_close()?,
            Step::Links { .. } => self.home.link_and_unlink()?,
            Step::Break { .. } => self.give_back_and_ask(),
            Step::Pages { breaks, faults } => self.touch_pages(breaks / PAGE_ROUNDS, faults / PAGE_ROUNDS),
            Step::Fork { .. } => self.fork(|child| {
                child.settle_in(CHILD_FAULTS);
                Ok(())
            })?,
            Step::Script { forks, execs, shell, .. } => self.script(forks, execs, shell)?,
            Step::Sleep { .. } => {}
            Step::Signals { .. } => self.signal()?,
            Step::Entries { .. } => self.home.read_entries(ENTRIES)?,
            Step::Identity { .. } => self.identity()?,
            Step::Messages { channel, .. } => self.pass(channel)?,
            Step::Shared { .. } => self.operate(if round.is_multiple_of(2) { 1 } else { -1 }),
            Step::Disk(disk) => self.disk(disk)?,
            Step::Sources { stats, creates } => self.source(round, stats, creates)?,
        }
        Ok(())
    }

    /// Does what comes after the last round.
    pub(super) fn end(&mut self, step: Step) -> Result<()> {
        match step {
            Step::CreateClose { .. } if self.once() => self.home.remove_created()?,
            Step::Links { .. } if self.once() => self.home.remove_linked()?,
            Step::Shared { .. } if self.once() => {
                Simulated::charge(Work::Call);
                if let Some(semaphore) = self.semaphore.take() {
                    semaphore.remove(&self.site.kernel.ipc);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives 64 KiB back, and requests them again in 16 steps.
    fn give_back_and_ask(&mut self) {
        Simulated::charge(Work::Call);
        self.task.mm.adjust(-i64::from(BREAKS));
        for _ in 0..BREAKS {
            Simulated::charge(Work::Call);
            self.task.mm.adjust(1);
        }
    }

    fn touch_pages(&mut self, breaks: u32, faults: u32) {
        for _ in 0..breaks {
            Simulated::charge(Work::Call);
            self.task.mm.adjust(1);
        }
        for _ in 0..faults {
            self.task.mm.fault(&self.site.kernel);
        }
    }

    /// Forks a process that does something and ends, and waits for it.
    fn fork(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let kernel = &self.site.kernel;
        charge(costs::FORK);
        kernel.zones.take_stack();
        let mm = self.task.mm.fork(kernel);
        self.settle_in(PARENT_FAULTS);
        let paths = self.home.take_paths();
        let child = kernel.tasks.spawn(mm).context("there are no process numbers left")?;
        let (parent, comm) = (std::mem::replace(&mut self.task, child), self.comm);
        let done = work(self);
        charge(costs::EXIT);
        self.task.mm.exit(kernel);
        drop(paths);
        let child = std::mem::replace(&mut self.task, parent);
        self.becomes(comm);
        kernel.tasks.reap(child);
        kernel.zones.give_back_stack();
        done
    }

    fn becomes(&mut self, comm: Comm) {
        self.comm = comm;
        Sim::becomes(comm.name());
    }

    /// Runs the processes of a script, each the child of the one before: the last becomes the program that the script
    /// runs, the one before it the script (and before that the shell that started it, which needs no separate process
    /// for that: recalled). One before these only waits, as `system` does.
    fn script(&mut self, forks: u32, execs: u32, shell: Comm) -> Result<()> {
        if forks == 0 {
            return Ok(());
        }
        self.fork(|child| {
            let (own, comm) = match forks {
                1 => (execs, Comm::Ls),
                2 => (execs.saturating_sub(1), shell),
                _ => (0, shell),
            };
            (0..own).try_for_each(|_| child.exec(comm))?;
            child.script(forks - 1, execs - own, shell)
        })
    }

    /// Makes the process a program: its file is found and read, and its parts are mapped. Until its name changes, the
    /// kernel works on behalf of the former program.
    pub(super) fn exec(&mut self, comm: Comm) -> Result<()> {
        let kernel = &self.site.kernel;
        charge(costs::EXEC);
        let mut parts = self.home.open_program(comm)?;
        self.task.mm.exit(kernel);
        self.task.mm = Mm::fresh(kernel);
        self.becomes(comm);
        self.meters.at(comm).execs += 1;
        self.map(&parts)?;
        for (image, library) in programs::libraries(comm) {
            parts.push((image, self.home.open_library(library)?));
            self.map(&parts[parts.len() - 1..])?;
        }
        self.settle_in(if comm == Comm::Ls { LS_FAULTS } else { SHELL_FAULTS });
        if comm == Comm::Ls {
            self.home.list_working_directory()?;
        }
        Ok(())
    }

    /// Maps these parts of a program, and changes the protection of some of them.
    fn map(&mut self, parts: &[Part<'_, L>]) -> Result<()> {
        for (image, part) in parts.iter().flat_map(|part| repeat_n(part, MAPPINGS)) {
            self.task.mm.map(*image, &self.site.kernel);
            self.profile(part)?;
        }
        for (_, part) in parts.iter().flat_map(|part| repeat_n(part, programs::protections(part.0))) {
            Simulated::charge(Work::Call);
            self.task.mm.protect();
            self.profile(part)?;
        }
        Ok(())
    }

    /// Has a profiler ask for the path of a part that was mapped, or got another protection.
    fn profile(&mut self, part: &File<'_, Simulated, L>) -> Result<()> {
        if self.site.setup.profiler {
            self.home.profile_mapping(part)?;
            self.meters.at(self.comm).paths += 1;
        }
        Ok(())
    }

    /// Touches the process's first pages.
    fn settle_in(&self, faults: u32) {
        self.task.mm.settle_in(faults, &self.site.kernel);
    }

    fn signal(&mut self) -> Result<()> {
        Simulated::charge(Work::Call);
        self.task.send(SIGNAL);
        ensure!(self.task.handle() == Some(SIGNAL), "a signal got lost");
        Ok(())
    }

    fn identity(&mut self) -> Result<()> {
        self.home.working_directory()?;
        Simulated::charge(Work::Call);
        self.home.terminal_name()?;
        self.meters.at(self.comm).paths += 1;
        self.home.look_up_names()?;
        // Reading them: the terminal's name, too, the user by name and by number, the group; the rest is four calls.
        Simulated::charge(Work::Exactly { ns: 4 * costs::NAME_SERVICE });
        for _ in 0..4 {
            Simulated::charge(Work::Call);
        }
        Ok(())
    }

    fn open_channel(&mut self, kind: Channel, fresh: bool) -> Result<()> {
        let (net, pid) = (&self.site.kernel.net, self.task.pid);
        if fresh && let Some(old) = self.channel(kind).take() {
            old.close(net);
        }
        if self.channel(kind).is_none() {
            if kind == Channel::Fifo {
                self.home.make_fifo()?;
            }
            *self.channel(kind) = Some(Socket::open(net, kind, pid));
        }
        Ok(())
    }

    /// Passes a message of 1 to 4096 bytes, there and back.
    fn pass(&mut self, kind: Channel) -> Result<()> {
        let bytes = 1 << self.chance.u32(0..=MESSAGE_BYTES.ilog2());
        Simulated::charge(Work::Call);
        Simulated::charge(Work::Call);
        let channel = self.channels[kind as usize].as_ref().context("no channel is open")?;
        let arrived = channel.pass(&mut self.message[..bytes]);
        ensure!(arrived == bytes, "{arrived} of {bytes} bytes arrived");
        Ok(())
    }

    fn operate(&mut self, by: i64) {
        Simulated::charge(Work::Call);
        if let Some(semaphore) = &self.semaphore {
            semaphore.operate(by);
        }
    }

    fn disk(&mut self, disk: Disk) -> Result<()> {
        let blocks = disk.blocks(self.site.file_kib);
        self.home.disk(disk, blocks, &mut self.chance, &mut self.message)
    }

    /// Makes one of a compilation's files, and reads the attributes of its share of the files that it looks at.
    fn source(&mut self, round: u32, stats: u32, creates: u32) -> Result<()> {
        let until = |round: u32| round * stats / creates;
        for _ in until(round)..until(round + 1) {
            self.home.look_at_source()?;
        }
        self.home.make_source()
    }
}
