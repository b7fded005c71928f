//! The process's recording: one file for each process image that takes locks. The process that `turnwise profile`
//! started has the file that `TURNWISE_RECORDING` names; forked children, and images after an `exec`, create `FILE.PID`
//! next to it.
//!
//! Data that a child must not inherit lies in pages that the kernel wipes at the fork. So a child is detected at its
//! first lock operation however it was created, without a handler and without a separate test on the fast path.

use crate::holder::Peers;
use crate::mapping::{Failed, Mapping, PATH, store_text};
use crate::sampling::{HOLD_ONE_IN, STACK_ONE_IN};
use crate::state::State;
use crate::{clock, filter, locks, memory, real, segments};
use core::ffi::CStr;
use core::fmt::Write;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use turnwise_interpose::{File, Text, beginning, program_path, race_checker, variable};
use turnwise_preload_abi::{Lock, Policy, environment};
use turnwise_recording as file;
use turnwise_recording::{Header, LAYOUT, MAGIC, VERSION};

/// The most files of other process images: a build may start thousands.
const CHILDREN: u32 = 512;
/// Not yet determined.
const UNKNOWN: u32 = 0;
/// A thread is creating the file.
const STARTING: u32 = 1;
/// Recording.
const READY: u32 = 2;
/// Not recording: no file is named, or none can be made.
const OFF: u32 = 3;

/// A process's data; its page is wiped in children.
pub(crate) struct Process {
    status: AtomicU32,
    pub(crate) mapping: Mapping,
    pub(crate) peers: Peers,
    /// States of threads that ended.
    pub(crate) free: FreeStates,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// Returns the process's recording; `None`: there is none (yet).
pub(crate) fn get() -> Option<&'static Process> {
    let process = page()?;
    // ORDERING recorder.process: Acquire; a thread that sees READY sees the mapping.
    match process.status.load(Acquire) {
        READY => Some(process),
        _ if !filter::allows_calls() => None,
        UNKNOWN => memory::keeping_errno(|| process.start(false)),
        STARTING => process.started(),
        _ => None,
    }
}

/// Returns the process's recording, without trying to create one.
pub(crate) fn get_if_ready() -> Option<&'static Process> {
    let process = page()?;
    // ORDERING recorder.process: as in `get`.
    (process.status.load(Acquire) == READY).then_some(process)
}

/// Opens the process's recording now, with room in reserve: the file may soon be out of reach.
pub(crate) fn open_now() {
    if let Some(process) = get() {
        memory::keeping_errno(|| process.mapping.take_ahead());
    }
}

/// Takes the file if no other process has it, for the constructor.
pub(crate) fn claim() {
    if let Some(process) = page()
        // ORDERING recorder.process: as in `get`.
        && process.status.load(Acquire) == UNKNOWN
    {
        memory::keeping_errno(|| process.start(true));
    }
}

/// Returns whether this process or its children may record.
pub(crate) fn may_record() -> bool {
    path().is_some() && race_checker().is_none()
}

fn page() -> Option<&'static Process> {
    // ORDERING recorder.page: Acquire; pairs with the exchange below: a page that is seen is mapped.
    let mut page = PROCESS.load(Acquire);
    if page.is_null() {
        if !filter::allows_calls() {
            return None;
        }
        let made = memory::wiped_on_fork(size_of::<Process>())?;
        // ORDERING recorder.page: AcqRel; publishes our page, or takes another thread's.
        match PROCESS.compare_exchange(ptr::null_mut(), made.as_ptr().cast(), AcqRel, Acquire) {
            Ok(_) => page = made.as_ptr().cast(),
            Err(theirs) => {
                memory::release(made, size_of::<Process>());
                page = theirs;
            }
        }
    }
    // SAFETY: zero bytes are a `Process`, and the page is never unmapped.
    Some(unsafe { &*page })
}

impl Process {
    /// Stops recording further threads, as there is no room.
    pub(crate) fn stop(&self) {
        self.status.store(OFF, Relaxed);
    }

    fn start(&'static self, only_main: bool) -> Option<&'static Process> {
        // ORDERING recorder.process: Acquire on failure is not needed: the thread that lost does not access the
        // mapping.
        if self.status.compare_exchange(UNKNOWN, STARTING, Relaxed, Relaxed).is_err() {
            return self.started();
        }
        let status = self.open(only_main);
        // ORDERING recorder.process: Release; publishes the mapping.
        self.status.store(status, Release);
        (status == READY).then_some(self)
    }

    /// Waits for a moment until another thread has made the file. (A signal handler may have interrupted that one.)
    fn started(&'static self) -> Option<&'static Process> {
        const TURNS: u32 = 1000;
        for _ in 0..TURNS {
            // SAFETY: takes no arguments, and never fails.
            unsafe { libc::sched_yield() };
            // ORDERING recorder.process: as in `get`.
            match self.status.load(Acquire) {
                READY => return Some(self),
                STARTING => {}
                _ => return None,
            }
        }
        None
    }

    /// Opens the file; returns the status. Unknown: maybe later, when there is something to record.
    fn open(&self, only_main: bool) -> u32 {
        let Some(path) = path().filter(|_| race_checker().is_none()) else {
            return OFF;
        };
        let Some(main) = main_header(path) else { return OFF };
        // SAFETY: always succeeds.
        let pid = unsafe { libc::getpid() } as u32;
        let opened = if self.peers.prepare().is_none() {
            Err(Failed::For(file::WHY_MEMORY))
        } else if main.pid.compare_exchange(0, pid, Relaxed, Relaxed).is_ok() {
            let opened = self.mapping.open(path, OFlags::RDWR);
            opened.inspect_err(|_| main.pid.store(0, Relaxed))
        } else if only_main {
            return UNKNOWN;
        } else if main.children.fetch_add(1, Relaxed) < CHILDREN {
            self.open_child(path, pid)
        } else {
            Err(Failed::For(file::WHY_MANY))
        };
        match opened {
            Ok(()) => {
                self.describe(main, pid);
                READY
            }
            Err(failed) => {
                let why = if let Failed::For(why) = failed { why } else { file::WHY_OTHER };
                main.unrecorded.fetch_add(1, Relaxed);
                let _ = main.unrecorded_why.compare_exchange(0, why, Relaxed, Relaxed);
                OFF
            }
        }
    }

    fn open_child(&self, path: &CStr, pid: u32) -> Result<(), Failed> {
        // More would mean the same process number again, after this many `exec`.
        for turn in 0..100 {
            let mut name = Text::<PATH>::new();
            name.push(path.to_bytes());
            let _ = match turn {
                0 => write!(name, ".{pid}"),
                _ => write!(name, ".{pid}.{turn}"),
            };
            let Some(name) = name.whole() else { break };
            match self.mapping.open(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
                Err(Failed::Exists) => {}
                opened => return opened,
            }
        }
        Err(Failed::For(file::WHY_OTHER))
    }

    /// Fills in the header.
    fn describe(&self, main: &Header, pid: u32) {
        let header = self.mapping.header();
        header.version.store(VERSION, Relaxed);
        header.layout.store(LAYOUT, Relaxed);
        header.pid.store(pid, Relaxed);
        header.steps.store(main.steps.load(Relaxed), Relaxed);
        header.magic.store(MAGIC, Relaxed);
        header.clock.store(clock::choose(), Relaxed);
        header.hold_one_in.store(HOLD_ONE_IN, Relaxed);
        header.stack_one_in.store(STACK_ONE_IN, Relaxed);
        header.clock_ticks.store(clock::takes(), Relaxed);
        header.started_unix_ns.store(clock::nanoseconds(libc::CLOCK_REALTIME), Relaxed);
        let (ticks, ns) = clock::ticks_and_nanoseconds();
        header.ticks_start.store(ticks, Relaxed);
        header.monotonic_start.store(ns, Relaxed);
        self.mapping.look_at_clock();
        let tells = real::next_is_preload() && !real::events::turnwise_thread_events::address().is_null();
        header.lock_events.store(u32::from(tells), Relaxed);
        header.can_unwind.store(u32::from(turnwise_interpose::can_find()), Relaxed);
        // SAFETY: always succeeds.
        header.cpus.store(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } as u32, Relaxed);
        let policy = match real::next_is_preload() {
            true if variable(environment::POLICY_TABLE).is_some_and(|table| !table.is_empty()) => "policy file",
            true => {
                let asked_for = variable(environment::LOCK).and_then(|name| Lock::asked_for(name.to_bytes()));
                asked_for.unwrap_or(Lock::Adaptive).name()
            }
            false => Policy::Libc.name(),
        };
        store_text(&header.policy, policy.as_bytes());
        store_text(&header.executable, program_path(&mut [0; 512]));
        store_text(&header.command, beginning(c"/proc/self/cmdline", &mut [0; 1024]));
        locks::forget_epochs();
    }

    /// Notes that the process exits normally. The program that started it knows the status, and overwrites this.
    pub(crate) fn exits(&self) {
        self.mapping.look_at_clock();
        let _ = self.mapping.header().ending.compare_exchange(file::RUNNING, file::ENDED, Relaxed, Relaxed);
    }
}

/// A list of reusable states, each of which holds the link to the next.
pub(crate) struct FreeStates {
    /// Taken while the list changes.
    taken: AtomicU32,
    first: AtomicPtr<State>,
}

impl FreeStates {
    /// Changes the list's head, whose link `run` reads or writes. No thread waits: if the list is taken, it gives up.
    pub(crate) fn change<R>(&self, run: impl FnOnce(&AtomicPtr<State>) -> R) -> Option<R> {
        // ORDERING recorder.free: Acquire; sees what the last holder left in the list and in its objects.
        if self.taken.swap(1, Acquire) != 0 {
            return None;
        }
        let result = run(&self.first);
        // ORDERING recorder.free: Release; publishes the list and the object.
        self.taken.store(0, Release);
        Some(result)
    }
}

/// Returns the file that the environment names. It is copied: programs that set a `ps` title overwrite the environment.
fn path() -> Option<&'static CStr> {
    static KEPT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
    // ORDERING recorder.path: Acquire; a thread that finds the copy finds it written.
    let mut kept = KEPT.load(Acquire);
    if kept.is_null() {
        let text = variable(environment::RECORDING).filter(|path| !path.is_empty())?.to_bytes_with_nul();
        kept = memory::zeroed(text.len())?.as_ptr();
        // SAFETY: new memory of this length.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), kept, text.len()) };
        // ORDERING recorder.path: Release; publishes the copy.
        KEPT.store(kept, Release);
    }
    // SAFETY: a copy of a string, never changed.
    Some(unsafe { CStr::from_ptr(kept.cast()) })
}

/// Returns the header of the recording that `turnwise profile` made, whichever process records there. Forked children
/// use it too: one that cannot create its own recording counts itself there.
fn main_header(path: &CStr) -> Option<&'static Header> {
    static MAIN: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());
    let mut main = MAIN.load(Relaxed);
    if main.is_null() {
        let opened = File::from(openat(CWD, path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?);
        if (fstat(&opened).ok()?.st_size as u64) < file::CHUNKS {
            return None;
        }
        main = segments::map_first(&opened, file::PAGE)?.cast();
        MAIN.store(main, Relaxed);
    }
    // SAFETY: the mapping begins with a header, and stays.
    let header = unsafe { &*main };
    let ours = header.magic.load(Relaxed) == MAGIC
        && header.version.load(Relaxed) == VERSION
        && header.layout.load(Relaxed) == LAYOUT;
    ours.then_some(header)
}
