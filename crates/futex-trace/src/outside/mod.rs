//! What the threads of a process wait for that runs without any of our libraries: by `/proc`, and by the locks of the C
//! library in its memory. No thread is stopped.

pub(crate) mod access;
mod glibc;
mod kinds;

use crate::call::{Call, Word};
use crate::living::{inside, threads};
use crate::stacks::{Living, line, wait};
pub use access::check;
pub use kinds::Kind;
use std::collections::HashMap;
use turnwise_profile::analysis::{passes_on, slept};
use turnwise_profile::model::{Frame, FrameId};
use turnwise_profile::symbols::Symbols;

/// A thread, at one look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The number of times that it left its CPU. If two looks see the same, it slept from one to the other.
    pub switches: u64,
    /// The time since it last ran, within a per cent or so; `None`: the kernel does not tell.
    pub asleep_ns: Option<u64>,
    /// What it waits for, in a call of the futex family.
    pub wait: Option<Wait>,
}

/// A wait of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The address of the lock, or of the word that the thread sleeps on.
    pub address: u64,
    /// The kind of lock.
    pub kind: Kind,
    /// The thread that has the lock, or that is to end; `None`: unknown.
    pub owner: Option<u32>,
    /// The address to which the call in the program returns; 0: unknown.
    pub site: u64,
    /// Whether it ends by itself at some time.
    pub has_deadline: bool,
}

/// The threads of a process by their numbers inside it, where locks have them from.
type Numbers = HashMap<u32, u32>;

/// What `/proc` has about a thread.
struct Status {
    inside: u32,
    switches: u64,
}

impl Status {
    fn of(pid: u32, tid: u32) -> Option<Status> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        let counts = text.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        let switches = counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum();
        Some(Status { inside: inside(&text).unwrap_or(tid), switches })
    }
}

/// Returns when a thread last ran, by the scheduler's clock: it does not count time that the hypervisor took.
fn ran_at_ns(file: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with("se.exec_start"))?;
    let (whole, part) = line.split_once(':')?.1.trim().split_once('.')?;
    Some(whole.parse::<u64>().ok()?.saturating_mul(1_000_000).saturating_add(part.parse().ok()?))
}

impl Living {
    /// Looks at all threads; none, if the process has ended. `symbols` are those of [`Living::modules`].
    pub fn look(&mut self, symbols: &mut Symbols) -> Vec<Thread> {
        let pid = self.process.pid;
        let mut tids = threads(pid);
        tids.sort_unstable();
        let numbers: Numbers = tids.iter().filter_map(|tid| Some((Status::of(pid, *tid)?.inside, *tid))).collect();
        let now_ns = ran_at_ns("/proc/thread-self/sched");
        tids.into_iter().filter_map(|tid| self.thread(tid, &numbers, now_ns, symbols)).collect()
    }

    /// Looks at a thread; `None`: it has ended.
    fn thread(&mut self, tid: u32, numbers: &Numbers, now_ns: Option<u64>, symbols: &mut Symbols) -> Option<Thread> {
        let pid = self.process.pid;
        let file = |name: &str| format!("/proc/{pid}/task/{tid}/{name}");
        let switches = Status::of(pid, tid)?.switches;
        let wait = self.wait(tid, numbers, symbols);
        // What was read is of one moment only if it slept all along.
        let slept = Status::of(pid, tid).is_some_and(|now| now.switches == switches);
        let name = std::fs::read(file("comm")).unwrap_or_default();
        let ran_ns = ran_at_ns(&file("sched"));
        Some(Thread {
            tid,
            name: String::from_utf8_lossy(&name).trim_end().to_owned(),
            switches,
            asleep_ns: now_ns.zip(ran_ns).map(|(now_ns, ran_ns)| now_ns.saturating_sub(ran_ns)),
            wait: wait.filter(|_| slept),
        })
    }

    fn wait(&mut self, tid: u32, numbers: &Numbers, symbols: &mut Symbols) -> Option<Wait> {
        let line = line(self.process.pid, tid).ok()?;
        let Call::Wait { address, word } = wait(&line)? else { return None };
        // The fourth argument is the timeout.
        let has_deadline = line.split_ascii_whitespace().nth(4) != Some("0x0");
        let (frames, site) = self.place(tid, symbols);
        let kind = kinds::of(&frames);
        let wait = Wait { address, kind: kind.unwrap_or(Kind::FUTEX), owner: None, site, has_deadline };
        let Some(memory) = &self.memory else { return Some(wait) };
        let is_live = |owner: Option<u32>| owner.and_then(|inside| numbers.get(&inside).copied());
        if let Some(kind @ (Kind::MUTEX | Kind::READ | Kind::WRITE)) = kind {
            let (owner, address) = glibc::owner(memory, kind, address, word);
            return Some(Wait { address, owner: is_live(owner), ..wait });
        }
        // Programs that make the call themselves have locks of their own.
        let is_raw = frames.first().is_some_and(|frame| frame.function == "syscall");
        // The C library waits so for a thread's end.
        let joined = match word {
            Word::Shared(value) if kind.is_none() && !is_raw => is_live(Some(value)).filter(|joined| *joined != tid),
            _ => None,
        };
        if joined.is_some() {
            return Some(Wait { kind: Kind::THREAD, owner: joined, ..wait });
        }
        // It takes a mutex again after a wait for a condition.
        let may_be_mutex = match word {
            Word::Owner => true,
            _ if is_raw || !matches!(kind, None | Some(Kind::CONDITION)) => false,
            Word::Private(value) | Word::Shared(value) => {
                value & libc::FUTEX_WAITERS != 0 || glibc::is_mutex(memory, address)
            }
            Word::Other => false,
        };
        match is_live(memory.owner(address, word).filter(|_| may_be_mutex)) {
            Some(owner) => Some(Wait { kind: Kind::MUTEX, owner: Some(owner), ..wait }),
            None => Some(wait),
        }
    }

    /// Returns the functions that pass a wait on to the kernel, innermost first, and the call in the program.
    fn place(&mut self, tid: u32, symbols: &mut Symbols) -> (Vec<Frame>, u64) {
        let stack = self.stack(tid);
        let frames: Vec<FrameId> = stack.iter().flat_map(|address| symbols.of_return_address(*address)).collect();
        let frames = frames.into_iter().map(|frame| symbols.frame(frame)).take_while(|frame| passes_on(frame));
        (frames.cloned().collect(), slept(symbols, &stack).call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_tells_since_when_a_thread_sleeps() {
        let own = ran_at_ns("/proc/thread-self/sched");
        assert_eq!(own.is_some(), std::path::Path::new("/proc/thread-self/sched").exists());
        assert!(own <= ran_at_ns("/proc/thread-self/sched"));
        assert_eq!(ran_at_ns("/proc/self/stat"), None);
    }

    #[test]
    fn a_thread_that_runs_waits_for_nothing() {
        let mut living = Living::of(std::process::id());
        let mut symbols = Symbols::new(living.modules().to_vec());
        let threads = living.look(&mut symbols);
        // SAFETY: the call has no conditions.
        let own = unsafe { libc::gettid() }.cast_unsigned();
        assert_eq!(threads.iter().find(|thread| thread.tid == own).unwrap().wait, None);
        assert!(Living::of(u32::MAX).look(&mut symbols).is_empty());
    }
}
