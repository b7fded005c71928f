//! Names of programs and of threads. Reading a thread's name takes three system calls, so names are reread only
//! occasionally; the list of threads is read at each look.

use super::process::{before_zero, printable, thread_name, threads};
use crate::layout::{Header, TITLE};
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;
use rustc_hash::{FxHashMap, FxHashSet};

/// The names that a program has, without folders and without characters that a terminal would interpret.
#[derive(Debug)]
pub(crate) struct ProgramNames {
    /// Its file's name, which is shown.
    pub(crate) program: String,
    /// The name from its first argument; empty: none.
    called: String,
    /// Its first thread's name, when the view was created.
    title: String,
}

impl ProgramNames {
    /// Reads the names.
    pub(crate) fn of(header: &Header) -> ProgramNames {
        // The last part of a truncated argument is not a name.
        let is_whole = header.called.iter().any(|byte| byte.load(Relaxed) == 0);
        ProgramNames {
            program: file_name(&header.name),
            called: if is_whole { file_name(&header.called) } else { String::new() },
            title: printable(text(&header.title).trim_end()),
        }
    }

    /// Returns whether `name` is one of them.
    pub(crate) fn have(&self, name: &str) -> bool {
        [&self.program, &self.called].into_iter().any(|known| known == name) || is_title(&self.title, name)
    }
}

/// Returns whether `title` is the system's name of a program of this name: it keeps the beginning.
pub(crate) fn is_title(title: &str, name: &str) -> bool {
    const KEPT: usize = TITLE - 1;
    !title.is_empty() && (title == name || title.len() == KEPT && name.as_bytes().get(..KEPT) == Some(title.as_bytes()))
}

fn file_name(bytes: &[AtomicU8]) -> String {
    printable(text(bytes).rsplit('/').next().unwrap_or_default())
}

fn text(bytes: &[AtomicU8]) -> String {
    String::from_utf8_lossy(&before_zero(bytes)).into_owned()
}

/// The age at which a name is read again: threads usually name themselves soon after they begin, and a number may have
/// passed to another thread.
const OLD_NS: u64 = 5_000_000_000;

/// The names of a process's threads.
#[derive(Default)]
pub(crate) struct ThreadNames {
    /// The names, and when they were read.
    names: FxHashMap<u32, (String, u64)>,
    /// The threads that exist; `None`: the process has ended.
    there: Option<FxHashSet<u32>>,
    now_ns: u64,
}

impl ThreadNames {
    /// Determines which threads exist, at the given time. `None`: the process has ended.
    pub(crate) fn look(&mut self, process: Option<u32>, now_ns: u64) {
        self.now_ns = now_ns;
        self.there = process.map(|process| threads(process).collect());
        if let Some(there) = &self.there {
            self.names.retain(|thread, _| there.contains(thread));
        }
    }

    /// Returns a thread's name; `None`: it has exited. Threads of an ended process have no names.
    pub(crate) fn of(&mut self, process: Option<u32>, thread: u32) -> Option<String> {
        let (Some(process), Some(there)) = (process, &self.there) else { return Some(String::new()) };
        if !there.contains(&thread) {
            return None;
        }
        if let Some((name, read_ns)) = self.names.get(&thread)
            && self.now_ns.saturating_sub(*read_ns) < OLD_NS
        {
            return Some(name.clone());
        }
        let name = thread_name(process, thread)?;
        self.names.insert(thread, (name.clone(), self.now_ns));
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn a_program_has_the_names_of_its_file_of_its_first_word_and_of_its_script() {
        let mut header = Header::new_zeroed();
        let put = |to: &[AtomicU8], text: &[u8]| to.iter().zip(text).for_each(|(to, byte)| to.store(*byte, Relaxed));
        put(&header.name, b"/usr/bin/python3.11");
        put(&header.called, b"/usr/bin/python3\0./a/sort\0");
        put(&header.title, b"serve-everybody\n");
        let names = ProgramNames::of(&header);
        for name in ["python3.11", "python3", "serve-everybody", "serve-everybody.py"] {
            assert!(names.have(name), "{name}");
        }
        for name in ["", "python", "sort", "serve-everybod", "serve", "/usr/bin/python3"] {
            assert!(!names.have(name), "{name}");
        }
        header.called.iter_mut().for_each(|byte| *byte = b'a'.into());
        let cut = ProgramNames::of(&header);
        assert!(cut.called.is_empty() && cut.have("python3.11"), "{cut:?}");
        assert!(!ProgramNames::of(&Header::new_zeroed()).have("x"));
    }

    #[test]
    fn names_are_kept_and_threads_that_are_gone_have_none() {
        let process = std::process::id();
        let (sender, receiver) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("first".to_owned());
        let thread = thread.spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_pid() as u32).unwrap();
            gone.recv().unwrap();
            rustix::thread::set_name(c"second").unwrap();
            sender.send(0).unwrap();
            gone.recv().unwrap();
        });
        let thread = thread.unwrap();
        let tid = receiver.recv().unwrap();
        let mut names = ThreadNames::default();
        let mut name = |now_ns| {
            names.look(Some(process), now_ns);
            names.of(Some(process), tid)
        };
        assert_eq!(name(1).as_deref(), Some("first"));
        go.send(()).unwrap();
        receiver.recv().unwrap();
        assert_eq!(name(2).as_deref(), Some("first"), "it is not read again at once");
        assert_eq!(name(2 + OLD_NS).as_deref(), Some("second"));
        go.send(()).unwrap();
        thread.join().unwrap();
        // The kernel may forget it a moment later.
        while name(3 + OLD_NS).is_some() {
            std::thread::yield_now();
        }
        names.look(None, 4);
        assert_eq!(names.of(None, tid).as_deref(), Some(""));
    }
}
