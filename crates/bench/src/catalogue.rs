//! Every lock of this project: how large it is, where it comes from, and what it promises.

use std::mem::size_of;
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::inode_lock::{self, InodeLock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};

/// A crate of this project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// The locks to use.
    Turnwise,
    /// The documents' locks, to measure.
    Lineage,
}

/// A lock, without data.
pub struct Entry {
    /// Its name in its crate.
    pub name: &'static str,
    /// Its crate.
    pub home: Home,
    /// Its size, with the features of this build.
    pub bytes: usize,
    /// The document or paper that it follows.
    pub source: &'static str,
    /// Who gets it next.
    pub order: &'static str,
    /// For how long those who come later may overtake a waiter.
    pub overtaken: &'static str,
    /// What its waiters do.
    pub waiters: &'static str,
    /// Whether a waiter can give up at a deadline.
    pub timed: bool,
    /// What happens when a thread acquires what it has.
    pub again: &'static str,
}

const fn entry(name: &'static str, home: Home, bytes: usize, source: &'static str) -> Entry {
    let (order, overtaken, waiters, again) = ("any", NO_BOUND, "spin", "deadlock");
    Entry { name, home, bytes, source, order, overtaken, waiters, timed: false, again }
}

const NO_BOUND: &str = "no bound";
const NEVER: &str = "never";
const UNTIL_QUEUED: &str = "until queued";
const ADAPTIVE: &str = "spin, sleep";

/// Every lock.
pub static CATALOGUE: &[Entry] = &[
    Entry {
        order: "any, hand-off",
        overtaken: "4 ms",
        waiters: ADAPTIVE,
        timed: true,
        ..entry("Mutex", Home::Turnwise, size_of::<turnwise::RawMutex>(), "mutex_spinners")
    },
    Entry {
        order: "any, hand-off",
        overtaken: "4 ms",
        waiters: ADAPTIVE,
        timed: true,
        again: "counted",
        ..entry("ReentrantMutex", Home::Turnwise, size_of::<turnwise::RawReentrantMutex>(), "our Mutex")
    },
    Entry {
        order: "any, hand-off",
        overtaken: "4 ms",
        waiters: "sleep",
        timed: true,
        again: "takes more",
        ..entry("Semaphore", Home::Turnwise, size_of::<turnwise::Semaphore>(), "Dijkstra 1965")
    },
    Entry {
        order: FIFO.0,
        overtaken: FIFO.1,
        waiters: "sleep",
        timed: true,
        again: "takes more",
        ..entry("FairSemaphore", Home::Turnwise, size_of::<turnwise::FairSemaphore>(), "Dijkstra 1965")
    },
    Entry {
        order: "any, hand-off",
        overtaken: "4 ms",
        waiters: ADAPTIVE,
        timed: true,
        ..entry("RwSem", Home::Turnwise, size_of::<turnwise::RawRwSem>(), "rwsem_stealing")
    },
    Entry {
        order: "any, hand-off",
        overtaken: "4 ms",
        waiters: ADAPTIVE,
        timed: true,
        ..entry("SeqRwLock", Home::Turnwise, size_of::<turnwise::RawSeqRwLock>(), "dcache")
    },
    Entry {
        waiters: ADAPTIVE,
        timed: true,
        ..entry("LockRef", Home::Turnwise, size_of::<turnwise::LockRef>(), "dcache, Linux 3.12")
    },
    Entry { timed: true, ..entry("SpinLock", Home::Turnwise, size_of::<turnwise::RawSpinLock>(), "spin_backoff") },
    Entry {
        order: "FIFO",
        overtaken: NEVER,
        timed: true,
        ..entry("TicketLock", Home::Turnwise, size_of::<turnwise::RawTicketLock>(), "Reed, Kanodia 1979")
    },
    Entry {
        order: "FIFO queue",
        overtaken: NEVER,
        timed: true,
        ..entry("QueuedSpinLock", Home::Turnwise, size_of::<turnwise::RawQueuedSpinLock>(), "Linux 4.2, MCS 1991")
    },
    Entry {
        order: "FIFO",
        overtaken: NEVER,
        ..entry("McsLock", Home::Turnwise, size_of::<turnwise::RawMcsLock>(), "MCS 1991")
    },
    mutex("LinuxMutex<Baseline>", size_of::<LinuxMutex<linux_mutex::Baseline>>(), "spin, sleep"),
    mutex("LinuxMutex<Patch1>", size_of::<LinuxMutex<linux_mutex::Patch1>>(), "spin, sleep"),
    mutex("LinuxMutex<Patch1And2>", size_of::<LinuxMutex<linux_mutex::Patch1And2>>(), "queue, sleep"),
    mutex("LinuxMutex<NoSpin>", size_of::<LinuxMutex<linux_mutex::NoSpin>>(), "sleep"),
    rwsem("RwsemSpinlock<Fifo>", size_of::<RwsemSpinlock<rwsem_spinlock::Fifo>>(), FIFO),
    rwsem("RwsemSpinlock<Stealing>", size_of::<RwsemSpinlock<rwsem_spinlock::Stealing>>(), STEAL),
    rwsem("RwsemXadd<Fifo>", size_of::<RwsemXadd<rwsem_xadd::Fifo>>(), FIFO),
    rwsem("RwsemXadd<Stealing>", size_of::<RwsemXadd<rwsem_xadd::Stealing>>(), STEAL),
    rwsem("RwsemXadd<FastStealing>", size_of::<RwsemXadd<rwsem_xadd::FastStealing>>(), STEAL),
    d_count("DCount<UnderLock>", size_of::<DCount<d_count::UnderLock>>()),
    d_count("DCount<CmpXchg>", size_of::<DCount<d_count::CmpXchg>>()),
    d_count("DCount<LockRef>", size_of::<DCount<d_count::LockRef>>()),
    Entry {
        order: FIFO.0,
        overtaken: FIFO.1,
        ..entry("RenameLock<Exclusive>", Home::Lineage, size_of::<RenameLock<rename_lock::Exclusive>>(), "dcache")
    },
    entry("RenameLock<SeqRw>", Home::Lineage, size_of::<RenameLock<rename_lock::SeqRw>>(), "dcache"),
    ia64("Ia64SpinLock<Plain>", size_of::<Ia64SpinLock<ia64_spin::Plain>>()),
    ia64("Ia64SpinLock<ExponentialCode>", size_of::<Ia64SpinLock<ia64_spin::ExponentialCode>>()),
    ia64("Ia64SpinLock<ExponentialProse>", size_of::<Ia64SpinLock<ia64_spin::ExponentialProse>>()),
    ia64("InodeLock<Spin>", size_of::<InodeLock<inode_lock::Spin>>()),
    ia64("InodeLock<BackOff>", size_of::<InodeLock<inode_lock::BackOff>>()),
    Entry {
        order: FIFO.0,
        overtaken: FIFO.1,
        waiters: "sleep",
        ..entry("InodeLock<Rwsem>", Home::Lineage, size_of::<InodeLock<inode_lock::Rwsem>>(), "spin_backoff")
    },
    osv("OsvMutex<NoSpin>", size_of::<OsvMutex<osv_mutex::NoSpin>>(), FIFO.1, "sleep"),
    osv("OsvMutex<Spin>", size_of::<OsvMutex<osv_mutex::Spin>>(), UNTIL_QUEUED, ADAPTIVE),
    osv("OsvMutex<SpinToOne>", size_of::<OsvMutex<osv_mutex::SpinToOne>>(), UNTIL_QUEUED, ADAPTIVE),
    osv("OsvMutex<SpinPolling>", size_of::<OsvMutex<osv_mutex::SpinPolling>>(), NO_BOUND, ADAPTIVE),
    osv("OsvMutex<SpinAfterPush>", size_of::<OsvMutex<osv_mutex::SpinAfterPush>>(), NEVER, ADAPTIVE),
    entry("BiasedRwLock", Home::Lineage, size_of::<turnwise_lineage::BiasedRwLock>(), "mutex_spinners"),
    Entry {
        order: FIFO.0,
        overtaken: FIFO.1,
        ..entry("QueuedRwLock", Home::Lineage, size_of::<turnwise_lineage::QueuedRwLock>(), "Linux 3.16")
    },
    Entry {
        order: FIFO.0,
        overtaken: FIFO.1,
        ..entry("KernelTicketLock", Home::Lineage, size_of::<turnwise_lineage::KernelTicketLock>(), "Linux 2.6.25")
    },
];

/// What comes next, and for how long a waiter may be overtaken.
const FIFO: (&str, &str) = ("FIFO", NEVER);
const STEAL: (&str, &str) = ("writers: any", NO_BOUND);

const fn mutex(name: &'static str, bytes: usize, waiters: &'static str) -> Entry {
    Entry { waiters, ..entry(name, Home::Lineage, bytes, "mutex_spinners") }
}

const fn rwsem(name: &'static str, bytes: usize, (order, overtaken): (&'static str, &'static str)) -> Entry {
    Entry { order, overtaken, waiters: "sleep", ..entry(name, Home::Lineage, bytes, "rwsem_stealing") }
}

const fn d_count(name: &'static str, bytes: usize) -> Entry {
    entry(name, Home::Lineage, bytes, "dcache")
}

const fn ia64(name: &'static str, bytes: usize) -> Entry {
    entry(name, Home::Lineage, bytes, "spin_backoff")
}

/// Handed to the first in the queue; those that spin may take what is on offer.
const fn osv(name: &'static str, bytes: usize, overtaken: &'static str, waiters: &'static str) -> Entry {
    Entry {
        order: "FIFO, offer",
        overtaken,
        waiters,
        again: "counted",
        ..entry(name, Home::Lineage, bytes, "handoff_spin")
    }
}

/// The locks of a crate as lines of text, with a head.
#[must_use]
pub fn table(home: Home) -> String {
    let head = ["lock", "bytes", "follows", "next is", "overtaken for", "waiters", "timed", "again"];
    let rows = CATALOGUE.iter().filter(|entry| entry.home == home).map(Entry::cells);
    let lines: Vec<_> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let mut widths = [0; 8];
    for cells in &lines {
        widths.iter_mut().zip(cells).for_each(|(width, cell)| *width = cell.len().max(*width));
    }
    let line = |cells: &[String; 8]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("  {cell:<width$}"));
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    lines.iter().map(line).collect()
}

impl Entry {
    fn cells(&self) -> [String; 8] {
        let timed = if self.timed { "yes" } else { "no" };
        let bytes = self.bytes.to_string();
        [self.name, &bytes, self.source, self.order, self.overtaken, self.waiters, timed, self.again].map(str::to_owned)
    }
}

/// The lock of this name; each name is there once.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::SUBJECTS;
    use std::collections::HashSet;

    #[test]
    fn tables_fit_a_terminal() {
        for home in [Home::Turnwise, Home::Lineage] {
            let table = table(home);
            let long: Vec<_> = table.lines().filter(|line| line.chars().count() > 120).collect();
            assert!(long.is_empty(), "{long:#?}");
        }
    }

    #[test]
    fn every_lock_of_the_benchmark_is_in_it_once() {
        let names: HashSet<_> = CATALOGUE.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        for subject in SUBJECTS {
            for lock in subject.locks() {
                let known = lock.entry.is_none_or(|name| find(name).is_some());
                assert!(known, "{}: {} is not in the catalogue", subject.name, lock.name);
            }
        }
    }
}
