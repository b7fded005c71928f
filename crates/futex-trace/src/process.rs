//! One traced process: its threads, its files, its call stacks, its waits.

use crate::call::Call;
use crate::images::{Image, Mapping};
use crate::pairing::{Pairing, StackId};
use crate::unwind::{Dump, Unwinder};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// A thread's life.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    pub(crate) name: String,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: Option<u64>,
}

/// One process.
#[derive(Default)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) threads: BTreeMap<u32, Life>,
    /// In order of appearance.
    pub(crate) images: Vec<Image>,
    /// Images that the unwinder has not seen yet: many processes never wait.
    pending: usize,
    unwinder: Unwinder,
    /// By number, innermost first.
    pub(crate) stacks: Vec<Vec<u64>>,
    numbers: HashMap<Vec<u64>, StackId>,
    pub(crate) pairing: Pairing,
    /// Its files, where it has another root than we.
    root: Option<PathBuf>,
}

impl Process {
    /// A process that begins with one thread.
    pub(crate) fn new(pid: u32) -> Process {
        Process { pid, ..Process::default() }
    }

    /// A process that runs already, by what `/proc` says.
    pub(crate) fn running(pid: u32) -> Process {
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let mount = |process: &Path| std::fs::read_link(process.join("ns/mnt")).ok();
        let elsewhere = mount(&directory) != mount(Path::new("/proc/self"));
        let mut process = Process::new(pid);
        process.root = elsewhere.then(|| directory.join("root"));
        let maps = std::fs::read(directory.join("maps")).unwrap_or_default();
        for mapping in String::from_utf8_lossy(&maps).lines().filter_map(Mapping::of_line) {
            process.maps(&mapping);
        }
        for thread in std::fs::read_dir(directory.join("task")).into_iter().flatten().flatten() {
            let Some(tid) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let name = std::fs::read(thread.path().join("comm")).unwrap_or_default();
            let name = String::from_utf8_lossy(&name).trim_end().to_owned();
            process.threads.insert(tid, Life { name, ..Life::default() });
        }
        process
    }

    /// What a fork of it is at first.
    pub(crate) fn forked(&self, pid: u32) -> Process {
        Process { pid, images: self.images.clone(), root: self.root.clone(), ..Process::default() }
    }

    /// A file's code is mapped.
    pub(crate) fn maps(&mut self, mapping: &Mapping) {
        let Some(image) = Image::of(mapping, self.root.as_deref()) else { return };
        let known = |other: &Image| (&other.path, other.base) == (&image.path, image.base);
        if !self.images.iter().any(known) {
            self.images.push(image);
        }
    }

    /// A thread begins a futex call.
    pub(crate) fn enter(&mut self, tid: u32, at_ns: u64, call: Call, dump: &Dump) {
        for image in &self.images[self.pending..] {
            self.unwinder.add(image);
        }
        self.pending = self.images.len();
        let stack = self.unwinder.stack(dump);
        let number = match self.numbers.get(&stack) {
            Some(number) => *number,
            None => {
                let number = self.stacks.len() as StackId;
                self.stacks.push(stack.clone());
                self.numbers.insert(stack, number);
                number
            }
        };
        self.threads.entry(tid).or_insert_with(|| Life { began_ns: at_ns, ..Life::default() });
        self.pairing.enter(tid, at_ns, call, number);
    }

    /// Time waited, all threads together.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.pairing.threads.values().map(|sum| sum.sum_ns).sum()
    }
}
