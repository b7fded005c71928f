//! A user: a process that runs jobs.

use super::files::Files;
use super::home::Home;
use super::jobs::{Channel, Job, Step};
use super::kernel::ipc::Semaphore;
use super::kernel::{Kernel, Mm, Socket, Task};
use super::meter::{Comm, Meters};
use super::programs;
use super::setup::Setup;
use anyhow::{Context, Result};
use turnwise_sim::Sim;
use turnwise_vfs::LockSet;

/// What all users share.
pub struct Site<L: LockSet<Sim>> {
    /// The setup of the run.
    pub setup: Setup,
    /// The size of a job's file, in KiB.
    pub file_kib: u32,
    /// What processes contend on.
    pub kernel: Kernel<L>,
    /// The file systems.
    pub files: Files<L>,
}

impl<L: LockSet<Sim>> Site<L> {
    /// Creates a kernel and file systems for this many users.
    ///
    /// # Errors
    /// The setup makes no sense, or the file system refuses what it needs.
    pub fn new(setup: &Setup, users: u32) -> Result<Self> {
        setup.check()?;
        let file_kib = setup.workfile.sizes.of_a_file(users);
        let files = Files::new(setup, users, file_kib)?;
        Ok(Site { setup: setup.clone(), file_kib, kernel: Kernel::new(), files })
    }
}

/// A user, while it runs.
pub struct Child<'s, L: LockSet<Sim>> {
    pub(super) site: &'s Site<L>,
    pub(super) home: Home<'s, L>,
    /// The process, or the one that it has forked and waits for.
    pub(super) task: Task<L>,
    /// What the process is running.
    pub(super) comm: Comm,
    pub(super) chance: fastrand::Rng,
    /// A channel of each kind, once it has been used.
    pub(super) channels: [Option<Socket<L>>; 6],
    pub(super) semaphore: Option<Semaphore<L>>,
    pub(super) message: Box<[u8]>,
    /// Where its time went.
    pub meters: Meters,
    /// The jobs still to be run, the next one last.
    deck: Vec<&'static Job>,
}

/// The largest message.
pub(super) const MESSAGE_BYTES: usize = 4096;

impl<'s, L: LockSet<Sim>> Child<'s, L> {
    /// Creates user `number`, forked from the driver.
    ///
    /// # Errors
    /// There are too many processes, or the file system refuses.
    pub fn new(site: &'s Site<L>, number: u32) -> Result<Self> {
        let mut chance =
            fastrand::Rng::with_seed(site.setup.seed.wrapping_mul(0x9e37_79b9).wrapping_add(number.into()));
        let mm = Mm::ancestor(&programs::DRIVER).fork(&site.kernel);
        let task = site.kernel.tasks.spawn(mm).context("there are no process numbers left")?;
        let directory = chance.u32(0..site.setup.directories);
        Sim::becomes(Comm::Reaim.name());
        Ok(Child {
            site,
            home: Home::new(&site.files, number, directory)?,
            task,
            comm: Comm::Reaim,
            chance,
            channels: [const { None }; 6],
            semaphore: None,
            message: vec![0; MESSAGE_BYTES].into_boxed_slice(),
            meters: Meters::default(),
            deck: Vec::new(),
        })
    }

    /// Shuffles the jobs of a user.
    fn shuffle(&mut self) {
        self.deck = deck(&self.site.setup);
        self.chance.shuffle(&mut self.deck);
    }

    /// Runs every job of the workfile the specified number of times.
    ///
    /// # Errors
    /// As [`Child::next_job`].
    pub fn run_all(&mut self) -> Result<u32> {
        self.shuffle();
        let jobs = self.deck.len() as u32;
        while !self.deck.is_empty() {
            self.next_job()?;
        }
        Ok(jobs)
    }

    /// Runs the next job; after the last one, begins again.
    ///
    /// # Errors
    /// The file system refuses something that it should not.
    pub fn next_job(&mut self) -> Result<()> {
        if self.deck.is_empty() {
            self.shuffle();
        }
        let Some(job) = self.deck.pop() else { return Ok(()) };
        self.home.next_directory(job);
        self.run(job).with_context(|| format!("job {}", job.name))?;
        Sim::progress();
        Ok(())
    }

    /// Makes the user begin as if it had run some of its jobs already: users do not march in step.
    pub fn skip_some(&mut self) {
        self.shuffle();
        let skipped = self.chance.usize(0..self.deck.len());
        self.deck.truncate(self.deck.len() - skipped);
    }

    fn run(&mut self, job: &Job) -> Result<()> {
        let plan: Vec<(Step, u32)> = job.steps.iter().map(|&step| (step, self.scaled(step.rounds()))).collect();
        let rounds: u32 = plan.iter().map(|&(_, rounds)| rounds).sum();
        let slice_ns = self.site.setup.computing_ns() / u64::from(rounds.max(1));
        if rounds == 0 {
            self.compute(slice_ns);
        }
        for (step, rounds) in plan {
            Sim::in_kernel(|| self.begin(step))?;
            for round in 0..rounds {
                self.compute(slice_ns);
                Sim::in_kernel(|| self.round(step, round))?;
            }
            Sim::in_kernel(|| self.end(step))?;
        }
        Ok(())
    }

    /// Computes for about this long: from half to one and a half times that.
    fn compute(&mut self, ns: u64) {
        Sim::compute(ns / 2 + self.chance.u64(0..=ns));
    }

    /// Returns the share of a count that the scale leaves; a remainder is decided by chance.
    pub(super) fn scaled(&mut self, count: u32) -> u32 {
        let scale = self.site.setup.scale;
        count / scale + u32::from(self.chance.u32(0..scale) < count % scale)
    }

    /// Returns whether to do what is done once in a job.
    pub(super) fn once(&mut self) -> bool {
        self.scaled(1) == 1
    }

    /// Ends the process: closes what it has open, drops its memory and its files.
    ///
    /// # Errors
    /// The file system refuses to remove a file.
    pub fn exit(mut self) -> Result<()> {
        let kernel = &self.site.kernel;
        self.channels.iter_mut().filter_map(Option::take).for_each(|socket| socket.close(&kernel.net));
        if let Some(semaphore) = self.semaphore.take() {
            semaphore.remove(&kernel.ipc);
        }
        self.task.mm.exit(kernel);
        kernel.tasks.reap(self.task);
        self.home.leave()
    }

    /// Returns the place of a kind of channel among the child's.
    pub(super) fn channel(&mut self, kind: Channel) -> &mut Option<Socket<L>> {
        &mut self.channels[kind as usize]
    }
}

/// Returns the jobs of a user, in the workfile's order.
fn deck(setup: &Setup) -> Vec<&'static Job> {
    setup.workfile.loads().flat_map(|(job, load)| std::iter::repeat_n(job, load as usize)).collect()
}
