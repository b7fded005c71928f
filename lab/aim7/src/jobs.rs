//! Every job that a workfile can name, and its requests to the kernel.
//!
//! They are in `jobs.toml`; how each step is done here is in `perform.rs`. The private computation of a job is one
//! number for all jobs, since the published figures give only its mean.

use super::meter::Comm;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    /// Sleeps, in AIM7: a window shows a steady state only if it is far longer than a sleep, so none is simulated.
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
}

impl Disk {
    /// Returns how many blocks of 1 KiB its file has.
    #[must_use]
    pub fn blocks(self, file_kib: u32) -> u32 {
        if self.half { file_kib / 2 } else { file_kib }
    }
}
