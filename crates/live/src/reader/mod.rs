//! Finds live views, and makes snapshots of them. Whatever a file holds, reading it ends in an error or in data.

mod absent;
mod clock;
mod copy;
mod error;
mod folders;
mod names;
mod process;
mod record;
mod rules;
mod snapshot;
mod sum;
mod threads;
mod unloads;

pub use absent::{no_room, why_no_view};
pub use error::{Error, Fault};
pub use record::{Recorded, Recorder, Registers, Released};
pub use rules::{Addresses, Rule, Target, Tuner};
pub use snapshot::{Lock, Lost, Site, SiteSum, Snapshot, Thread, Totals, Unloaded, Unloads, Waiting};

use crate::layout::{CALLS, Part, STACKS, Stack, stack_of_site};
use clock::Clock;
use core::sync::atomic::Ordering::Relaxed;
use names::{ProgramNames, ThreadNames};
use std::fs::File;
use std::path::{Path, PathBuf};
use turnwise_preload_abi::Lock as Policy;

/// The live view of a process.
#[derive(Debug)]
pub struct Channel {
    file: File,
    path: PathBuf,
    pid: u32,
    start: u64,
    names: ProgramNames,
    policy: Option<Policy>,
}

impl Channel {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, is not the caller's (root may read all), or is not a live view of this version.
    pub fn open(path: &Path) -> Result<Channel, Error> {
        let file = folders::open(path)?;
        let header = copy::header(path, &file)?;
        let (pid, start) = (header.pid.load(Relaxed), header.start.load(Relaxed));
        let names = ProgramNames::of(&header);
        let policy = (header.policy.load(Relaxed) as usize).checked_sub(1).and_then(|number| Policy::ALL.get(number));
        Ok(Channel { file, path: path.to_owned(), pid, start, names, policy: policy.copied() })
    }

    /// Opens the view of a running process, wherever its file is.
    ///
    /// # Errors
    /// The process has none, or as for [`Channel::open`].
    pub fn of(pid: u32) -> Result<Channel, Error> {
        let by_name = folders::files().into_iter().find(|f| f.pid == pid && process::is_alive(f.pid, f.start));
        let path = by_name.map(|found| found.path).or_else(|| folders::file_of(pid));
        Channel::open(&path.ok_or_else(|| Error::new(Path::new("/proc"), Fault::NoView(pid)))?)
    }

    /// Returns the views of the caller's running processes; of all processes for root. Files that cannot be read are
    /// left out.
    #[must_use]
    pub fn list() -> Vec<Channel> {
        Channel::all(true)
    }

    /// Returns the views of ended processes, as [`Channel::list`] does for running ones.
    #[must_use]
    pub fn list_gone() -> Vec<Channel> {
        Channel::all(false)
    }

    /// Returns why files that [`Channel::list`] leaves out cannot be read.
    #[must_use]
    pub fn unreadable() -> Vec<Error> {
        Channel::open_all(true).filter_map(Result::err).collect()
    }

    fn all(alive: bool) -> Vec<Channel> {
        Channel::open_all(alive).filter_map(Result::ok).collect()
    }

    fn open_all(alive: bool) -> impl Iterator<Item = Result<Channel, Error>> {
        let files = folders::files().into_iter().filter(move |file| process::is_alive(file.pid, file.start) == alive);
        files.map(|file| Channel::open(&file.path))
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the process's number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the time at which the process began, from its `/proc/PID/stat`.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Returns the program's name, without its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.names.program
    }

    /// Returns whether this is a name of the program: its file's, its first argument's, or the system's, which is 15
    /// bytes of the name of a script run by its first line, or a name that the program chose later.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let now = || process::thread_name(self.pid, self.pid).filter(|_| self.is_alive());
        self.names.have(name) || now().is_some_and(|title| names::is_title(&title, name))
    }

    /// Returns the policy of the process's locks; `None`: a policy file's rules decide, lock by lock.
    #[must_use]
    pub fn policy(&self) -> Option<Policy> {
        self.policy
    }

    /// Returns whether the process runs, and this is still its view: after `exec` there is another of the same name.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        process::is_alive(self.pid, self.start) && folders::has_name(&self.file).unwrap_or(false)
    }

    /// Reads the locks' totals, and the current waiters. The process does not notice.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.sums().map(|(snapshot, _)| snapshot)
    }

    /// Reads a snapshot, and the totals of the waits at each call site of each lock.
    ///
    /// # Errors
    /// As for [`Channel::snapshot`].
    pub fn sums(&self) -> Result<(Snapshot, Vec<SiteSum>), Error> {
        self.look(&mut ThreadNames::default())
    }

    /// Returns which modules the process has unloaded.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn unloads(&self) -> Result<Unloads, Error> {
        unloads::read(&self.path, &self.file, &copy::header(&self.path, &self.file)?)
    }

    /// Returns the return addresses of the calls that a call site stands for, innermost first: its own, or those of a
    /// stack; none, if it cannot be read.
    #[must_use]
    pub fn calls(&self, site: u64) -> Vec<u64> {
        let Some(number) = stack_of_site(site) else { return vec![site] };
        let stack = (number < STACKS).then(|| copy::read_at::<Stack>(&self.file, Stack::offset(number)).ok()).flatten();
        let calls = |stack: Stack| {
            let count = (stack.count.load(Relaxed) as usize).min(CALLS);
            stack.calls[..count].iter().map(|call| call.load(Relaxed)).collect()
        };
        stack.map(calls).unwrap_or_default()
    }

    /// Makes the program record its individual waits: see [`Recorder`].
    ///
    /// # Errors
    /// The file cannot be written to, or another profiler does so.
    pub fn record(&self) -> Result<Recorder, Error> {
        Recorder::new(&self.path, &self.file)
    }

    fn look(&self, names: &mut ThreadNames) -> Result<(Snapshot, Vec<SiteSum>), Error> {
        let alive = self.is_alive();
        let copy = copy::copy(&self.path, &self.file)?;
        let (header, clock) = (&copy.header, Clock::of(&copy.header));
        let sites = sum::by_site(&copy, &clock);
        let snapshot = Snapshot {
            pid: self.pid,
            start: self.start,
            name: self.names.program.clone(),
            alive,
            taken_ns: clock.ns,
            locks: sum::by_lock(&sites, &copy, &clock),
            threads: threads::threads(&copy, &clock, alive.then_some(self.pid), names),
            lost: Lost {
                threads: header.lost_threads.load(Relaxed),
                waits: header.lost_waits.load(Relaxed),
                nested: header.lost_nested.load(Relaxed),
            },
            is_exact: copy.is_exact,
            rules: self.rules()?,
            unloads: unloads::read(&self.path, &self.file, header)?,
        };
        Ok((snapshot, sites))
    }
}

/// Reads a view repeatedly, each time for less than a snapshot costs: names of threads may be some seconds old.
pub struct Follower {
    channel: Channel,
    names: ThreadNames,
}

impl Follower {
    /// Begins to follow a view.
    #[must_use]
    pub fn new(channel: Channel) -> Follower {
        Follower { channel, names: ThreadNames::default() }
    }

    /// Returns the view.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Makes a snapshot.
    ///
    /// # Errors
    /// As for [`Channel::snapshot`].
    pub fn look(&mut self) -> Result<Snapshot, Error> {
        self.channel.look(&mut self.names).map(|(snapshot, _)| snapshot)
    }
}
