//! Every job that a workfile can name, and its requests to the kernel.
//!
//! The counts are facts about AIM7's jobs; how each of them is done here is in `perform.rs`. The private computation of
//! a job is one number for all jobs, since the published figures give only its mean.

use super::meter::Comm;
use serde::Serialize;
use std::ops::{Add, Mul};
use turnwise_present::names;

/// A job.
#[derive(Debug)]
pub struct Job {
    /// As workfiles call it.
    pub name: &'static str,
    /// What it does, in order; nothing: it only computes.
    pub steps: &'static [Step],
}

/// A part of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

const DISK: Disk = Disk { half: false, sync: false, reads: false, rewrites: false, from_shared: false, random: false };
const READ: Step = Step::Disk(Disk { reads: true, ..DISK });
const READ_RANDOM: Step = Step::Disk(Disk { reads: true, random: true, ..DISK });
const REWRITE: Step = Step::Disk(Disk { rewrites: true, random: true, ..DISK });
const WRITE: Step = Step::Disk(DISK);
const COPY: Step = Step::Disk(Disk { from_shared: true, ..DISK });
const SYNC: Disk = Disk { half: true, sync: true, ..DISK };

const fn computes(name: &'static str) -> Job {
    Job { name, steps: &[] }
}

const fn does(name: &'static str, steps: &'static [Step]) -> Job {
    Job { name, steps }
}

/// Every job, in the order of their names.
pub static JOBS: &[Job] = &[
    computes("add_double"),
    computes("add_float"),
    computes("add_int"),
    computes("add_long"),
    computes("add_short"),
    computes("array_rtns"),
    does("brk_test", &[Step::Break { rounds: 1000 }]),
    does("creat_clo", &[Step::CreateClose { times: 1000 }]),
    does("dgram_pipe", &[Step::Messages { channel: Channel::Datagram, pairs: 99 }]),
    does("dir_rtns_1", &[Step::Entries { entries: 10_000 }]),
    does("disk_bcp", &[COPY]),
    does("disk_brd", &[READ]),
    does("disk_brr", &[READ_RANDOM]),
    does("disk_brw", &[REWRITE]),
    does("disk_bwrt", &[WRITE]),
    does("disk_cp", &[COPY]),
    does("disk_rd", &[READ]),
    does("disk_rr", &[READ_RANDOM]),
    does("disk_rw", &[REWRITE]),
    does("disk_src", &[Step::Sources { stats: 57, creates: 43 }]),
    does("disk_wrt", &[WRITE]),
    computes("div_double"),
    computes("div_float"),
    computes("div_int"),
    computes("div_long"),
    computes("div_short"),
    does("exec_test", &[Step::Script { times: 5, forks: 2, execs: 2, shell: Comm::True }]),
    does("fifo_test", &[Step::Messages { channel: Channel::Fifo, pairs: 99 }]),
    does("fork_test", &[Step::Fork { times: 100 }]),
    computes("jmp_test"),
    does("link_test", &[Step::Links { links: 70 }]),
    computes("matrix_rtns"),
    computes("mem_rtns_1"),
    computes("mem_rtns_2"),
    does("misc_rtns_1", &[Step::Identity { times: 10 }]),
    computes("mul_double"),
    computes("mul_float"),
    computes("mul_int"),
    computes("mul_long"),
    computes("mul_short"),
    computes("new_raph"),
    computes("num_rtns_1"),
    does("page_test", &[Step::Pages { breaks: 1700, faults: 1600 }]),
    does("pipe_cpy", &[Step::Messages { channel: Channel::Pipe, pairs: 99 }]),
    computes("ram_copy"),
    computes("series_1"),
    does("shared_memory", &[Step::Shared { operations: 400 }]),
    does("shell_rtns_1", &[Step::Script { times: 1, forks: 3, execs: 3, shell: Comm::Sh }]),
    does("shell_rtns_2", &[Step::Script { times: 1, forks: 3, execs: 3, shell: Comm::Sh }, Step::Sleep { seconds: 5 }]),
    does("shell_rtns_3", &[Step::Script { times: 1, forks: 3, execs: 3, shell: Comm::Sh }]),
    computes("sieve"),
    does("signal_test", &[Step::Signals { times: 1000 }]),
    computes("sort_rtns_1"),
    does("stream_pipe", &[Step::Messages { channel: Channel::Stream, pairs: 99 }]),
    computes("string_rtns"),
    does("sync_disk_cp", &[Step::Disk(Disk { from_shared: true, ..SYNC })]),
    does("sync_disk_rw", &[Step::Disk(Disk { rewrites: true, random: true, ..SYNC })]),
    does("sync_disk_update", &[Step::Disk(Disk { rewrites: true, ..SYNC })]),
    does("sync_disk_wrt", &[Step::Disk(SYNC)]),
    does("tcp_test", &[Step::Messages { channel: Channel::Tcp, pairs: 89 }]),
    computes("trig_rtns"),
    does("udp_test", &[Step::Messages { channel: Channel::Udp, pairs: 99 }]),
];

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
