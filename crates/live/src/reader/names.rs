//! Names of threads. To read one takes three system calls, so they are read again now and then only; which threads are
//! there is asked at each look.

use super::process::{thread_name, threads};
use rustc_hash::{FxHashMap, FxHashSet};

/// A name is read again when it is so old: threads name themselves soon after they begin, as a rule, and a number may
/// be another thread's by then.
const OLD_NS: u64 = 5_000_000_000;

/// The names of a process's threads.
#[derive(Default)]
pub(crate) struct ThreadNames {
    /// The names, and when they were read.
    names: FxHashMap<u32, (String, u64)>,
    /// The threads that are there; `None`: the process is gone.
    there: Option<FxHashSet<u32>>,
    now_ns: u64,
}

impl ThreadNames {
    /// Finds out which threads are there, at the time that is given. `None`: the process is gone.
    pub(crate) fn look(&mut self, process: Option<u32>, now_ns: u64) {
        self.now_ns = now_ns;
        self.there = process.map(|process| threads(process).collect());
        if let Some(there) = &self.there {
            self.names.retain(|thread, _| there.contains(thread));
        }
    }

    /// Returns a thread's name; `None`: it is gone. Of a process that is gone threads have no names.
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

    #[test]
    fn names_are_kept_and_threads_that_are_gone_have_none() {
        let process = std::process::id();
        let (tell, told) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("first".to_owned());
        let thread = thread.spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid() as u32).unwrap();
            gone.recv().unwrap();
            rustix::thread::set_name(c"second").unwrap();
            tell.send(0).unwrap();
            gone.recv().unwrap();
        });
        let thread = thread.unwrap();
        let tid = told.recv().unwrap();
        let mut names = ThreadNames::default();
        let mut name = |now_ns| {
            names.look(Some(process), now_ns);
            names.of(Some(process), tid)
        };
        assert_eq!(name(1).as_deref(), Some("first"));
        go.send(()).unwrap();
        told.recv().unwrap();
        assert_eq!(name(2).as_deref(), Some("first"), "it is not read again at once");
        assert_eq!(name(2 + OLD_NS).as_deref(), Some("second"));
        go.send(()).unwrap();
        thread.join().unwrap();
        // The kernel may take a moment longer to forget it.
        while name(3 + OLD_NS).is_some() {
            std::thread::yield_now();
        }
        names.look(None, 4);
        assert_eq!(names.of(None, tid).as_deref(), Some(""));
    }
}
