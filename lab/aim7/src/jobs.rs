//! Every job that a workfile can name, and its requests to the kernel.
//!
//! They are in `jobs.toml`; how each step is done here is in `perform.rs`. The private computation of a job is one
//! number for all jobs, since the published figures give only its mean.

use super::meter::Comm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Add, Mul};
use std::sync::LazyLock;
use turnwise_present::names;

/// A job.
#[derive(Debug)]
pub struct Job {
    /// As workfiles call it.
    pub name: &'static str,
    /// What it does, in order; nothing: it only computes.
    pub steps: Vec<Step>,
}

/// A part of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Repeatedly creates the same file and closes it, then removes it.
    CreateClose {
        /// How often.
        times: u32,
    },
    /// Creates a file, makes this many links to it, and removes all of them.
    Links {
        /// How many links.
        links: u32,
    },
    /// Gives memory back and requests it again in 16 steps.
    Break {
        /// How often.
        rounds: u32,
    },
    /// Requests memory and touches its pages.
    Pages {
        /// Calls that request memory.
        breaks: u32,
        /// Pages touched.
        faults: u32,
    },
    /// Forks a process that ends at once, and waits for it.
    Fork {
        /// How often.
        times: u32,
    },
    /// Forks a process that runs a script, which lists a directory.
    Script {
        /// How often.
        times: u32,
        /// Processes of each, the one that becomes the script included.
        forks: u32,
        /// Programs that these become.
        execs: u32,
        /// What all but the last of these are.
        shell: Comm,
    },
    /// Sleeps.
    Sleep {
        /// How long.
        seconds: u32,
    },
    /// Sends itself a signal and handles it.
    Signals {
        /// How often.
        times: u32,
    },
    /// Reads the entries of a directory like /bin.
    Entries {
        /// How many.
        entries: u32,
    },
    /// Gets its working directory, its terminal, its user and the like.
    Identity {
        /// How often.
        times: u32,
    },
    /// Writes messages to itself and reads them.
    Messages {
        /// Through what.
        channel: Channel,
        /// Messages, of 1 to 4096 bytes.
        pairs: u32,
    },
    /// Makes a segment of shared memory and a semaphore, works the semaphore, and removes both.
    Shared {
        /// Operations on the semaphore.
        operations: u32,
    },
    /// Creates a file of the ramp's size, works on it, removes it.
    Disk(Disk),
    /// Looks at files and makes some, as a compilation does.
    Sources {
        /// Files looked at.
        stats: u32,
        /// Files created and removed.
        creates: u32,
    },
}

/// What messages go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// A pipe without a name.
    Pipe,
    /// A pipe with a name in the file system.
    Fifo,
    /// A pair of stream sockets.
    Stream,
    /// A pair of datagram sockets.
    Datagram,
    /// A UDP socket.
    Udp,
    /// A TCP connection.
    Tcp,
}

/// What a job does with its file; sizes are in blocks of 1 KiB, `n` of them for the ramp's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Disk {
    /// Half the size instead.
    pub half: bool,
    /// Every write waits for the disk.
    pub sync: bool,
    /// After writing it, reads it in this many blocks of the size, 1 for all.
    pub reads: bool,
    /// After writing it, writes it again, at random places.
    pub rewrites: bool,
    /// Reads the file that all users share, into its own.
    pub from_shared: bool,
    /// At random places, not from the start to the end.
    pub random: bool,
}

/// Every job, in the order of their names.
pub static JOBS: LazyLock<Vec<Job>> = LazyLock::new(|| {
    let jobs: BTreeMap<&str, Vec<Step>> = toml::from_str(include_str!("jobs.toml")).expect("the file is tested");
    jobs.into_iter().map(|(name, steps)| Job { name, steps }).collect()
});

impl Job {
    /// Returns the job of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Job> {
        JOBS.binary_search_by_key(&name, |job| job.name).ok().map(|at| &JOBS[at])
    }

    /// Returns the job whose name is most like this one, if any is like it.
    #[must_use]
    pub fn nearest(name: &str) -> Option<&'static Job> {
        Job::find(&names::nearest(name, JOBS.iter().map(|job| job.name.into()))?)
    }

    /// Returns its requests to the kernel, with files of this many KiB.
    #[must_use]
    pub fn operations(&self, file_kib: u32) -> Operations {
        self.steps.iter().map(|step| step.operations(file_kib)).fold(Operations::default(), |all, one| all + one)
    }
}

/// Operations of the kernel, counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Operations {
    /// Processes made.
    pub forks: u64,
    /// Programs that processes became.
    pub execs: u64,
    /// Files created, or opened as if they had to be.
    pub creates: u64,
    /// Links made.
    pub links: u64,
    /// Names removed.
    pub unlinks: u64,
    /// Data written, in KiB.
    pub written_kib: u64,
    /// Data read, in KiB.
    pub read_kib: u64,
    /// Entries of directories read.
    pub entries: u64,
    /// Changes of a process' memory.
    pub breaks: u64,
    /// Pages touched for the first time.
    pub faults: u64,
    /// Signals sent.
    pub signals: u64,
    /// Requests for the path of the working directory.
    pub paths: u64,
    /// Messages written and read.
    pub messages: u64,
    /// Operations on semaphores.
    pub semaphores: u64,
    /// Seconds asleep.
    pub sleeps_s: u64,
}

macro_rules! each {
    ($with:ident) => {
        $with!(
            forks execs creates links unlinks written_kib read_kib entries breaks faults signals paths messages
            semaphores sleeps_s
        )
    };
}

impl Add for Operations {
    type Output = Operations;

    fn add(self, other: Operations) -> Operations {
        macro_rules! sum {
            ($($field:ident)*) => { Operations { $($field: self.$field + other.$field),* } };
        }
        each!(sum)
    }
}

impl Mul<u64> for Operations {
    type Output = Operations;

    fn mul(self, times: u64) -> Operations {
        macro_rules! product {
            ($($field:ident)*) => { Operations { $($field: self.$field * times),* } };
        }
        each!(product)
    }
}

impl Step {
    fn operations(self, file_kib: u32) -> Operations {
        let none = Operations::default();
        let count = u64::from;
        match self {
            Step::CreateClose { times } => Operations { creates: count(times), unlinks: 1, ..none },
            Step::Links { links } => Operations { creates: 1, links: count(links), unlinks: count(links) + 1, ..none },
            Step::Break { rounds } => Operations { breaks: count(rounds) * 17, ..none },
            Step::Pages { breaks, faults } => Operations { breaks: count(breaks), faults: count(faults), ..none },
            Step::Fork { times } => Operations { forks: count(times), ..none },
            Step::Script { times, forks, execs, .. } => {
                Operations { forks: count(times * forks), execs: count(times * execs), ..none }
            }
            Step::Sleep { seconds } => Operations { sleeps_s: count(seconds), ..none },
            Step::Signals { times } => Operations { signals: count(times), ..none },
            Step::Entries { entries } => Operations { entries: count(entries), ..none },
            Step::Identity { times } => Operations { paths: count(times), ..none },
            Step::Messages { pairs, .. } => Operations { messages: count(pairs), ..none },
            Step::Shared { operations } => Operations { semaphores: count(operations), ..none },
            Step::Disk(disk) => disk.operations(file_kib),
            Step::Sources { creates, .. } => Operations { creates: count(creates), unlinks: count(creates), ..none },
        }
    }
}

impl Disk {
    /// Returns how many blocks of 1 KiB its file has.
    #[must_use]
    pub fn blocks(self, file_kib: u32) -> u32 {
        if self.half { file_kib / 2 } else { file_kib }
    }

    fn operations(self, file_kib: u32) -> Operations {
        let blocks = u64::from(self.blocks(file_kib));
        let times = |yes: bool| if yes { blocks } else { 0 };
        Operations {
            creates: 1,
            unlinks: 1,
            written_kib: blocks + times(self.rewrites),
            read_kib: times(self.reads) + times(self.from_shared),
            ..Operations::default()
        }
    }
}
