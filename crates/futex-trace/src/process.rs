//! One traced process: its threads, its files, its call stacks, its waits.

use crate::call::{Call, Word};
use crate::images::{Mapping, module_of};
use crate::living;
use crate::memory::Memory;
use crate::pairing::{Pairing, StackId};
use crate::unwind::{Dump, Unwinder};
use indexmap::IndexSet;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use turnwise_profile::symbols::Module;
use turnwise_recording::{marked, unmarked};

#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    pub(crate) name: String,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: Option<u64>,
}

/// The root of a process's files. It is held open: the files are read for symbol names when the process may have ended.
#[derive(Clone)]
struct Root {
    path: PathBuf,
    _open: Arc<File>,
}

impl Root {
    fn of(process: &Path) -> Option<Root> {
        let open = File::options().read(true).custom_flags(libc::O_PATH).open(process.join("root")).ok()?;
        Some(Root { path: format!("/proc/self/fd/{}", open.as_raw_fd()).into(), _open: Arc::new(open) })
    }
}

#[derive(Default)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) threads: BTreeMap<u32, Life>,
    /// The images, in order of appearance.
    pub(crate) images: Vec<Module>,
    /// Whether some are where others were before.
    has_replaced: bool,
    /// The first image that the unwinder has not seen yet: many processes never wait.
    pending: usize,
    unwinder: Unwinder,
    /// The stacks by number, innermost call first.
    pub(crate) stacks: IndexSet<Vec<u64>>,
    pub(crate) pairing: Pairing,
    /// The owners of what threads waited for at the end, as far as the locks show them.
    pub(crate) owners: HashMap<u32, u32>,
    /// The threads by their numbers inside the process, if those differ.
    inside: HashMap<u32, u32>,
    /// Its files, if its root differs from ours.
    root: Option<Root>,
}

impl Process {
    /// Returns a process that begins with one thread.
    pub(crate) fn new(pid: u32) -> Process {
        Process { pid, ..Process::default() }
    }

    /// Returns a process that is already running, by the data in `/proc`.
    pub(crate) fn running(pid: u32) -> Process {
        let directory = living::directory(pid).unwrap_or_else(|| PathBuf::from(format!("/proc/{pid}")));
        let mount = |process: &Path| std::fs::read_link(process.join("ns/mnt")).ok();
        let elsewhere = mount(&directory) != mount(Path::new("/proc/self"));
        let mut process = Process::new(pid);
        process.root = if elsewhere { Root::of(&directory) } else { None };
        let maps = std::fs::read(directory.join("maps")).unwrap_or_default();
        for mapping in maps.split(|byte| *byte == b'\n').filter_map(Mapping::of_line) {
            process.maps(&mapping);
        }
        for tid in living::threads(pid) {
            let name = std::fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
            let name = String::from_utf8_lossy(&name).trim_end().to_owned();
            process.threads.insert(tid, Life { name, ..Life::default() });
            process.inside.extend(living::number_inside(pid, tid).map(|inside| (inside, tid)));
        }
        process
    }

    /// Adds a new thread.
    pub(crate) fn begins(&mut self, tid: u32, at_ns: u64) {
        // A thread has its creator's name until it is given one.
        let name = self.threads.get(&self.pid).map(|first| first.name.clone()).unwrap_or_default();
        self.threads.insert(tid, Life { name, began_ns: at_ns, ended_ns: None });
        if !self.inside.is_empty() {
            self.inside.extend(living::number_inside(self.pid, tid).map(|inside| (inside, tid)));
        }
    }

    /// Returns the initial state of a fork of it.
    pub(crate) fn forked(&self, pid: u32) -> Process {
        let (images, root) = (self.images.clone(), self.root.clone());
        Process { pid, images, has_replaced: self.has_replaced, root, ..Process::default() }
    }

    /// Adds a mapping of a file's code.
    pub(crate) fn maps(&mut self, mapping: &Mapping) {
        let root = self.root.as_ref().map(|root| root.path.as_path());
        let directory = living::directory(self.pid);
        let Some(image) = module_of(mapping, root, directory.as_deref()) else { return };
        // Of several that were there, the last is there now.
        let before = self.images.iter().rfind(|other| overlaps(other, &image));
        let is_known = before.is_some_and(|other| (&other.path, other.base) == (&image.path, image.base));
        if !is_known {
            self.has_replaced |= before.is_some();
            self.images.push(image);
        }
    }

    /// Returns an address in its current meaning: marked with the number of images that were unmapped there.
    fn numbered(&self, address: u64) -> u64 {
        if !self.has_replaced {
            return address;
        }
        let there = self.images.iter().filter(|image| image.range.contains(&address)).count() as u64;
        if there > 1 { marked(address, there - 1) } else { address }
    }

    /// Returns a call whose futex is marked in this way.
    fn call(&self, call: Call) -> Call {
        match call {
            Call::Wait { address, word } => Call::Wait { address: self.numbered(address), word },
            Call::Wake { address, most } => Call::Wake { address: self.numbered(address), most },
            Call::Requeue { from, to, most } => {
                Call::Requeue { from: self.numbered(from), to: self.numbered(to), most }
            }
        }
    }

    /// Returns our path to a file of the process.
    pub(crate) fn outside(&self, path: &Path) -> PathBuf {
        match (&self.root, path.strip_prefix("/")) {
            (Some(root), Ok(inside)) => root.path.join(inside),
            _ => path.to_owned(),
        }
    }

    /// Notes that a thread begins a futex call.
    pub(crate) fn enter(&mut self, tid: u32, at_ns: u64, call: Call, dump: &Dump) {
        let (number, call) = (self.stack(dump), self.call(call));
        self.threads.entry(tid).or_insert_with(|| Life { began_ns: at_ns, ..Life::default() });
        self.pairing.enter(tid, at_ns, call, number, self.joins(tid, call));
    }

    /// Notes that a thread was in this wait when the trace began.
    pub(crate) fn sleeps(&mut self, tid: u32, call: Call, dump: &Dump) {
        let number = self.stack(dump);
        self.pairing.sleeps(tid, call, number, self.joins(tid, call));
    }

    /// Returns the thread whose end the call waits for.
    fn joins(&self, tid: u32, call: Call) -> Option<u32> {
        match call {
            Call::Wait { word: Word::Shared(value), .. } => self.thread(value).filter(|joined| *joined != tid),
            _ => None,
        }
    }

    /// Returns the thread that has this number inside the process.
    fn thread(&self, inside: u32) -> Option<u32> {
        let tid = if self.inside.is_empty() { inside } else { *self.inside.get(&inside)? };
        self.threads.contains_key(&tid).then_some(tid)
    }

    fn stack(&mut self, dump: &Dump) -> StackId {
        let stack: Vec<u64> = self.unwound(dump).into_iter().map(|address| self.numbered(address)).collect();
        self.stacks.insert_full(stack).0 as StackId
    }

    /// Returns the addresses that the calls of a stack return to, innermost first.
    pub(crate) fn unwound(&mut self, dump: &Dump) -> Vec<u64> {
        for (index, image) in self.images.iter().enumerate().skip(self.pending) {
            for old in self.images[..index].iter().filter(|old| self.has_replaced && overlaps(old, image)) {
                self.unwinder.remove(old);
            }
            self.unwinder.add(image);
        }
        self.pending = self.images.len();
        self.unwinder.stack(dump)
    }

    /// Ends the trace; the process may continue.
    pub(crate) fn end(&mut self, at_ns: u64, memory: Option<&Memory>) {
        self.pairing.end(at_ns);
        for wait in self.pairing.unfinished.iter().filter(|wait| !wait.with_thread) {
            let owner = || self.thread(memory?.owner(unmarked(wait.address).0, wait.word)?);
            if let Some(owner) = wait.joins.or_else(owner) {
                self.owners.insert(wait.tid, owner);
            }
        }
    }

    /// Returns the time waited by all threads together.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.pairing.threads.values().map(|sum| sum.totals().1).sum()
    }
}

fn overlaps(one: &Module, other: &Module) -> bool {
    one.range.start < other.range.end && other.range.start < one.range.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairing::Wait;

    #[test]
    fn what_lay_in_the_place_of_another_image_has_a_number_of_its_own() {
        let image = |file: &str| Mapping {
            start: 0x7000_0000,
            bytes: 0x1000,
            offset: 0,
            inode: None,
            path: format!("/no/such/folder/{file}").into(),
        };
        let mut process = Process::new(u32::MAX);
        let call = Call::Wait { address: 0x7000_0010, word: Word::Private(0) };
        let dump = Dump { instruction: 0x7000_0800, ..Dump::default() };
        for (at_ns, file) in [(1, "a"), (2, "a"), (3, "b"), (4, "a")] {
            process.maps(&image(file));
            process.enter(100, at_ns, call, &dump);
            process.pairing.exit(100, at_ns, 0);
        }
        let shown = |wait: &Wait| (wait.address, process.stacks[wait.stack as usize][0]);
        let expected = [0, 0, 1, 2].map(|number| match number {
            0 => (0x7000_0010, 0x7000_0800),
            number => (marked(0x7000_0010, number), marked(0x7000_0800, number)),
        });
        assert_eq!(process.pairing.kept.iter().map(shown).collect::<Vec<_>>(), expected);
        assert_eq!(process.images.len(), 3);
    }

    #[test]
    fn who_waits_for_a_thread_to_end_names_it_by_the_processes_own_number() {
        let joins = |inside: &[(u32, u32)], value| {
            let mut process = Process::new(100);
            process.threads.extend([100, 101].map(|tid| (tid, Life::default())));
            process.inside.extend(inside.iter().copied());
            process.joins(100, Call::Wait { address: 0x10, word: Word::Shared(value) })
        };
        assert_eq!([101, 100, 1, 0].map(|value| joins(&[], value)), [Some(101), None, None, None]);
        let inside = [(7, 100), (8, 101)];
        assert_eq!([8, 7, 101].map(|value| joins(&inside, value)), [Some(101), None, None]);
    }
}
