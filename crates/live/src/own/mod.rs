//! The live view of the calling program, for programs that link the locks of crate turnwise, in Rust or through the C
//! library. It provides what the preload library does for programs that are not rebuilt: `turnwise top`, `why` and
//! `tune` work on them, and the program can read its locks' totals.
//!
//! ```
//! use std::time::Duration;
//! use turnwise::Mutex;
//!
//! static JOBS: Mutex<u32> = Mutex::new(0);
//!
//! turnwise_live::own::start()?;
//! std::thread::scope(|scope| {
//!     let held = JOBS.lock();
//!     scope.spawn(|| *JOBS.lock() += 1);
//!     std::thread::sleep(Duration::from_millis(20));
//!     drop(held);
//! });
//! for lock in turnwise_live::own::locks()? {
//!     println!("{:#x}: {} waits, the longest {} ns", lock.address, lock.waits, lock.longest_ns);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Waits for `Mutex` (also after a condition variable's), `ReentrantMutex` and `RwSem` are counted. Call sites are
//! known on x86-64 with glibc 2.35 or later, unless the program's symbols were stripped. A thread is known as a lock's
//! owner once it has itself waited for a lock.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod site;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod symbols;

use crate::locks::{me, named, tuned};
use crate::reader::{Channel, Error, Fault, Lock, Snapshot};
use crate::writer::{self, End, Hooks, Start};
use crate::{Key, Kind, place};
use core::fmt;
use std::env::var_os;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, OnceLock};
use turnwise::live::{Kind as Way, Wait, Watcher, watch};
use turnwise::platform::native::{introduce, may_be_filtered};
use turnwise::platform::{Native, Platform};
use turnwise::wait::Tuned;
use turnwise_interpose::race_checker;
use turnwise_preload_abi::{Lock as Policy, environment, libraries};

/// The reason that a program has no live view of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotStarted {
    /// The user disabled it (`TURNWISE_LIVE=0`), or a race detector is present.
    TurnedOff,
    /// The preload library is loaded: a process has one view, which then shows the program's pthread locks.
    Taken,
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotStarted::TurnedOff => "no live view: TURNWISE_LIVE=0, or a race detector",
            NotStarted::Taken => {
                "no live view of the program's own locks: under `turnwise run` there is one of its pthread locks"
            }
        })
    }
}

impl core::error::Error for NotStarted {}

static STARTED: OnceLock<Result<(), NotStarted>> = OnceLock::new();

/// Returns whether [`start`] was called and maintains a view.
#[must_use]
pub fn is_started() -> bool {
    STARTED.get().is_some_and(Result::is_ok)
}

/// Maintains a live view of this process's locks from now on. Calls after the first change nothing.
///
/// The file is created when a thread first waits for a lock. If it cannot be created, and in programs that run with
/// other rights than their user's, there is no view, and the locks work as usual.
///
/// # Errors
/// The user or a tool disabled it, or there is another view.
pub fn start() -> Result<(), NotStarted> {
    *STARTED.get_or_init(|| {
        let asked = var_os(environment::LIVE);
        if asked.as_ref().is_some_and(|value| value == "0") || race_checker().is_some() {
            return Err(NotStarted::TurnedOff);
        }
        if is_preloaded() {
            return Err(NotStarted::Taken);
        }
        introduce();
        let runtime = var_os(place::RUNTIME_VARIABLE).filter(|path| path.as_bytes().first() == Some(&b'/'));
        let runtime = runtime.and_then(|path| CString::new(path.as_bytes()).ok());
        let in_sandbox = asked.is_some_and(|value| value == "1");
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        site::start(wait as *const () as usize);
        writer::set_hooks(&HOOKS);
        writer::start(runtime.as_deref(), in_sandbox, 1 + Policy::Adaptive as u32);
        watch(&WATCHER);
        Ok(())
    })
}

/// Returns whether the preload library is in this process.
fn is_preloaded() -> bool {
    let preloaded = var_os("LD_PRELOAD").unwrap_or_default();
    let mut paths = preloaded.as_bytes().split(|byte| matches!(byte, b':' | b' '));
    paths.any(|path| libraries::is_library(path, libraries::PRELOAD))
}

/// Returns the locks for which threads of this process have waited, the one with most wait time first. There are none
/// before the first wait has ended, or if the view could not be created.
///
/// # Errors
/// The view cannot be read.
pub fn locks() -> Result<impl Iterator<Item = Arc<Lock>>, Error> {
    Ok(snapshot()?.map(|snapshot| snapshot.locks).unwrap_or_default().into_iter())
}

/// Returns the totals of this process's locks, and the current waiters; `None`: there is no view by [`start`], or none
/// yet.
///
/// # Errors
/// The view cannot be read.
pub fn snapshot() -> Result<Option<Snapshot>, Error> {
    if !is_started() {
        return Ok(None);
    }
    match Channel::of(std::process::id()).and_then(|channel| channel.snapshot()) {
        Ok(snapshot) => Ok(Some(snapshot)),
        // The first waiter has not created it yet, or is about to.
        Err(error) if matches!(error.fault, Fault::NoView(_) | Fault::Unfinished) => Ok(None),
        Err(error) => Err(error),
    }
}

static HOOKS: Hooks = Hooks { rules: |_| None, may_be_filtered };
static WATCHER: Watcher = Watcher { wait, released };

/// Counts a wait.
fn wait(wait: &Wait, acquire: &mut dyn FnMut(Option<Tuned>) -> bool) {
    let (kind, end) = match wait.kind {
        Way::Mutex => (Kind::Mutex, End::Owner),
        Way::Read => (Kind::Read, End::Acquired),
        Way::Write => (Kind::Write, End::Acquired),
    };
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    let site = site::of_caller();
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    let site = 0;
    let start = Start { key: Key::new(wait.lock, kind), site, owner: named(wait.owner, 0), rule: 0, me: me() };
    let start = start.checked();
    let begun = writer::begin(&start);
    let acquired = acquire(begun.as_ref().and_then(|begun| writer::settings(begun, &start)).map(tuned));
    if let Some(begun) = begun {
        writer::end(&begun, if acquired { end } else { End::GaveUp }, &me());
    }
}

/// Notes that this thread has released a mutex. It takes its token now, by which waiters identify it.
fn released(lock: usize) {
    let _ = Native::me();
    writer::released(lock, &me());
}
