//! Names of locks and of places in running programs.

use super::model::{LockId, ProcessId, View};
use super::modules::{Modules, unloads_of};
use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};
use turnwise_futex_trace::outside::Thread;
use turnwise_live::layout::stack_of_site;
use turnwise_live::{Channel, Kind, Unloads, unnumbered};
use turnwise_preload_abi::libraries::PRELOAD;
use turnwise_profile::analysis::{Slept, is_lock_class, shown, slept, slept_on};
use turnwise_profile::model::{Frame, LockKind};
use turnwise_profile::symbols::Symbols;

/// The time after which an address in no known file is looked up again: it may be in one that was loaded since.
const AGAIN: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Names {
    processes: HashMap<ProcessId, Program>,
    locks: HashMap<(ProcessId, u64), Name>,
    /// The number of locks of a process with a name.
    taken: HashMap<(ProcessId, String), u32>,
    /// The names of call sites, and what threads wait for there, if it is not one of our locks.
    sites: HashMap<(ProcessId, u64), (String, Option<LockKind>)>,
}

/// A lock's name; several with the same name have numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) base: String,
    number: u32,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        if self.number > 1 { write!(f, " #{}", self.number) } else { Ok(()) }
    }
}

/// The files of a process.
struct Program {
    /// Its view, which contains what has been unloaded.
    channel: Option<Channel>,
    modules: Modules,
    symbols: Symbols,
    read: Instant,
}

impl Program {
    fn of(process: ProcessId) -> Program {
        let channel = channel_of(process);
        let modules = Modules::of(process.pid, || unloads(channel.as_ref()));
        let symbols = Symbols::in_order(modules.all());
        Program { channel, modules, symbols, read: Instant::now() }
    }

    /// Inspects again, if modules were unloaded, or if an address is in no known one.
    fn look_for(&mut self, address: u64) {
        let news = self.modules.learn(unloads(self.channel.as_ref()));
        let is_missing = address != 0 && !self.modules.has(address) && self.read.elapsed() > AGAIN;
        if is_missing || !self.modules.is_new() && self.modules.may_look_again() {
            self.modules.look_again(|| unloads(self.channel.as_ref()));
            self.read = Instant::now();
        } else if !news {
            return;
        }
        self.symbols = Symbols::in_order(self.modules.all());
    }
}

/// Returns the view of a process that runs or has ended.
pub(crate) fn channel_of(process: ProcessId) -> Option<Channel> {
    let is_it = |channel: &Channel| (channel.pid(), channel.start()) == (process.pid, process.start);
    let gone = || Channel::list_gone().into_iter().find(is_it);
    Channel::of(process.pid).ok().filter(is_it).or_else(gone)
}

fn unloads(channel: Option<&Channel>) -> Unloads {
    channel.map(unloads_of).unwrap_or_default()
}

impl Names {
    /// Returns a lock's name: its variable, or where it is taken, or its address. It is unique within the process.
    pub(crate) fn lock(&mut self, id: LockId, site: u64) -> Name {
        let key = (id.process, id.address);
        if let Some(name) = self.locks.get(&key) {
            return name.clone();
        }
        let variable = self.program(id.process, id.address).symbols.variable(id.address);
        let taken = |names: &mut Names| {
            let how = if names.kind(id, site).is_none_or(LockKind::is_lock) { "taken" } else { "used" };
            (site != 0).then(|| format!("{how} in {}", names.site(id.process, site)))
        };
        let Some(base) = variable.map(|variable| variable.name).or_else(|| taken(self)) else {
            return Name { base: format!("{:#x}", unnumbered(id.address)), number: 1 };
        };
        let times = self.taken.entry((id.process, base.clone())).or_default();
        *times += 1;
        let name = Name { base, number: *times };
        self.locks.insert(key, name.clone());
        name
    }

    /// Returns what threads wait for at a call site; `None`: one of our locks.
    pub(crate) fn kind(&mut self, id: LockId, site: u64) -> Option<LockKind> {
        let by_name = if id.kind.is_ours() { None } else { self.place(id.process, site).1 };
        lock_kind(id.kind, by_name)
    }

    /// Returns the same in a word or two.
    pub(crate) fn wanted(&mut self, id: LockId, site: u64) -> &'static str {
        self.kind(id, site).map_or(id.kind.name(), LockKind::name)
    }

    /// Adds to a look what is waited for that is not one of our locks.
    pub(crate) fn add_kinds(&mut self, view: &mut View) {
        for lock in &mut view.locks {
            lock.is_lock = self.kind(lock.id, lock.site).is_none_or(LockKind::is_lock);
        }
        for waiting in view.threads.iter_mut().filter_map(|thread| thread.waiting.as_mut()) {
            if let Some(kind) = self.kind(waiting.lock, waiting.site) {
                (waiting.wanted, waiting.is_for_lock) = (kind.name(), kind.is_lock());
            }
        }
    }

    /// Returns a call site by its return address, or by its stack: function, file and line.
    pub(crate) fn site(&mut self, process: ProcessId, address: u64) -> String {
        if address == 0 { "unknown".to_owned() } else { self.place(process, address).0 }
    }

    fn place(&mut self, process: ProcessId, address: u64) -> (String, Option<LockKind>) {
        if let Some(known) = self.sites.get(&(process, address)) {
            return known.clone();
        }
        let place = self.look_up(process, address);
        self.sites.insert((process, address), place.clone());
        place
    }

    fn look_up(&mut self, process: ProcessId, address: u64) -> (String, Option<LockKind>) {
        let mut calls = vec![address];
        if stack_of_site(address).is_some() {
            let channel = self.program(process, 0).channel.as_ref();
            calls = channel.map(|channel| channel.calls(address)).unwrap_or_default();
        }
        let symbols = &mut self.program(process, calls.first().copied().unwrap_or(0)).symbols;
        let Slept { kind, frames, .. } = slept(symbols, &calls);
        let name = frames.first().map_or_else(|| "unknown".to_owned(), |frame| shown(symbols.frame(*frame)));
        (name, kind)
    }

    /// Returns the call stack of a sleeping thread, innermost first; empty if unknown.
    pub(crate) fn stack(&mut self, process: ProcessId, tid: u32) -> Vec<String> {
        let program = self.program(process, 0);
        let mut stack = Vec::new();
        for address in program.modules.stack(tid) {
            stack.extend(program.symbols.of_return_address(address));
        }
        let frames = stack.into_iter().map(|frame| program.symbols.frame(frame));
        without_own(&frames.collect::<Vec<_>>()).iter().map(|frame| shown(frame)).collect()
    }

    pub(crate) fn look(&mut self, process: ProcessId) -> Vec<Thread> {
        let program = self.program(process, 0);
        program.modules.living.look(&mut program.symbols)
    }

    /// Drops processes that have ended.
    pub(crate) fn keep(&mut self, is_there: impl Fn(ProcessId) -> bool) {
        self.processes.retain(|process, _| is_there(*process));
        self.locks.retain(|(process, _), _| is_there(*process));
        self.taken.retain(|(process, _), _| is_there(*process));
        self.sites.retain(|(process, _), _| is_there(*process));
    }

    fn program(&mut self, process: ProcessId, address: u64) -> &mut Program {
        let program = self.processes.entry(process).or_insert_with(|| Program::of(process));
        program.look_for(address);
        program
    }
}

/// Returns what a wait is for, by the way of waiting and by what the functions tell; `None`: one of our locks.
pub(crate) fn lock_kind(way: Kind, by_name: Option<LockKind>) -> Option<LockKind> {
    // Views number the ways of waiting as recordings do the classes.
    (!way.is_ours()).then(|| slept_on(way as u32, by_name))
}

/// Returns a stack without our own frames at its inner end, through which a thread waits: all waits have the same ones.
fn without_own<'a>(stack: &'a [&'a Frame]) -> &'a [&'a Frame] {
    let is_own = |frame: &&Frame| is_lock_class(frame) || frame.module.contains(PRELOAD);
    let is_libc = |frame: &&Frame| frame.module.contains("libc.so");
    let first = stack.iter().position(|frame| !is_own(frame) && !is_libc(frame)).unwrap_or(0);
    if stack[..first].iter().any(is_own) { &stack[first..] } else { stack }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_live::Kind;

    impl Names {
        /// Returns names that do not come from files.
        pub(crate) fn given(locks: &[(LockId, &str)], sites: &[(ProcessId, u64, &str)]) -> Names {
            Names {
                locks: locks
                    .iter()
                    .map(|(lock, name)| ((lock.process, lock.address), Name { base: (*name).to_owned(), number: 1 }))
                    .collect(),
                sites: sites
                    .iter()
                    .map(|(process, site, name)| ((*process, *site), ((*name).to_owned(), None)))
                    .collect(),
                ..Names::default()
            }
        }
    }

    #[test]
    fn a_stack_begins_with_the_programs_frames() {
        let frame = |function: &str, module: &str| Frame {
            function: function.to_owned(),
            module: module.to_owned(),
            ..Frame::default()
        };
        let ours = format!("/cache/{PRELOAD}-1234.so");
        let frames = [
            frame("syscall", "libc.so.6"),
            frame("RawMutex<P>::lock_slow", &ours),
            frame("pthread_mutex_lock", &ours),
            frame("transfer", "bank"),
            frame("turnwise::own", "bank"),
        ];
        let stack: Vec<&Frame> = frames[..4].iter().collect();
        assert_eq!(without_own(&stack), [&frames[3]]);
        let linked: Vec<&Frame> = [0, 4, 3].map(|place| &frames[place]).to_vec();
        assert_eq!(without_own(&linked), [&frames[3]]);
        assert_eq!(without_own(&linked[2..]), [&frames[3]]);
        assert_eq!(without_own(&linked[..1]), [&frames[0]], "nothing of ours");
    }

    static CONTENDED: std::sync::Mutex<[u8; 64]> = std::sync::Mutex::new([0; 64]);

    fn own() -> ProcessId {
        ProcessId { pid: std::process::id(), start: 1 }
    }

    #[test]
    fn locks_are_named_by_their_variable_or_by_where_they_are_taken() {
        let mut names = Names::default();
        let lock = |address| LockId { process: own(), address, kind: Kind::Mutex };
        let address = std::ptr::from_ref(&CONTENDED) as u64;
        let site = locks_are_named_by_their_variable_or_by_where_they_are_taken as *const () as u64 + 8;
        let mut shown = |address, site| names.lock(lock(address), site).to_string();
        assert!(shown(address, 0).contains("CONTENDED"), "{}", shown(address, 0));
        assert_eq!(shown(8, 0), "0x8", "nothing is known of it");
        let (first, second) = (shown(16, site), shown(24, site));
        assert!(first.starts_with("taken in ") && first.contains("names.rs:"), "{first}");
        assert_eq!(second, format!("{first} #2"));
        assert_eq!(shown(16, 0), first, "it keeps its name");
        assert_eq!(names.site(own(), 0), "unknown");
    }

    #[test]
    fn of_a_process_that_is_gone_only_addresses_are_known() {
        let process = ProcessId { pid: u32::MAX, start: 1 };
        let mut names = Names::default();
        assert_eq!(
            names.lock(LockId { process, address: 0x4000, kind: Kind::Mutex }, 0x1234).to_string(),
            "taken in 0x1233"
        );
        assert!(names.stack(process, u32::MAX).is_empty());
        names.keep(|_| false);
        assert!(names.locks.is_empty() && names.processes.is_empty());
    }

    #[test]
    fn ways_of_waiting_have_the_names_of_the_kinds_that_profiles_know() {
        for way in Kind::ALL.into_iter().filter(|way| !way.is_ours()) {
            assert_eq!(lock_kind(way, None).map(LockKind::name), Some(way.name()));
            let by_name = lock_kind(way, Some(LockKind::RustMutex));
            assert_eq!(by_name == Some(LockKind::RustMutex), way == Kind::Futex);
        }
        assert_eq!(lock_kind(Kind::Semaphore, Some(LockKind::PyMutex)), Some(LockKind::PyMutex));
        assert_eq!(lock_kind(Kind::Read, None), None);
    }
}
